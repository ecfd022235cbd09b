//! What the tools for stored knowledge find with a token of few rights.

use blackbox::Server;
use serde_json::json;

use super::done;

#[tokio::test]
async fn recall_finds_what_its_token_may_read() {
    let (server, [alice, _bob]) = Server::with(["@nick.alice", "@nick.bob"]).await;
    let sent = done(&alice, "send", json!({"to": ["@nick.bob"], "text": "A zebra came"})).await;
    done(&alice, "deposit", json!({"title": "Zebra", "project_id": "zoo"})).await;
    done(&alice, "deposit", json!({"title": "Zebra", "project_id": "barn"})).await;
    let of_session = format!("read session:{}", sent["session_id"].as_str().expect("a session"));
    for (scope, said, packages) in [
        ("accounts:read sessions:read", 1, 0),
        ("context:read", 0, 2),
        ("read project:zoo", 0, 1),
        (&of_session, 1, 0),
    ] {
        let made = alice.post("/agents/me/tokens", json!({ "scope": scope })).await.ok(201);
        let reader = server.bearer(made["token"].as_str().expect("a token"));
        let found = done(&reader, "recall", json!({"query": "zebra"})).await;
        let count = |name: &str| found[name].as_array().map_or(0, Vec::len);
        assert_eq!((count("said"), count("packages")), (said, packages), "{scope}: {found}");
    }
}
