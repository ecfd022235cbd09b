//! Closing (CH-27).

use blackbox::{Server, eventually};
use serde_json::{Value, json};

use super::{append, channel, configured, events, refused};

/// CH-27: closing stamps, again each time; everything stays readable, and events are still taken.
#[tokio::test]
async fn ch_27_a_closed_channel_stays_readable() {
    let (_server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let id = channel(&ann).await;
    append(&ann, &id, "spec", json!({"mission": "m"})).await;
    let path = format!("/agent-channel/{id}");
    let closed = ann.post_empty(&format!("{path}/close")).await.ok(200);
    assert!(closed["closed_at"].is_string() && closed["id"] == id.as_str());
    assert_eq!(ann.get(&path).await.ok(200)["channel"], closed);
    assert_eq!(ann.get(&format!("{path}/spec")).await.ok(200)["mission"], "m");
    assert_eq!(events(&ann, &id, "").await.len(), 1, "a closing is none of the events");
    append(&bob, &id, "comms", json!({})).await;
    assert_eq!(events(&ann, &id, "").await.len(), 2);
    let again = eventually("a later stamp", || async {
        let again = bob.post(&format!("{path}/close"), json!({})).await.ok(200);
        (again["closed_at"] != closed["closed_at"]).then_some(again)
    });
    assert!(again.await["closed_at"].as_str() > closed["closed_at"].as_str());
    let text = ann.get(&path).await.ok(200)["onboarding"].as_str().expect("a text").to_owned();
    assert!(text.contains("was closed at"), "{text}");
    refused(&ann.post_raw(&format!("{path}/close"), b"{").await, 400, "invalid_json");
}

/// The operator may have closed channels take no more.
#[tokio::test]
async fn a_closed_channel_may_be_sealed() {
    let (server, _directory) = configured("[channels]\nreject_after_close = true").await;
    let ann = server.agent("@nick.ann").await;
    let id = channel(&ann).await;
    let path = format!("/agent-channel/{id}/event");
    let body = json!({"kind": "log", "payload": {}});
    let key = [("Idempotency-Key", "k")];
    let before: Value = ann.call("POST", &path, &key, Some(&body)).await.ok(200);
    ann.post_empty(&format!("/agent-channel/{id}/close")).await.ok(200);
    refused(&ann.post(&path, body.clone()).await, 409, "channel_closed");
    let again = ann.call("POST", &path, &key, Some(&body)).await;
    assert_eq!((again.ok(200), again.is_replayed()), (before, true), "what was taken was taken");
    assert_eq!(events(&ann, &id, "").await.len(), 1);
    ann.post_empty(&format!("/agent-channel/{id}/close")).await.ok(200);
}
