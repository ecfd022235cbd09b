//! A message that is sent with the end of its session: its invitees have it with the invitation, and answer by reopening.

use blackbox::{Agent, Cli, Server, eventually};
use serde_json::{Value, json};

use super::{ack, inbox, kinds_and_texts, state, texts};

/// `@alice.bot` sends `text` to these agents, and ends the session with it; the session.
async fn sent(from: &Agent, to: &[&str], text: &str) -> String {
    let body = json!({"invite": to, "initial_message": {"content": text}, "end_after_send": true});
    from.open(body).await["session_id"].as_str().expect("a session").to_owned()
}

async fn desk() -> (Server, Agent, Agent) {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
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
        .assert_refused(404, "not_found");
}

#[tokio::test]
async fn by_the_socket_an_invitee_of_a_send_and_end_has_the_message() {
    let (_server, alice, bob) = desk().await;
    let mut socket = bob.connect().await;
    let id = sent(&alice, &["@bob.bot"], "FYI").await;
    while socket.event().await["type"] != "session.ended" {}
    socket.wait_until_confirmed().await;
    assert_eq!(state(&alice, &id, 1).await, "delivered");
    bob.reopen(&id, json!({"initial_message": {"content": "thanks"}})).await;
    assert_eq!(inbox(&bob, "").await["unread"], 0, "it had the message when it answered");
    alice.join(&id).await;
    assert_eq!(state(&alice, &id, 1).await, "answered");
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

#[tokio::test]
async fn what_an_invitation_carried_is_unread_once() {
    let (mut server, alice, bob) = desk().await;
    let seen = sent(&alice, &["@bob.bot"], "the report is wrong").await;
    let page = inbox(&bob, "").await;
    assert_eq!(kinds_and_texts(&page), [("session.invited".into(), "the report is wrong".into())]);
    ack(&bob, &page).await;
    bob.reopen(&seen, json!({"initial_message": {"content": "sorry"}})).await;
    assert_eq!(texts(&inbox(&bob, "").await), [""; 0], "it was acknowledged");
    // Without an acknowledgement the message is unread, and the invitation is settled as by joining.
    let unseen = sent(&alice, &["@bob.bot"], "and the figure").await;
    bob.reopen(&unseen, json!({"initial_message": {"content": "which?"}})).await;
    let expected = [("session.message".into(), "and the figure".into())];
    assert_eq!(kinds_and_texts(&inbox(&bob, "").await), expected);
    server.crash().await;
    assert_eq!(kinds_and_texts(&inbox(&bob, "").await), expected);
    alice.join(&unseen).await;
    alice.say(&unseen, "the second").await;
    assert_eq!(texts(&inbox(&bob, "").await), ["and the figure", "the second"]);
}

/// A hook printed the invitation: the model has the message, and gets it no second time after it reopened.
#[tokio::test]
async fn what_a_hook_printed_with_the_invitation_is_not_printed_again() {
    let (_server, alice, bob) = desk().await;
    let event = async |event: &str| {
        let body = json!({"session": "s-1", "client": "claude", "event": event});
        bob.post("/inbox/session", body).await.ok(200);
    };
    event("prompt").await;
    let id = sent(&alice, &["@bob.bot"], "FYI").await;
    let page = inbox(&bob, "?coding_session=s-1").await;
    assert_eq!(texts(&page), ["FYI"]);
    let shown = json!({"session": "s-1", "client": "claude", "event": "tool", "cursor": page["cursor"],
        "items": [page["items"][0]["id"]]});
    bob.post("/inbox/shown", shown).await.ok(200);
    assert_eq!(state(&alice, &id, 1).await, "shown");
    bob.reopen(&id, json!({"initial_message": {"content": "thanks"}})).await;
    assert_eq!(texts(&inbox(&bob, "?coding_session=s-1").await), [""; 0]);
    event("tool").await;
    assert_eq!(texts(&inbox(&bob, "?coding_session=s-1").await), [""; 0]);
    alice.join(&id).await;
    assert_eq!(state(&alice, &id, 1).await, "answered");
}

#[tokio::test]
async fn an_answered_send_and_end_is_no_unanswered_invitation() {
    let mut server = Server::builder().config("[quota]\ninvitations_unanswered_max = 2\n").start().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    let body =
        || json!({"invite": ["@bob.bot"], "initial_message": {"content": "x"}, "end_after_send": true});
    let ids = [sent(&alice, &["@bob.bot"], "one").await, sent(&alice, &["@bob.bot"], "two").await];
    alice.post("/sessions", body()).await.assert_refused(429, "too_many_invitations");
    bob.reopen(&ids[0], json!({"initial_message": {"content": "ack"}})).await;
    sent(&alice, &["@bob.bot"], "three").await;
    alice.post("/sessions", body()).await.assert_refused(429, "too_many_invitations");
    // The session is one of its own, also for its inbox after a start.
    ack(&bob, &inbox(&bob, "").await).await;
    alice.join(&ids[0]).await;
    alice.say(&ids[0], "you are welcome").await;
    server.crash().await;
    assert_eq!(texts(&inbox(&bob, "").await), ["you are welcome"]);
}

#[tokio::test]
async fn an_invitation_that_a_block_ended_does_not_count() {
    let server = Server::builder().config("[quota]\ninvitations_unanswered_max = 1\n").start().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent_as(json!({"handle": "@bob.bot", "policy": "open", "self_service": true})).await;
    let id = alice.create(&[&bob]).await;
    bob.post("/agents/me/blocks", json!({"handle": "@alice.bot"})).await.ok(201);
    eventually("the end", || async { (alice.show(&id).await["state"] == "ended").then_some(()) }).await;
    bob.delete("/agents/me/blocks/@alice.bot").await.ok(200);
    let again = alice.create(&[&bob]).await;
    // What the inviter itself ended counts: inviting and ending has a limit.
    alice.end(&again).await;
    alice
        .post("/sessions", json!({"invite": ["@bob.bot"]}))
        .await
        .assert_refused(429, "too_many_invitations");
}

#[tokio::test]
async fn the_search_finds_what_an_invitation_carried() {
    let (_server, alice, bob) = desk().await;
    let id = sent(&alice, &["@bob.bot"], "zebra crossing").await;
    let found = eventually("the hit", || async {
        let page = bob.get("/search?q=zebra").await.ok(200);
        page["hits"].as_array().and_then(|hits| hits.first().cloned())
    })
    .await;
    assert_eq!(found["reference"]["session_id"], id.as_str(), "{found}");
}
