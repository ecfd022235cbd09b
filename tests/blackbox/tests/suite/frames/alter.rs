//! The paths of alter-runtime: a capability in place of the token, and frames in the wrapper that it reads. The program
//! itself verifies the signature in `tests/a2a/walk_alter.py`.
//! Must not know: what a frame means.

use blackbox::{Agent, Caller, Server, StreamItem, assert_keys, in_time};
use serde_json::{Value, json};

use super::speak::{advisory, id_of, sent, submit};

const MINT: &str = "/api/v1/messaging/subscribe-capability";
const EVENTS: &str = "/events/~alice/stream";

/// Somebody with this capability.
fn with(server: &Server, made: &Value) -> Agent {
    let capability = made["capability"].as_str().expect("a capability");
    Agent::new("@alice.bot", server.address().clone(), capability)
}

/// The program asks with no body, reads both members, and opens the stream with what it got.
#[tokio::test]
async fn a_capability_opens_the_wrapped_stream() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let made = alice.post_empty(MINT).await.ok(200);
    assert_keys(&made, &["capability", "expires_at", "frame_signature_pubkey"], &[]);
    let ends = made["expires_at"].as_str().expect("a time");
    assert!(ends.ends_with('Z') && ends.len() > "2026-01-01T00:00:00".len(), "{ends}");
    let key = made["frame_signature_pubkey"].as_str().expect("a key");
    assert_eq!((&key[..8], key.len()), ("ed25519:", 51), "32 bytes in base64url");
    let mut streams = [with(&server, &made).stream(EVENTS).await, alice.stream(EVENTS).await];
    let frame = advisory(&alice, "~alice", "wrapped");
    let event_id = sent(&submit(&alice, &frame).await, &frame).event_id;
    for stream in &mut streams {
        let event = stream.event().await;
        assert_eq!(event.id, event_id);
        let members = ["v", "version", "handle", "kind", "timestamp", "payload", "pubkey", "signature"];
        assert_keys(&event.frame, &members, &[]);
        assert_eq!(event.frame["payload"], frame);
        assert_eq!((&event.frame["v"], &event.frame["version"]), (&json!("alter1"), &json!(1)));
        assert_eq!((&event.frame["handle"], &event.frame["kind"]), (&json!("~alice"), &json!("agent_frame")));
        assert_eq!(event.frame["timestamp"], frame["created_at"]);
        assert_eq!(event.frame["pubkey"], key);
        assert_eq!(event.frame["signature"].as_str().map(str::len), Some(86), "64 bytes in base64url");
        assert!(event.bytes.contains(&format!("\"frame_id\":\"{}\"", id_of(&frame))), "{}", event.bytes);
    }
}

/// The key is kept, and the stream goes on where it was.
#[tokio::test]
async fn a_restart_changes_neither_key_nor_capability() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    let made = alice.post_empty(MINT).await.ok(200);
    server.crash().await;
    let again = alice.post_empty(MINT).await.ok(200);
    assert_eq!(again["frame_signature_pubkey"], made["frame_signature_pubkey"]);
    with(&server, &made).stream(EVENTS).await;
}

/// A capability is for streams, of its bearer's handle, as long as its token counts.
#[tokio::test]
async fn a_capability_is_no_token() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let made = alice.post_empty(MINT).await.ok(200);
    let capable = with(&server, &made);
    for path in ["/agents/me", "/handles/~alice/stream", "/sessions"] {
        assert_eq!(capable.get(path).await.status, 401, "{path}");
    }
    assert_eq!(capable.post_empty(MINT).await.status, 401);
    let foreign = bob.post_empty(MINT).await.ok(200);
    let absent = with(&server, &foreign).get("/events/~nobody/stream").await;
    assert_eq!((absent.status, &absent.json()["code"]), (403, &json!("scope-unauthorised")));
    let hidden = with(&server, &foreign).get(EVENTS).await;
    assert_eq!(hidden.fingerprint(), absent.fingerprint());
    let basic = format!("Basic {}", made["capability"].as_str().expect("a capability"));
    let no_bearer = Caller::new(server.address().clone(), None);
    let no_bearer = no_bearer.call("GET", EVENTS, &[("Authorization", &basic)], None).await;
    assert_eq!(no_bearer.status, 401, "only as a bearer token");
    let (head, tail) = made["capability"].as_str().expect("a capability").split_at(40);
    let letter = if tail.starts_with('A') { 'B' } else { 'A' };
    let forged = json!({"capability": format!("{head}{letter}{}", &tail[1..])});
    assert_eq!(with(&server, &forged).get(EVENTS).await.status, 401, "one letter is another");

    let mut stream = capable.stream(EVENTS).await;
    server.operator().post_empty("/_admin/agents/@alice.bot/rotate-token").await.ok(200);
    let (_, end) = in_time("the stream ends with the token", stream.ending()).await;
    assert!(matches!(end, StreamItem::End | StreamItem::Broken(_)));
    assert_eq!(capable.get(EVENTS).await.status, 401);
}

/// A capability does what its token may.
#[tokio::test]
async fn a_capability_has_the_scope_of_its_token() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    for (scope, status) in [("frames:read", 200), ("sessions:read", 403)] {
        let token = alice.post("/agents/me/tokens", json!({"scope": scope})).await.ok(201);
        let scoped = server.bearer(token["token"].as_str().expect("a token"));
        let made = scoped.post_empty(MINT).await.ok(200);
        let opened = with(&server, &made).try_stream(EVENTS, &[]).await;
        let answered = opened.map_or_else(|refused| refused.status, |stream| stream.head.status);
        assert_eq!(answered, status, "{scope}");
    }
    let owner = server.owner("alice").await;
    let refused = owner.post_empty(MINT).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("scope-unauthorised")));
}
