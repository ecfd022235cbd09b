//! A message that is sent with the end of its session: its invitees have it with the invitation, and answer by reopening.

use blackbox::{Agent, Cli, Server};
use serde_json::{Value, json};

use super::{ack, inbox, state};

/// `@alice.bot` sends `text` to these agents, and ends the session with it; the session.
async fn sent(from: &Agent, to: &[&str], text: &str) -> String {
    let body = json!({"invite": to, "initial_message": {"content": text}, "end_after_send": true});
    from.open(body).await["session_id"].as_str().expect("a session").to_owned()
}

async fn desk() -> (Server, Agent, Agent) {
    let server = Server::start().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    (server, alice, bob)
}

async fn recipients(who: &Agent, id: &str, sequence: i64) -> Value {
    who.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200)["recipients"].clone()
}

#[tokio::test]
async fn an_invitee_is_a_recipient_of_what_its_invitation_carries() {
    let (server, alice, bob) = desk().await;
    let id = sent(&alice, &["@bob.bot"], "the report is wrong").await;
    assert_eq!(state(&alice, &id, 1).await, "accepted");
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", alice.token())]);
    let wait = ["message", "status", &id, "1", "--wait", "1s", "--until", "delivered"];
    assert_eq!(cli.run(&wait).await.code, 5, "nobody has it");
    let page = inbox(&bob, "").await;
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    assert_eq!(state(&alice, &id, 1).await, "delivered");
    assert_eq!(cli.run(&wait).await.code, 0);
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "seen"})).await.ok(200);
    assert_eq!(state(&alice, &id, 1).await, "in_context");
    bob.reopen(&id, json!({"initial_message": {"content": "sorry"}})).await;
    alice.join(&id).await;
    assert_eq!(state(&alice, &id, 1).await, "answered");
    ack(&bob, &page).await;
    assert_eq!(state(&alice, &id, 1).await, "acknowledged");
    bob.get(&format!("/sessions/{}/messages/1/status", sent(&alice, &["@bob.bot"], "two").await))
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn an_invitation_that_lapsed_can_never_bring_the_message() {
    let (server, alice, bob) = desk().await;
    let id = alice.create(&[&bob]).await;
    let sequence = alice.say(&id, "hello").await;
    let before = recipients(&alice, &id, sequence).await;
    assert_eq!(
        (&before[0]["state"], &before[0]["waiting"]["reason"]),
        (&json!("accepted"), &json!("not_joined"))
    );
    alice.end(&id).await;
    assert_eq!(state(&alice, &id, sequence).await, "expired");
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", alice.token())]);
    let number = sequence.to_string();
    let waited = cli.run(&["message", "status", &id, &number, "--wait", "60s"]).await;
    assert!(waited.code == 5 && waited.out.contains("expired"), "{waited:?}");
    // Who left before a message is no recipient of it, and who is invited anew may yet read it.
    alice.reopen(&id, json!({"invite": []})).await;
    let later = alice.say(&id, "nobody is here").await;
    assert_eq!(recipients(&alice, &id, later).await, json!([]));
    alice.invite(&id, &["@bob.bot"]).await;
    assert_eq!(state(&alice, &id, sequence).await, "accepted");
}

/// A hook printed the invitation: the model has the message, and gets it no second time after it reopened.
