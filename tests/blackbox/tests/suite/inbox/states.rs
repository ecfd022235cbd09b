//! What has become of a message: only what is true is said.

use blackbox::{PATIENCE, Server, pair};
use serde_json::json;

use super::{ack, inbox, state};

#[tokio::test]
async fn by_the_inbox_a_message_is_accepted_delivered_seen_acknowledged() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    let sequence = alice.say(&id, "hello").await;
    assert_eq!(state(&alice, &id, sequence).await, "accepted");
    let page = inbox(&bob, "").await;
    assert_eq!(state(&alice, &id, sequence).await, "accepted", "whoever looks has marked nothing");
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "delivered"})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "delivered");
    bob.post("/inbox/ack", json!({"cursor": page["cursor"], "state": "seen"})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "in_context");
    ack(&bob, &page).await;
    assert_eq!(state(&alice, &id, sequence).await, "acknowledged");
    let later = alice.say(&id, "later").await;
    assert_eq!(state(&alice, &id, later).await, "accepted");
}

#[tokio::test]
async fn by_the_session_it_is_seen_when_it_was_read_and_acknowledged_when_it_was_answered() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    let sequence = alice.say(&id, "hello").await;
    bob.post("/inbox/ack", json!({"session_id": id, "sequence": sequence - 1})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "accepted", "it was not among what was read");
    bob.post("/inbox/ack", json!({"session_id": id, "sequence": sequence})).await.ok(200);
    assert_eq!(state(&alice, &id, sequence).await, "in_context");
    assert_eq!(inbox(&bob, "").await["unread"], 0);
    let second = alice.say(&id, "and?").await;
    bob.say(&id, "yes").await;
    assert_eq!(state(&alice, &id, second).await, "answered");
    let status = alice.get(&format!("/sessions/{id}/messages/{second}/status")).await.ok(200);
    assert!(status["recipients"][0]["at"].is_string(), "{status}");
    assert_eq!(inbox(&bob, "").await["unread"], 0);
}

#[tokio::test]
async fn by_the_socket_it_is_delivered_when_the_pong_comes_and_not_before() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    let mut mute = bob.connect_mute().await;
    let unconfirmed = alice.say(&id, "hello").await;
    while mute.event().await["type"] != "session.message" {}
    assert_eq!(state(&alice, &id, unconfirmed).await, "accepted", "written to a socket is not delivered");
    let (mut socket, sequence) = (alice.connect().await, bob.say(&id, "to you").await);
    while socket.event().await["sequence"] != sequence {}
    let began = tokio::time::Instant::now();
    while state(&bob, &id, sequence).await != "delivered" {
        assert!(began.elapsed() < PATIENCE, "the pong was not taken note of");
    }
}

#[tokio::test]
async fn a_message_is_there_for_participants_alone() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await;
    let sequence = alice.say(&id, "hello").await;
    let carol = server.agent("@carol.bot").await;
    let path = |sequence: i64| format!("/sessions/{id}/messages/{sequence}/status");
    carol.get(&path(sequence)).await.refused(404, "not_found");
    for none in [0, -1, 1, sequence + 1, i64::MAX] {
        alice.get(&path(none)).await.refused(404, "not_found");
    }
    let status = bob.get(&path(sequence)).await.ok(200);
    assert_eq!(status["recipients"][0]["agent"], "@bob.bot", "the sender is no recipient");
    alice.invite(&id, &["@carol.bot"]).await;
    let status = alice.get(&path(sequence)).await.ok(200);
    let states: Vec<_> =
        status["recipients"].as_array().expect("a list").iter().map(|r| &r["state"]).collect();
    assert_eq!(states, ["accepted", "accepted"], "whoever is invited has not got it");
    carol.get(&path(sequence)).await.refused(404, "not_found");
}
