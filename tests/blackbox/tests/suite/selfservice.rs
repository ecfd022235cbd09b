//! `/agents/me`: an agent reads its own configuration always, and writes it only where its owner allows
//! (ASP-3, ASP-102, ASP-103).

use blackbox::{Agent, Server, assert_keys};
use serde_json::json;

async fn with_self_service(server: &Server, handle: &str, on: bool) -> Agent {
    server.agent_as(json!({"handle": handle, "policy": "allowlist", "self_service": on})).await
}

/// Reads are always allowed and never show the token.
#[tokio::test]
async fn an_agent_reads_itself() {
    let server = Server::start().await;
    let alice = server.closed_agent("@alice.bot", &["@bob.bot"]).await;
    server.agent("@carol.bot").await;
    server.block(&alice, "@carol.bot").await;
    let me = alice.get("/agents/me").await;
    assert_eq!(me.ok(200)["handle"], "@alice.bot");
    assert!(!me.text().contains("pla_"), "{me}");
    let list = alice.get("/agents/me/allowlist").await.ok(200);
    assert_eq!(list["entries"], json!(["@bob.bot"]));
    let blocks = alice.get("/agents/me/blocks").await.ok(200);
    let block = &blocks["blocks"][0];
    assert_keys(block, &["blocked_agent_id", "blocked_handle", "created_at"], &[]);
    assert_eq!(block["blocked_handle"], "@carol.bot");
    assert_eq!(blocks["blocks"].as_array().map(Vec::len), Some(1));
    assert!(blocks["next_cursor"].is_null(), "{blocks}");
}

/// ASP-3: off is the default, and every write is 403 `forbidden`.
#[tokio::test]
async fn writes_need_the_owners_leave() {
    let server = Server::start().await;
    server.agent("@bob.bot").await;
    for alice in [
        server.closed_agent("@alice.one", &["@bob.bot"]).await,
        with_self_service(&server, "@alice.two", false).await,
    ] {
        let before = alice.get("/agents/me/allowlist").await.ok(200);
        alice.patch("/agents/me", json!({"policy": "open"})).await.assert_refused(403, "forbidden");
        alice
            .post("/agents/me/allowlist", json!({"entries": ["@x.*"]}))
            .await
            .assert_refused(403, "forbidden");
        alice.delete("/agents/me/allowlist/@bob.bot").await.assert_refused(403, "forbidden");
        alice.post("/agents/me/blocks", json!({"handle": "@bob.bot"})).await.assert_refused(403, "forbidden");
        alice.delete("/agents/me/blocks/@bob.bot").await.assert_refused(403, "forbidden");
        let shown = server.operator().get(&format!("/_admin/agents/{}", alice.handle)).await.ok(200);
        assert_eq!(shown["policy"], "allowlist");
        assert_eq!(alice.get("/agents/me/allowlist").await.ok(200), before);
        assert_eq!(alice.get("/agents/me/blocks").await.ok(200)["blocks"], json!([]));
    }
}

/// On, the agent edits its own lists, and only its own.
#[tokio::test]
async fn self_service_edits_itself() {
    let server = Server::start().await;
    let alice = with_self_service(&server, "@alice.bot", true).await;
    let bob = server.agent("@bob.bot").await;
    let invite = json!({"invite": ["@alice.bot"]});
    bob.post("/sessions", invite.clone()).await.assert_refused(404, "not_found");
    let list = alice.post("/agents/me/allowlist", json!({"entries": ["@bob.*"]})).await.ok(200);
    assert_eq!(list["entries"], json!(["@bob.*"]));
    bob.post("/sessions", invite.clone()).await.ok(201);
    let list = alice.delete("/agents/me/allowlist/@bob.*").await.ok(200);
    assert_eq!(list["entries"], json!([]));
    bob.post("/sessions", invite.clone()).await.assert_refused(404, "not_found");
    alice.patch("/agents/me", json!({"policy": "open"})).await.ok(200);
    bob.post("/sessions", invite.clone()).await.ok(201);
    alice.post("/agents/me/blocks", json!({"handle": "@bob.bot"})).await.ok(201);
    bob.post("/sessions", invite.clone()).await.assert_refused(404, "not_found");
    let lifted = alice.delete("/agents/me/blocks/@bob.bot").await.ok(200);
    assert_eq!(lifted, json!({"unblocked": true}));
    bob.post("/sessions", invite).await.ok(201);
    let shown = server.operator().get("/_admin/agents/@bob.bot").await.ok(200);
    assert_eq!(
        (&shown["policy"], &shown["allowlist"]),
        (&json!("open"), &json!([])),
        "bob's lists were not touched"
    );
}

/// The owner grants and takes it back; the agent cannot grant it to itself.
#[tokio::test]
async fn the_owner_switches_self_service() {
    let server = Server::start().await;
    let alice = server.closed_agent("@alice.bot", &[]).await;
    let operator = server.operator();
    let path = "/_admin/agents/@alice.bot";
    let entries = json!({"entries": ["@bob.*"]});
    operator.patch(path, json!({"self_service": true})).await.ok(200);
    alice.post("/agents/me/allowlist", entries.clone()).await.ok(200);
    operator.patch(path, json!({"self_service": false})).await.ok(200);
    alice.post("/agents/me/allowlist", entries.clone()).await.assert_refused(403, "forbidden");
    alice.patch("/agents/me", json!({"self_service": true})).await.assert_refused(403, "forbidden");
    alice.post("/agents/me/allowlist", entries).await.assert_refused(403, "forbidden");
    operator.patch(path, json!({"self_service": "yes"})).await.refusal_code(400);
}
