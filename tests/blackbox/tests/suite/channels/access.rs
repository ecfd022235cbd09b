//! Who may do what (CH-13, CH-36; D.6).

use blackbox::{Server, eventually};
use serde_json::json;

use super::{append, channel, configured, link, refused};

/// CH-36, D.6: a token is needed; any agent that has the link may read and append.
#[tokio::test]
async fn ch_36_a_token_and_the_link_are_all_that_is_needed() {
    let server = Server::start().await;
    let (ann, bob) = (server.agent("@nick.ann").await, server.closed_agent("@acme.bob", &[]).await);
    let id = channel(&ann).await;
    bob.get(&link(&ann, &id).await).await.ok(200);
    append(&bob, &id, "comms", json!({"text": "from another owner"})).await;
    assert_eq!(bob.get(&format!("/agent-channel/{id}")).await.ok(200)["channel"]["id"], id.as_str());
    let event = json!({"kind": "log", "payload": {}});
    for who in [server.stranger(), server.bearer("pla_unknown")] {
        let code =
            if who.get("/agent-channel").await.text().contains("missing") { "missing" } else { "invalid" };
        let code = format!("{code}_authorization");
        for response in [
            who.get("/agent-channel").await,
            who.post("/agent-channel", json!({})).await,
            who.get(&format!("/agent-channel/{id}")).await,
            who.get(&format!("/agent-channel/{id}/spec")).await,
            who.get(&format!("/agent-channel/{id}/events")).await,
            who.get(&format!("/agent-channel/{id}/events/stream")).await,
            who.get(&format!("/agent-channel/{id}/presence")).await,
            who.post(&format!("/agent-channel/{id}/event"), event.clone()).await,
            who.post_empty(&format!("/agent-channel/{id}/close")).await,
            who.get("/agent-channel/ZZZZ").await,
        ] {
            refused(&response, 401, &code);
            assert_eq!(response.header("www-authenticate"), Some("Bearer"), "{response}");
        }
    }
}

/// A token that was replaced is dead at once, for reading and for writing.
#[tokio::test]
async fn a_token_that_was_replaced_is_dead() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let id = channel(&ann).await;
    server.operator().post_empty("/_admin/agents/@nick.ann/rotate-token").await.ok(200);
    refused(&ann.get(&format!("/agent-channel/{id}")).await, 401, "invalid_authorization");
    let event = json!({"kind": "log", "payload": {}});
    refused(&ann.post(&format!("/agent-channel/{id}/event"), event).await, 401, "invalid_authorization");
}

/// CH-36: on a private network nobody needs a token, if the operator says so.
#[tokio::test]
async fn ch_36_a_server_may_be_open() {
    let (server, _directory) = configured("[channels]\nopen = true").await;
    let (anyone, ann) = (server.stranger(), server.agent("@nick.ann").await);
    let id = channel(&anyone).await;
    let made = append(&anyone, &id, "comms", json!({})).await;
    assert_eq!((&made["author"], &made["via"]), (&json!(""), &json!(null)));
    assert_eq!(append(&ann, &id, "comms", json!({})).await["via"], "@nick.ann");
    assert_eq!(anyone.get("/agent-channel").await.ok(200)[0]["id"], id.as_str());
    refused(&server.bearer("pla_x").get("/agent-channel").await, 401, "invalid_authorization");
    assert_eq!(anyone.get("/sessions").await.status, 401, "only channels are open");
}

/// D.6: misses are budgeted: sixty a minute, then 429.
#[tokio::test]
async fn d_6_guessing_is_budgeted() {
    let (_server, [ann, bob]) = Server::with(["@nick.ann", "@acme.bob"]).await;
    let mine = channel(&ann).await;
    let theirs = channel(&bob).await;
    for _ in 0..60 {
        refused(&ann.get("/agent-channel/ZZZZ").await, 404, "no_such_channel");
    }
    let late = ann.get("/agent-channel/ZZZZ").await;
    refused(&late, 429, "too_many_misses");
    let wait: u64 =
        late.header("retry-after").and_then(|seconds| seconds.parse().ok()).expect("when to come again");
    assert!((1..=60).contains(&wait));
    refused(&ann.get(&format!("/agent-channel/{theirs}")).await, 429, "too_many_misses");
    append(&ann, &mine, "log", json!({})).await;
    refused(&bob.get("/agent-channel/ZZZZ").await, 404, "no_such_channel");
}

/// CH-13: every operation of the HTTP transport is described, which is what other transports derive from; and one
/// request changes what the next one sees, whoever sends it.
#[tokio::test]
async fn ch_13_the_operations_are_described() {
    let server = Server::start().await;
    let described = server.stranger().get("/openapi.json").await.ok(200);
    for (path, methods) in [
        ("/agent-channel", &["get", "post"][..]),
        ("/agent-channel/{id}", &["get"]),
        ("/agent-channel/{id}/spec", &["get"]),
        ("/agent-channel/{id}/state", &["get"]),
        ("/agent-channel/{id}/events", &["get"]),
        ("/agent-channel/{id}/events/stream", &["get"]),
        ("/agent-channel/{id}/presence", &["get"]),
        ("/agent-channel/{id}/event", &["post"]),
        ("/agent-channel/{id}/close", &["post"]),
        ("/agent-channel/{id}/key", &["post"]),
    ] {
        let known = described["paths"][path].as_object().unwrap_or_else(|| panic!("{path} is described"));
        assert_eq!(known.keys().collect::<Vec<_>>(), methods, "{path}");
    }
    let (ann, bob) = (server.agent("@nick.ann").await, server.agent("@acme.bob").await);
    let id = channel(&ann).await;
    append(&ann, &id, "state", json!({"n": 1})).await;
    let path = format!("/agent-channel/{id}/state");
    let seen = eventually("the other one sees it", || async {
        let response = bob.get(&path).await;
        (response.status == 200).then(|| response.json())
    });
    assert_eq!(seen.await, json!({"n": 1}));
}

/// Every path below `/agent-channel` is refused in the form of the protocol.
#[tokio::test]
async fn d_3_unknown_paths_have_the_form_of_channels() {
    let (_server, [ann]) = Server::with(["@nick.ann"]).await;
    for path in
        ["/agent-channel/", "/agent-channel/VHGC/", "/agent-channel/VHGC/nope", "/agent-channel/VHGC/event/1"]
    {
        refused(&ann.get(path).await, 404, "not_found");
    }
}
