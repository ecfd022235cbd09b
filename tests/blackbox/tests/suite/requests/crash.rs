//! What was decided stays decided: over kill -9, with the server down while a deadline passes.

use blackbox::{eventually, strike_after};
use serde_json::json;

use super::{House, ask, at, house, permission};

/// How many decisions the torture makes; more of them with `PLENARY_TEST_DECISIONS`.
fn decisions() -> usize {
    std::env::var("PLENARY_TEST_DECISIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[tokio::test]
async fn an_answer_that_was_given_is_heard_after_a_crash() {
    let House { mut server, owner, agent } = house().await;
    let id = ask(&agent, permission()).await;
    owner.post(&at(&id, "/answer"), json!({"type": "accept", "version": 1})).await.ok(200);
    server.crash().await;
    let heard = agent.get(&at(&id, "?wait=60")).await.ok(200);
    assert_eq!(heard["answer"]["type"], "accept");
    let again = json!({"type": "ignore", "version": 1});
    owner.post(&at(&id, "/answer"), again).await.assert_refused(409, "already_answered");
}

#[tokio::test]
async fn a_deadline_and_an_undo_window_end_while_the_server_is_down() {
    let House { mut server, owner, agent } = house().await;
    let soon = blackbox::epoch_ms() + 1_500;
    let mut body = permission();
    body["deadline_at"] = soon.into();
    body["on_timeout"] = "ignore".into();
    let (late, undoable) = (ask(&agent, body).await, ask(&agent, permission()).await);
    let answer = json!({"type": "accept", "version": 1, "undo_seconds": 1});
    owner.post(&at(&undoable, "/answer"), answer).await.ok(200);
    server.kill().await;
    eventually("the deadline", || async { (blackbox::epoch_ms() > soon).then_some(()) }).await;
    server.restart().await;
    let over = agent.get(&at(&late, "?wait=60")).await.ok(200);
    assert_eq!((&over["state"], &over["answer"]["by"]), (&json!("expired"), &json!("deadline")));
    assert_eq!(agent.get(&at(&undoable, "?wait=60")).await.ok(200)["answer"]["type"], "accept");
}

/// Each answer that the server confirmed is the one that the agent hears, whenever the server is killed.
#[tokio::test]
async fn no_decision_is_lost_or_changed_over_kills() {
    let House { mut server, owner, agent } = house().await;
    for nth in 0..decisions() {
        let id = ask(&agent, permission()).await;
        let (path, kind) = (at(&id, "/answer"), if nth % 2 == 0 { "accept" } else { "ignore" });
        let body = json!({"type": kind, "version": 1});
        let request = owner.request("POST", &path, &[], Some(body.to_string().as_bytes()));
        let answering = {
            let owner = owner.clone();
            tokio::spawn(async move {
                let mut connection = blackbox::Connection::open(owner.address().place()).await.ok()?;
                connection.round_trip(&request).await.ok().map(|answer| answer.status)
            })
        };
        strike_after(std::time::Duration::from_millis(nth as u64 % 7)).await;
        server.crash().await;
        let confirmed = answering.await.expect("no panic");
        let seen = agent.get(&at(&id, "")).await.ok(200);
        if confirmed == Some(200) {
            assert_eq!(seen["answer"]["type"], kind, "confirmed, and lost: {seen}");
        } else if seen["state"] == "open" {
            owner.post(&path, body).await.ok(200);
        }
        let heard = agent.get(&at(&id, "?wait=60")).await.ok(200);
        assert_eq!((&heard["state"], &heard["answer"]["type"]), (&json!("answered"), &json!(kind)));
    }
}
