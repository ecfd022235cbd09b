//! The Agent Channel Protocol v2 as the real server speaks it: raw JSON over HTTP, written from the document, from what
//! was restored of its lost pages, and from the decisions on them; requirement ids (CH-n) stand at the tests.

mod access;
mod appending;
mod closing;
mod cluster;
mod curl;
mod ids;
mod lint;
mod live;
mod liveness;
mod repeats;
mod sharing;
mod view;

use blackbox::{Caller, Response, Server, TempDir};
use serde_json::{Value, json};

/// A server with a configuration file.
pub(super) async fn configured(toml: &str) -> (Server, TempDir) {
    let directory = TempDir::new();
    let path = directory.path().join("plenary.toml");
    std::fs::write(&path, toml).expect("the file can be written");
    let path = path.to_str().expect("a path in UTF-8");
    (Server::builder().arg("--config").arg(path).start().await, directory)
}

/// A new channel; its id.
pub(super) async fn channel(who: &Caller) -> String {
    let made = who.post("/agent-channel", json!({"title": "a title"})).await.ok(200);
    made["id"].as_str().expect("a channel has an id").to_owned()
}

/// A channel's link as a path: with the key that lets another owner in.
pub(super) async fn link(who: &Caller, channel: &str) -> String {
    let view = who.get(&format!("/agent-channel/{channel}")).await.ok(200);
    let url = view["channel"]["url"].as_str().expect("a url");
    url[url.find("/agent-channel/").expect("its path")..].to_owned()
}

/// Appends an event; all of it.
pub(super) async fn append(who: &Caller, channel: &str, kind: &str, payload: Value) -> Value {
    let body = json!({"kind": kind, "payload": payload});
    who.post(&format!("/agent-channel/{channel}/event"), body).await.ok(200)
}

/// The events of a channel, as the server lists them.
pub(super) async fn events(who: &Caller, channel: &str, query: &str) -> Vec<Value> {
    let listed = who.get(&format!("/agent-channel/{channel}/events{query}")).await.ok(200);
    listed.as_array().expect("a bare array").clone()
}

#[track_caller]
pub(super) fn id(event: &Value) -> u64 {
    event["id"].as_u64().unwrap_or_else(|| panic!("an integer id: {event}"))
}

/// Demands a refusal in this protocol's form, `{"detail","code"}`, and gives the detail.
#[track_caller]
pub(super) fn refused(response: &Response, status: u16, code: &str) -> String {
    assert_eq!(response.status, status, "expected {status}: {response}");
    assert_eq!(response.header("content-type"), Some("application/json"), "{response}");
    let body = response.json();
    assert_eq!(body["code"], code, "{response}");
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(2), "detail and code: {response}");
    body["detail"].as_str().expect("a detail").to_owned()
}
