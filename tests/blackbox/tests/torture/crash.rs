//! `kill -9` under load: every acknowledged message is there exactly once, in order, without gap, and every reader gets
//! it (ASP-33, ASP-35, ASP-43, ASP-45; scenarios 1, 17, 18).

use std::time::Duration;

use blackbox::{
    Agent, Builder, Database, Reader, Sender, Server, TestDependency, check_log, content_of, eventually,
    room, rounds, strike_after,
};
use futures_util::future::join_all;
use tokio::sync::watch;

const SENDERS: usize = 6;
const LAST: &str = "the last word";

/// Milliseconds until the next kill: spread over the phases of a busy server, different in each run.
fn random_pause() -> Duration {
    let noise =
        blackbox::epoch_ms().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis(20 + (noise >> 33).unsigned_abs() % 480)
}

async fn acknowledged(server: &Server, agent: &Agent, id: &str) -> usize {
    let history = agent.history(id).await;
    assert!(!history.is_empty(), "{:?}", server.address());
    content_of(&history).len()
}

/// The whole story on one kind of store.
async fn survive(builder: Builder) {
    let mut server = builder.start().await;
    let mut members = Vec::new();
    for number in 0..SENDERS {
        members.push(server.agent(&format!("@sender.n{number}")).await);
    }
    let silent = server.agent("@silent.reader").await;
    let everyone: Vec<_> = members.iter().chain([&silent]).collect();
    let hot = room(&everyone).await;
    let calm = room(&everyone).await;
    let (stop, stopped) = watch::channel(false);
    let mut senders = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let id = if number < SENDERS - 1 { &hot } else { &calm };
        senders.push(tokio::spawn(Sender::new(member, id, &format!("s{number}")).run(stopped.clone())));
    }
    let reader = tokio::spawn(Reader::new(&silent, &hot).run_until(LAST.to_owned()));
    let mut before = 0;
    for round in 0..rounds(8, 3) {
        eventually("there is load", || async {
            (acknowledged(&server, &silent, &hot).await > before + 10).then_some(())
        })
        .await;
        strike_after(random_pause()).await;
        server.crash().await;
        let now = acknowledged(&server, &silent, &hot).await;
        assert!(
            now >= before,
            "round {round}: messages were there before the crash and are gone: {before}, {now}"
        );
        before = now;
    }
    stop.send(true).expect("the senders listen");
    let senders: Vec<Sender> =
        join_all(senders).await.into_iter().map(|sender| sender.expect("no panic")).collect();
    members[0].say(&hot, LAST).await;
    let (hot_senders, calm_senders) = senders.split_at(SENDERS - 1);
    let log = silent.history(&hot).await;
    check_log(&log, hot_senders);
    check_log(&silent.history(&calm).await, calm_senders);
    let reader = reader.await.expect("the reader finds no gap");
    // Its own going may stand behind the last word by now.
    assert_eq!(content_of(&log).last(), content_of(&reader.events).last());
    assert_eq!(reader.events, log[..reader.events.len()], "over {} connections", reader.connections);
    assert!(senders.iter().any(|sender| sender.retried > 0), "some sends were cut off and tried again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_survives_kills_under_load() {
    survive(Server::builder()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_survives_kills_under_load() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    survive(Server::builder().database(database.url())).await;
    database.remove().await;
}

/// A crash in the middle of opening, joining and ending leaves whole steps only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_steps_survive() {
    use serde_json::json;
    let (mut server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    for round in 0..rounds(8, 3) {
        let opening = async {
            let mut made: u64 = 0;
            loop {
                let body = json!({
                    "invite": ["@bob.bot"], "initial_message": {"content": format!("{round}-{made}")},
                    "end_after_send": true,
                });
                let request = alice.request("POST", "/sessions", &[], Some(body.to_string().as_bytes()));
                let Ok(mut connection) = blackbox::Connection::open(alice.address().get()).await else {
                    return made;
                };
                match connection.round_trip(&request).await {
                    Ok(response) => {
                        response.ok(201);
                        made += 1;
                    }
                    Err(_) => return made,
                }
            }
        };
        let killing = async {
            strike_after(random_pause()).await;
            server.kill().await;
        };
        let (made, ()) = tokio::join!(opening, killing);
        server.restart().await;
        let sessions = alice.get("/sessions").await.ok(200);
        let mut found: u64 = 0;
        for session in sessions["sessions"].as_array().expect("a list") {
            let id = session["id"].as_str().expect("an id");
            let log = alice.history(id).await;
            assert_eq!(
                blackbox::kinds(&log),
                ["message", "invited", "ended"],
                "all of a send-and-end or nothing"
            );
            if !content_of(&log)[0].starts_with(&format!("{round}-")) {
                break; // newest first: the rest is of earlier rounds
            }
            assert_eq!(blackbox::kinds(&bob.history(id).await), ["invited", "ended"]);
            found += 1;
        }
        assert!(found >= made, "{made} were acknowledged, {found} are there");
        assert!(found <= made + 1, "one at most was under way: {made}, {found}");
    }
}
