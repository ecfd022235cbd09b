//! Who speaks: handles, and that each agent is only ever itself (ASP-1 to ASP-5, ASP-63, ASP-82, ASP-100, ASP-101).

use blackbox::{Server, room};
use serde_json::json;

const WELL_FORMED: &[&str] =
    &["@0.9", "@re-search.b_t", "@x.a23456789012345678901234567890123456789012345678901234567890abcd"];

const MALFORMED: &[&str] = &[
    "",
    "@nick",
    "@nick.a.b",
    "@Nick.assistant",
    "@nick-.assistant",
    "@nick.assistant\n",
    "@nick.*",
    "@nick.assistant@elsewhere.example",
    "@x.a23456789012345678901234567890123456789012345678901234567890abcde",
];

/// ASP-1: two parts of the grammar, nothing else.
#[tokio::test]
async fn handles_have_an_owner_and_a_name() {
    let server = Server::start().await;
    for handle in WELL_FORMED {
        let made = server.operator().post("/_admin/agents", json!({ "handle": handle })).await.ok(201);
        assert_eq!(made["handle"], *handle);
    }
    for handle in MALFORMED {
        server
            .operator()
            .post("/_admin/agents", json!({ "handle": handle }))
            .await
            .assert_refused(400, "invalid_handle");
    }
}

/// ASP-1, ASP-100: a malformed handle in an invitation, one of another network included, is the caller's mistake.
#[tokio::test]
async fn asp_100_a_malformed_handle_cannot_be_invited() {
    let (_server, alice, _, id) = Server::with_pair().await;
    for handle in MALFORMED {
        let invite = json!({ "invite": [handle] });
        alice.post("/sessions", invite.clone()).await.assert_refused(400, "invalid_invite");
        alice.post(&format!("/sessions/{id}/invite"), invite).await.assert_refused(400, "invalid_invite");
    }
}

/// ASP-2: two agents of one owner and of two owners look the same on the wire.
#[tokio::test]
async fn asp_2_the_owner_is_invisible_on_the_wire() {
    let (_server, [alice, bob, carol]) = Server::with(["@acme.alice", "@acme.bob", "@carol.bot"]).await;
    let id = room(&[&alice, &bob, &carol]).await;
    let session = alice.show(&id).await;
    for participant in session["participants"].as_array().expect("a list") {
        blackbox::assert_keys(participant, &["handle", "status"], &["joined_at", "left_at"]);
    }
}

/// ASP-4, ASP-82: whatever the body claims, the sender is the bearer of the token.
#[tokio::test]
async fn asp_4_82_the_body_cannot_claim_another_sender() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let claim = json!({
        "content": "hello", "sender": bob.handle, "from": bob.handle, "agent": bob.handle,
        "id": "msg_FORGED", "message_id": "msg_FORGED", "sequence": 4711, "created_at": 1,
        "session_id": "sess_FORGED", "event_id": "evt_FORGED", "type": "session.ended",
    });
    let sent = alice.post(&format!("/sessions/{id}/messages"), claim).await.ok(201);
    let log = bob.history(&id).await;
    let message = log.last().expect("the message is there");
    assert_eq!(message["type"], "session.message");
    assert_eq!(message["payload"]["sender"], alice.handle);
    assert_eq!(message["sender"], alice.handle);
    assert_eq!(message["session_id"], id.as_str());
    assert_eq!(message["payload"]["id"], sent["message_id"]);
    assert_ne!(sent["message_id"], "msg_FORGED");
    assert_ne!(sent["sequence"], 4711);
    assert_ne!(message["created_at"], 1);
}

/// ASP-4: a foreign invitation cannot be made in another's name.
#[tokio::test]
async fn the_body_cannot_claim_another_inviter() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    let body = json!({ "invite": [carol.handle], "invited_by": bob.handle, "by": bob.handle });
    alice.post(&format!("/sessions/{id}/invite"), body).await.ok(200);
    let seen = carol.history(&id).await;
    assert_eq!(seen[0]["payload"]["by"], alice.handle);
    assert_eq!(seen[0]["invited_by"], alice.handle);
}

/// ASP-101: sends of any connection, socket open or not, carry the same handle.
#[tokio::test]
async fn asp_101_every_connection_sends_as_the_same_agent() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "offline").await;
    let one = alice.connect().await;
    alice.say(&id, "one").await;
    let two = alice.connect().await;
    alice.say(&id, "two").await;
    let log = bob.history(&id).await;
    let messages: Vec<_> = log.iter().filter(|event| event["type"] == "session.message").collect();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|event| event["payload"]["sender"] == alice.handle), "{messages:?}");
    one.close().await;
    two.close().await;
}

/// ASP-5, ASP-83: one namespace; a handle leads to the one agent that was made with it.
#[tokio::test]
async fn asp_5_83_a_handle_names_one_agent() {
    let (_server, [alice, one, other]) = Server::with(["@alice.bot", "@shop.bot", "@shop.bot2"]).await;
    let id = alice.create(&[&one]).await;
    one.join(&id).await;
    other.get(&format!("/sessions/{id}")).await.assert_refused(404, "not_found");
}
