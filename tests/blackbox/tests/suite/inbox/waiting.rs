//! Waits: woken at once, ended by the deadline, by the token's end and by the server's.

use std::time::Duration;

use blackbox::{Agent, PATIENCE, Response, Server};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{ack, cursor, inbox, texts};

fn begin(agent: &Agent, query: &str) -> JoinHandle<Response> {
    let (agent, path) = (agent.clone(), format!("/inbox/wait{query}"));
    tokio::spawn(async move { agent.get(&path).await })
}

/// As many waits as an agent may have, all of them open.
async fn all_open(agent: &Agent) -> Vec<JoinHandle<Response>> {
    let waits = (0..16).map(|_| {
        let agent = agent.clone();
        tokio::spawn(async move {
            loop {
                // The probe below may stand in the last place.
                let answer = agent.get("/inbox/wait?timeout_s=60").await;
                if answer.status != 429 {
                    return answer;
                }
            }
        })
    });
    let waits = waits.collect();
    let began = Instant::now();
    while agent.get("/inbox/wait?timeout_s=0").await.status != 429 {
        assert!(began.elapsed() < PATIENCE, "the waits did not open");
    }
    waits
}

#[tokio::test]
async fn a_wait_ends_with_what_comes() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let after = cursor(&inbox(&bob, "").await);
    let waits: Vec<_> = (0..5).map(|_| begin(&bob, &format!("?after={after}&timeout_s=30"))).collect();
    let unread = begin(&bob, "?timeout_s=30");
    alice.say(&id, "hello").await;
    for wait in waits.into_iter().chain([unread]) {
        let page = wait.await.expect("a wait").ok(200);
        assert_eq!(texts(&page), ["hello"]);
        assert!(page.get("timed_out").is_none());
    }
    let page: Value = begin(&bob, "?timeout_s=30").await.expect("a wait").ok(200);
    assert_eq!(texts(&page), ["hello"], "what is unread already ends a wait at once");
    ack(&bob, &page).await;
}

#[tokio::test]
async fn at_the_deadline_nothing_came() {
    let (_server, [bob]) = Server::with(["@bob.bot"]).await;
    let began = Instant::now();
    let page = begin(&bob, "?timeout_s=1").await.expect("a wait").ok(200);
    assert_eq!((&page["items"], &page["timed_out"]), (&json!([]), &json!(true)));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert!(page["cursor"].is_string());
    let page = begin(&bob, "?timeout_s=0").await.expect("a wait").ok(200);
    assert_eq!(page["timed_out"], true);
}

#[tokio::test]
async fn past_the_limit_a_wait_is_refused_until_one_ends() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let waits = all_open(&bob).await;
    bob.get("/inbox/wait").await.assert_refused(429, "too_many_waits");
    assert_eq!(inbox(&alice, "").await["unread"], 0, "others are not held up");
    alice.say(&id, "hello").await;
    for wait in waits {
        assert_eq!(texts(&wait.await.expect("a wait").ok(200)), ["hello"]);
    }
    assert_eq!(texts(&bob.get("/inbox/wait").await.ok(200)), ["hello"]);
}

#[tokio::test]
async fn a_dead_token_ends_its_waits() {
    let (server, [bob]) = Server::with(["@bob.bot"]).await;
    let waits = all_open(&bob).await;
    server.operator().post_empty("/_admin/agents/@bob.bot/rotate-token").await.ok(200);
    // At its deadline a wait would end with a page.
    for wait in waits {
        wait.await.expect("a wait").assert_refused(401, "invalid_authorization");
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_its_waits() {
    let (mut server, [bob]) = Server::with(["@bob.bot"]).await;
    let waits = all_open(&bob).await;
    server.stop().await;
    for wait in waits {
        wait.await.expect("a wait").assert_refused(503, "stopping");
    }
}
