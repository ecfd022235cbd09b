//! The operator's surface under `/_admin` (ASP-3, ASP-5, ASP-6, ASP-103).

use blackbox::{Agent, Server, assert_keys, rounds};
use serde_json::json;

/// ASP-6: an agent is made closed, with an empty list, and its token is shown once.
#[tokio::test]
async fn agents_are_made_closed() {
    let server = Server::start().await;
    let made = server.operator().post("/_admin/agents", json!({"handle": "@alice.bot"})).await.ok(201);
    assert_eq!(made["handle"], "@alice.bot");
    assert_eq!(made["policy"], "allowlist");
    assert_eq!(made["allowlist"], json!([]));
    let token = made["token"].as_str().expect("a token").to_owned();
    server.bearer(&token).get("/sessions").await.ok(200);
    let listed = server.operator().get("/_admin/agents").await;
    let shown = server.operator().get("/_admin/agents/@alice.bot").await;
    listed.ok(200);
    shown.ok(200);
    for response in [listed, shown] {
        assert!(!response.text().contains(&token), "a token is shown once");
        assert!(!response.text().contains("pla_"), "no token is shown again: {response}");
    }
}

#[tokio::test]
async fn asp_5_a_taken_handle_is_refused() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let again = server.operator().post("/_admin/agents", json!({"handle": "@alice.bot"})).await;
    again.assert_refused(409, "agent_exists");
    alice.get("/sessions").await.ok(200);
}

/// The name of the owner is kept for its person, before and after the person is first used.
#[tokio::test]
async fn no_agent_takes_the_account_of_a_person() {
    let server = Server::start().await;
    let (operator, owner) = (server.operator(), server.owner("nick").await);
    let agent = json!({"handle": "@nick.nick", "policy": "open"});
    let other = json!({"handle": "@acme.acme"});
    operator.post("/_admin/agents", other).await.assert_refused(409, "owners_person");
    for first_used in [false, true] {
        if first_used {
            owner.call("GET", "/agents/me", &[("X-ASP-Agent", "@nick.nick")], None).await.ok(200);
        }
        for caller in [&operator, &owner] {
            caller.post("/_admin/agents", agent.clone()).await.assert_refused(409, "owners_person");
        }
        let named = json!({"local_name": "nick"});
        owner.post("/agents", named).await.assert_refused(409, "owners_person");
    }
    assert_eq!(operator.get("/_admin/agents/@nick.nick").await.ok(200)["kind"], "person");
    assert_eq!(operator.get("/_admin/owners").await.ok(200)["owners"].as_array().map(Vec::len), Some(1));
}

/// Two requests at once with the same chosen token: one agent has it, the other was never made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chosen_token_has_one_bearer() {
    let server = Server::start().await;
    let operator = server.operator();
    for round in 0..rounds(200, 40) {
        let token = format!("pla_chosen_{round:060}");
        let body = |who: &str| json!({"handle": format!("@{who}.n{round}"), "token": token});
        let (alice, bob) = tokio::join!(
            operator.post("/_admin/agents", body("alice")),
            operator.post("/_admin/agents", body("bob")),
        );
        let (made, refused) = if alice.status == 201 { (alice, bob) } else { (bob, alice) };
        let handle = made.ok(201)["handle"].clone();
        refused.assert_refused(409, "token_exists");
        assert_eq!(server.bearer(&token).get("/agents/me").await.ok(200)["handle"], handle);
        let other = if handle == json!(format!("@alice.n{round}")) { "bob" } else { "alice" };
        let path = format!("/_admin/agents/@{other}.n{round}");
        operator.get(&path).await.assert_refused(404, "not_found");
    }
}

/// Deleted handles stay reserved: nobody can come back as someone else.
#[tokio::test]
async fn a_deleted_handle_is_never_given_again() {
    let mut server = Server::start().await;
    server.agent("@alice.bot").await;
    let response = server.operator().delete("/_admin/agents/@alice.bot").await;
    assert_eq!((response.status, response.body.len()), (204, 0), "{response}");
    server.operator().get("/_admin/agents/@alice.bot").await.assert_refused(404, "not_found");
    let again = json!({"handle": "@alice.bot"});
    server.operator().post("/_admin/agents", again.clone()).await.assert_refused(409, "agent_exists");
    server.crash().await;
    server.operator().post("/_admin/agents", again).await.assert_refused(409, "agent_exists");
    assert_eq!(server.operator().get("/_admin/agents").await.ok(200)["agents"], json!([]));
    let second = server.operator().delete("/_admin/agents/@alice.bot").await;
    second.assert_refused(404, "not_found");
}

#[tokio::test]
async fn owners_are_made_and_listed() {
    let server = Server::start().await;
    let made = server.operator().post("/_admin/owners", json!({"owner": "acme"})).await.ok(201);
    assert_keys(&made, &["owner", "token"], &[]);
    assert_eq!(made["owner"], "acme");
    let listed = server.operator().get("/_admin/owners").await;
    listed.ok(200);
    assert!(listed.text().contains("\"acme\""), "{listed}");
    assert!(!listed.text().contains("plw_"), "tokens are shown once: {listed}");
    for owner in ["", "Acme", "a b", "-a", "a-", "a.b", "@acme", "~acme"] {
        server.operator().post("/_admin/owners", json!({ "owner": owner })).await.refusal_code(400);
    }
}

#[tokio::test]
async fn everything_provisioned_outlives_a_crash() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    let bob: Agent = server.closed_agent("@bob.bot", &["@alice.bot"]).await;
    let owner = server.owner("carol").await;
    let dave = server.agent("@dave.bot").await;
    server.block(&alice, "@dave.bot").await;
    server.crash().await;
    let id = alice.create(&[&bob]).await;
    bob.join(&id).await;
    owner.post("/_admin/agents", json!({"handle": "@carol.bot"})).await.ok(201);
    dave.post("/sessions", json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
}

/// D.1: a first start without a configured operator token makes one and keeps it in a 0600 file.
#[tokio::test]
async fn the_operator_token_is_made_and_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut server = Server::builder().own_operator_token().start().await;
    let mut found = None;
    for entry in std::fs::read_dir(server.data()).expect("the data directory").flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        if text.trim().starts_with("plo_") {
            let mode = entry.metadata().expect("metadata").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "only the operator's account may read it");
            found = Some((text.trim().to_owned(), entry.path()));
        }
    }
    let (token, path) = found.expect("a file in the data directory holds the token");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let told = || async { server.output_text().contains(&name).then_some(()) };
    blackbox::eventually("it says where the token is", told).await;
    server.bearer(&token).get("/_admin/agents").await.ok(200);
    server.crash().await;
    server.bearer(&token).get("/_admin/agents").await.ok(200);
    server.stop().await;
    assert!(!server.output_text().contains(&token), "the token itself is not printed");
}
