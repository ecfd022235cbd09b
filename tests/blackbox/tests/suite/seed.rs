//! The seed file: handle to token, or to an object, applied at start and never over later edits (ASP-6, ASP-103).

use blackbox::{Agent, Server, room};
use serde_json::json;

const ALICE: &str = "pla_seedalice000000000000000000000000000000000000000000000000000000";
const BOB: &str = "pla_seedbob00000000000000000000000000000000000000000000000000000000";
const CAROL: &str = "pla_seedcarol000000000000000000000000000000000000000000000000000000";

async fn seeded() -> (Server, Agent, Agent, Agent) {
    let seed = json!({
        "@alice.bot": ALICE,
        "@bob.bot": {"token": BOB, "inbound_policy": "allowlist", "allowlist": ["@alice.*"]},
        "@carol.bot": {"token": CAROL, "policy": "allowlist"},
    });
    let server = Server::builder().seed(seed).start().await;
    let agent = |handle: &str, token: &str| Agent::new(handle, server.address().clone(), token);
    let agents = (agent("@alice.bot", ALICE), agent("@bob.bot", BOB), agent("@carol.bot", CAROL));
    (server, agents.0, agents.1, agents.2)
}

/// A plain token means policy `open`; an object says more.
#[tokio::test]
async fn a_seed_file_makes_agents() {
    let (server, alice, bob, carol) = seeded().await;
    room(&[&alice, &bob]).await;
    alice.post("/sessions", json!({"invite": [carol.handle]})).await.assert_refused(404, "not_found");
    let shown = server.operator().get("/_admin/agents/@alice.bot").await.ok(200);
    assert_eq!(shown["policy"], "open");
    let shown = server.operator().get("/_admin/agents/@bob.bot").await.ok(200);
    assert_eq!((&shown["policy"], &shown["allowlist"]), (&json!("allowlist"), &json!(["@alice.*"])));
}

/// Agents from a seed file may edit themselves.
#[tokio::test]
async fn seeded_agents_have_self_service() {
    let (_server, alice, _, carol) = seeded().await;
    carol.post("/agents/me/allowlist", json!({"entries": ["@alice.bot"]})).await.ok(200);
    room(&[&alice, &carol]).await;
}

/// It creates what is missing and never overwrites later edits.
#[tokio::test]
async fn a_seed_file_does_not_overwrite() {
    let (mut server, alice, bob, _) = seeded().await;
    let operator = server.operator();
    operator.patch("/_admin/agents/@bob.bot", json!({"policy": "open"})).await.ok(200);
    operator.post("/_admin/agents/@carol.bot/allowlist", json!({"entries": ["@alice.bot"]})).await.ok(200);
    let id = room(&[&alice, &bob]).await;
    let rotated = operator.post_empty("/_admin/agents/@alice.bot/rotate-token").await.ok(200);
    server.stop().await;
    server.restart().await;
    alice.get("/sessions").await.refusal_code(401);
    server.bearer(rotated["token"].as_str().expect("a token")).get("/sessions").await.ok(200);
    assert_eq!(operator.get("/_admin/agents/@bob.bot").await.ok(200)["policy"], "open");
    let shown = operator.get("/_admin/agents/@carol.bot").await.ok(200);
    assert_eq!(shown["allowlist"], json!(["@alice.bot"]));
    assert_eq!(bob.show(&id).await["state"], "active");
}

/// A deleted agent does not come back with the next start.
#[tokio::test]
async fn a_seed_file_does_not_revive() {
    let (mut server, alice, _, _) = seeded().await;
    assert_eq!(server.operator().delete("/_admin/agents/@alice.bot").await.status, 204);
    server.crash().await;
    alice.get("/sessions").await.refusal_code(401);
    server.operator().get("/_admin/agents/@alice.bot").await.assert_refused(404, "not_found");
}
