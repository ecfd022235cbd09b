//! The eight events on the wire, in each of their dresses (ASP-30 to ASP-32, ASP-34, ASP-54, ASP-87, ASP-90, ASP-99).

use std::collections::BTreeSet;

use blackbox::{Pongs, Server, Socket, assert_keys, enter, kinds, pair};
use serde_json::{Value, json};

const ENVELOPE: &[&str] = &["type", "session_id", "event_id", "sequence", "created_at", "payload"];

/// The seed's flat members of each type.
fn flat_members(kind: &str) -> &'static [&'static str] {
    match kind {
        "session.invited" => &["invited_by"],
        "session.joined" | "session.left" | "session.disconnected" | "session.reconnected" => &["agent"],
        "session.message" => &["id", "sender", "content"],
        _ => &[],
    }
}

/// Needed and optional members of each payload; payloads are closed.
fn payload_members(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "session.invited" => (&["invitee", "by"], &["topic", "initial_message"]),
        "session.joined" | "session.disconnected" | "session.reconnected" => (&["agent"], &[]),
        "session.left" => (&["agent"], &["reason"]),
        "session.message" => (
            &["id", "session_id", "sender", "sequence", "content", "created_at"],
            &["idempotency_key", "metadata"],
        ),
        "session.ended" => (&[], &["ended_by"]),
        "session.reopened" => (&["reopened_by"], &[]),
        other => panic!("{other} is not in the vocabulary (ASP-31)"),
    }
}

#[track_caller]
fn assert_envelope(event: &Value) {
    let kind = event["type"].as_str().expect("a type");
    for member in ENVELOPE {
        assert!(event.get(member).is_some(), "{member} is missing: {event}");
    }
    assert!(event["event_id"].as_str().is_some_and(|id| id.starts_with("evt_")), "{event}");
    assert!(event["sequence"].as_i64().is_some_and(|number| number >= 1), "{event}");
    let age = blackbox::epoch_ms() - event["created_at"].as_i64().expect("epoch milliseconds (ASP-34)");
    assert!((-5_000..600_000).contains(&age), "created_at is now in milliseconds: {event}");
    let (needed, allowed) = payload_members(kind);
    assert_keys(&event["payload"], needed, allowed);
    if kind == "session.message" {
        assert_eq!(event["payload"]["sequence"], event["sequence"], "2.5 #4");
        assert_eq!(event["payload"]["session_id"], event["session_id"]);
        assert!(event["payload"]["created_at"].is_i64(), "{event}");
    }
}

#[track_caller]
fn assert_flat(event: &Value) {
    for member in flat_members(event["type"].as_str().expect("a type")) {
        assert!(event.get(member).is_some(), "the flat member {member} is missing: {event}");
    }
}

/// A session in which all eight types occur, as the creator's sockets and its history show them.
async fn every_kind(server: &Server, targets: &[&str]) -> (Vec<Vec<Value>>, Vec<Value>) {
    let (alice, bob, id) = pair(server).await;
    let mut sockets: Vec<Socket> = Vec::new();
    for target in targets {
        sockets.push(alice.socket(target, Pongs::Answer).await);
    }
    let mut to_alice = alice.connect().await;
    bob.come_and_go().await;
    to_alice.until_kind("session.disconnected").await;
    let to_bob = bob.connect().await;
    to_alice.until_kind("session.reconnected").await;
    let carol = enter(server, &alice, &id, "@carol.bot").await;
    alice.say(&id, "hello").await;
    carol.leave(&id).await;
    alice.end(&id).await;
    alice.reopen(&id, json!({"initial_message": {"content": "again"}})).await;
    bob.join(&id).await;
    alice.say(&id, "the last").await;
    let mut streams = Vec::new();
    for socket in &mut sockets {
        streams.push(socket.until(|event| event.to_string().contains("the last")).await);
    }
    let history = alice.history(&id).await;
    to_bob.close().await;
    (streams, history)
}

/// ASP-31, ASP-87: each step of the life of a session is one event, in the order in which they are done; the
/// vocabulary is complete, with nothing else in it.
#[tokio::test]
async fn asp_31_87_each_step_is_an_event_of_eight_words() {
    let server = Server::start().await;
    let (_, history) = every_kind(&server, &[]).await;
    let steps = "invited joined disconnected reconnected invited joined message left ended reopened message \
                 invited joined message";
    assert_eq!(kinds(&history).join(" "), steps);
    let found: BTreeSet<_> = kinds(&history).into_iter().collect();
    let words = ["disconnected", "ended", "invited", "joined", "left", "message", "reconnected", "reopened"];
    assert_eq!(found, BTreeSet::from(words));
}

