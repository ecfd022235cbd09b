//! `Idempotency-Key`: a retry is safe.

use blackbox::Server;
use futures_util::future::join_all;
use serde_json::json;

use super::{channel, events, refused};

/// The same request under the same key is done once and answered again; another one under it is 409.
#[tokio::test]
async fn a_repeated_request_is_answered_again() {
    let (mut server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let key = [("Idempotency-Key", "key-1")];
    let body = json!({"title": "once"});
    let made = ann.call("POST", "/agent-channel", &key, Some(&body)).await;
    let again = ann.call("POST", "/agent-channel", &key, Some(&body)).await;
    assert_eq!((again.ok(200), again.is_replayed(), made.is_replayed()), (made.ok(200), true, false));
    assert_eq!(ann.get("/agent-channel").await.ok(200).as_array().map(Vec::len), Some(1));
    refused(&ann.call("POST", "/agent-channel", &key, Some(&json!({}))).await, 409, "idempotency_key_reused");
    let theirs = bob.call("POST", "/agent-channel", &key, Some(&body)).await.ok(200);
    assert_ne!(theirs["id"], made.json()["id"], "keys are each caller's own");

    let id = channel(&ann).await;
    let path = format!("/agent-channel/{id}/event");
    let body = json!({"kind": "comms", "payload": {"n": 1.0}});
    let first = ann.call("POST", &path, &key, Some(&body)).await.ok(200);
    server.crash().await;
    let headers = [("Idempotency-Key", "key-1"), ("Content-Type", "application/json")];
    let spaced = br#" { "payload" : {"n":1.0}, "kind":"comms" } "#;
    let again = ann.bytes(&ann.request("POST", &path, &headers[..1], Some(spaced))).await;
    assert_eq!((again.ok(200), again.is_replayed()), (first.clone(), true), "equal JSON, also after a crash");
    let other = json!({"kind": "comms", "payload": {"n": 2}});
    refused(&ann.call("POST", &path, &key, Some(&other)).await, 409, "idempotency_key_reused");
    assert_eq!(events(&ann, &id, "").await, [first]);

    let close = format!("/agent-channel/{id}/close");
    let closed = ann.call("POST", &close, &key, None).await.ok(200);
    assert_eq!(ann.call("POST", &close, &key, None).await.ok(200), closed, "stamped once");
    for bad in ["", &"k".repeat(256)] {
        let headers = [("Idempotency-Key", bad)];
        let body = json!({"kind": "log", "payload": {}});
        refused(&ann.call("POST", &path, &headers, Some(&body)).await, 422, "invalid_idempotency_key");
    }
}

/// The same key at the same time: one event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_repeats_are_one_event() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    let (path, body) = (format!("/agent-channel/{id}/event"), json!({"kind": "log", "payload": {}}));
    for round in 0..5 {
        let text = format!("key-{round}");
        let key = [("Idempotency-Key", text.as_str())];
        let answers = join_all((0..8).map(|_| ann.call("POST", &path, &key, Some(&body)))).await;
        let ids: Vec<_> = answers.iter().map(|answer| answer.ok(200)["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert_eq!(answers.iter().filter(|answer| !answer.is_replayed()).count(), 1);
        assert_eq!(events(&ann, &id, "?limit=500").await.len(), round + 1);
    }
}
