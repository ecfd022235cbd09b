//! Two processes on one PostgreSQL have one inbox: marks are shared, and a wait at one is woken by the other.

use blackbox::{Database, Server, TestDependency, room};
use serde_json::json;

use super::{ack, cursor, inbox, state, texts};

/// Two servers, or nothing when the run has no PostgreSQL.
async fn two() -> Option<(Server, Server, Database)> {
    let TestDependency::Available(url) = TestDependency::postgres() else { return None };
    let database = Database::create(&url).await;
    let start = || Server::builder().database(database.url()).start();
    let (a, b) = tokio::join!(start(), start());
    Some((a, b, database))
}

#[tokio::test]
async fn a_wait_at_one_process_is_woken_by_the_other_and_marks_are_shared() {
    let Some((a, b, database)) = two().await else { return };
    let (alice, bob) = (a.agent("@alice.bot").await, a.agent("@bob.bot").await);
    let id = room(&[&alice, &bob]).await;
    let bob_at_b = bob.at(&b);
    let after = cursor(&inbox(&bob_at_b, "").await);
    let wait = {
        let bob = bob_at_b.clone();
        tokio::spawn(async move { bob.get(&format!("/inbox/wait?timeout_s=30&after={after}")).await })
    };
    let sequence = alice.say(&id, "hello").await;
    let page = wait.await.expect("a wait").ok(200);
    assert_eq!(texts(&page), ["hello"]);
    let delivered = json!({"cursor": page["cursor"], "state": "delivered"});
    bob_at_b.post("/inbox/ack", delivered).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "delivered", "what b was told, a knows of");
    assert_eq!(ack(&bob, &page).await["unread"], 0);
    assert_eq!(inbox(&bob_at_b, "").await["unread"], 0, "what a was told, b knows of");
    assert_eq!(state(&alice.at(&b), &id, sequence).await, "acknowledged");
    for n in 0..30 {
        let sender = if n % 2 == 0 { alice.clone() } else { alice.at(&b) };
        sender.say(&id, n.to_string()).await;
        assert_eq!(inbox(&bob, "").await["unread"], n + 1, "at a, after {n}");
        assert_eq!(inbox(&bob_at_b, "").await["unread"], n + 1, "at b, after {n}");
    }
    let said: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    assert_eq!(texts(&inbox(&bob_at_b, "?limit=100").await), said);
    drop((a, b));
    database.remove().await;
}

#[tokio::test]
async fn marks_outlive_every_process() {
    let Some((mut a, mut b, database)) = two().await else { return };
    let (alice, bob) = (a.agent("@alice.bot").await, b.agent("@bob.bot").await);
    let id = room(&[&alice, &bob]).await;
    alice.say(&id, "one").await;
    alice.say(&id, "two").await;
    let first = inbox(&bob, "?limit=1").await;
    ack(&bob, &first).await;
    tokio::join!(a.crash(), b.crash());
    assert_eq!(texts(&inbox(&bob, "").await), ["two"]);
    bob.post("/inbox/ack", json!({"cursor": "x"})).await.assert_refused(400, "invalid_cursor");
    drop((a, b));
    database.remove().await;
}
