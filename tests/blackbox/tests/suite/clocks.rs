//! Several processes on one store whose clocks differ: who is online is no matter of clocks.
//! Must not know: how a process learns that another one is dead.

use std::{collections::BTreeSet, time::Duration};

use blackbox::{Database, Server, TestDependency, in_time, room, strike_after};

/// ASP-49: an agent is away when its process is dead, and not when that process has another time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asp_49_agents_are_online_at_processes_whose_clocks_are_wrong_until_those_die() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let start = |seconds: &str| {
        let builder = Server::builder().database(database.url()).grace("300ms");
        builder.arg(&format!("--test-clock-ahead={seconds}")).start()
    };
    let (right, mut behind, mut ahead) = tokio::join!(start("0"), start("-600"), start("600"));
    let (alice, bob) = (right.agent("@alice.bot").await, right.agent("@bob.bot").await);
    let carol = right.agent("@carol.bot").await;
    let id = room(&[&alice, &bob, &carol]).await;
    let mut to_alice = alice.connect().await;
    let mut sockets = [bob.at(&behind).connect().await, carol.at(&ahead).connect().await];
    for socket in &mut sockets {
        socket.wait_until_served().await;
    }
    let before = alice.history(&id).await;
    // Every process looks for dead ones meanwhile.
    strike_after(Duration::from_secs(8)).await;
    assert_eq!(alice.history(&id).await, before);

    tokio::join!(behind.kill(), ahead.kill());
    let mut left = BTreeSet::new();
    in_time("both are told to be away, and their grace ends", async {
        while left.len() < 2 {
            let event = to_alice.until_kind("session.left").await.pop().expect("an event");
            left.insert(event["payload"]["agent"].as_str().expect("an agent").to_owned());
        }
    })
    .await;
    assert_eq!(left, BTreeSet::from(["@bob.bot".to_owned(), "@carol.bot".to_owned()]));
    drop((right, behind, ahead));
    database.remove().await;
}