/// D.4: by default the envelope and the seed's flat members stand side by side, live and in the history alike.
#[tokio::test]
async fn asp_34_events_carry_both_dresses() {
    let server = Server::start().await;
    let (streams, history) = every_kind(&server, &["/connect"]).await;
    for event in streams[0].iter().chain(&history) {
        assert_envelope(event);
        assert_flat(event);
        let payload = &event["payload"];
        for (flat, inner) in [
            ("agent", "agent"),
            ("id", "id"),
            ("sender", "sender"),
            ("content", "content"),
            ("invited_by", "by"),
        ] {
            if let Some(value) = event.get(flat) {
                assert_eq!(value, &payload[inner], "{flat} says what the payload says: {event}");
            }
        }
    }
    assert_eq!(streams[0], history, "live and history are one log");
    let ids: BTreeSet<_> = history.iter().map(|event| event["event_id"].to_string()).collect();
    assert_eq!(ids.len(), history.len(), "event ids do not repeat");
}

/// `?events=envelope`: the six members and no more.
#[tokio::test]
async fn the_envelope_may_come_alone() {
    let server = Server::start().await;
    let (streams, history) = every_kind(&server, &["/connect?events=envelope"]).await;
    for event in &streams[0] {
        assert_keys(event, ENVELOPE, &[]);
        assert_envelope(event);
    }
    let payloads = |events: &[Value]| events.iter().map(|event| event["payload"].clone()).collect::<Vec<_>>();
    assert_eq!(payloads(&streams[0]), payloads(&history));
}

/// `?events=flat`: the seed's shape, without a payload.
#[tokio::test]
async fn the_flat_members_may_come_alone() {
    let server = Server::start().await;
    let (streams, history) = every_kind(&server, &["/connect?events=flat"]).await;
    assert_eq!(kinds(&streams[0]), kinds(&history));
    for (event, full) in streams[0].iter().zip(&history) {
        assert!(event.get("payload").is_none(), "{event}");
        assert_eq!(event["type"], full["type"]);
        assert_eq!(event["session_id"], full["session_id"]);
        assert_flat(event);
        if event["type"] == "session.message" {
            assert_eq!(event["sequence"], full["sequence"]);
            assert_eq!(event["content"], full["payload"]["content"]);
        }
    }
}

#[tokio::test]
async fn an_unknown_dress_is_refused() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let refused =
        alice.try_socket("/connect?events=fancy", &[], Pongs::Answer).await.expect_err("no upgrade");
    refused.refusal_code(400);
}

/// ASP-67: the answer to a message, and ASP-70: the shape of a session and its participants.
#[tokio::test]
async fn answers_have_their_shapes() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let sent = alice.post(&format!("/sessions/{id}/messages"), json!({"content": "x"})).await.ok(201);
    assert_keys(&sent, &["message_id", "sequence"], &[]);
    assert!(sent["message_id"].as_str().is_some_and(|id| id.starts_with("msg_")), "{sent}");
    bob.leave(&id).await;
    let session = alice.show(&id).await;
    assert_keys(&session, &["id", "state", "participants", "created_at"], &["topic", "ended_at"]);
    assert!(session["created_at"].is_i64());
    for participant in session["participants"].as_array().expect("a list") {
        assert_keys(participant, &["handle", "status"], &["joined_at", "left_at"]);
        assert!(participant["joined_at"].is_i64(), "both were joined: {participant}");
        assert_eq!(participant["left_at"].is_i64(), participant["status"] == "left", "{participant}");
    }
    let page = alice.get(&format!("/sessions/{id}/events")).await.ok(200);
    assert_keys(&page, &["events"], &["next_cursor"]);
}

/// ASP-99: there is no way for an agent to announce what it is doing.
#[tokio::test]
async fn asp_99_agents_emit_no_status() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    to_bob.until_kind("session.joined").await;
    for kind in ["typing", "session.typing", "session.message", "session.working"] {
        let frame = json!({"type": kind, "session_id": id, "content": "x", "agent": alice.handle});
        to_alice.text(&frame.to_string()).await;
    }
    alice.say(&id, "fence").await;
    assert_eq!(kinds(&to_bob.until_text("fence").await), ["message"]);
    to_alice.close().await;
}
