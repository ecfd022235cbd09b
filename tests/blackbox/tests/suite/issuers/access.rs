//! An issuer in place of the server's own authorization server: its access tokens open what its rules admit, and no token of
//! anybody else.

use serde_json::{Value, json};

use super::{ACCESS_TOKEN, AUDIENCE, Provider, asked, exchange, get, with_the_other_signature};
use blackbox::{Caller, Server};

const OAUTH: &str = "[oauth]\nissuer = \"acme\"\n\n";

async fn call(bearer: &Caller, tool: &str, arguments: Value) -> blackbox::Response {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        }}
    });
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    bearer.call("POST", "/mcp", &headers, Some(&body)).await
}

async fn scene() -> Option<(Provider, Server)> {
    let provider = Provider::start().await?;
    let server = provider.server(OAUTH).await;
    Some((provider, server))
}

#[tokio::test]
async fn the_metadata_names_the_issuer_and_this_server_lets_no_client_in() {
    let Some((provider, server)) = scene().await else { return };
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let metadata = server.stranger().get(path).await.ok(200);
        assert_eq!(metadata["authorization_servers"], json!([provider.url]), "{metadata}");
    }
    let stranger = server.stranger();
    for (path, status) in
        [("/.well-known/oauth-authorization-server", 404), ("/oauth/authorize?client_id=x", 404)]
    {
        let answer = get(&format!("{}{path}", server.url()), None).await;
        assert!(answer.status == status && answer.text().contains(&provider.url), "{answer}");
    }
    let body = json!({"redirect_uris": ["https://c.example/cb"]});
    assert_eq!(stranger.post("/oauth/register", body).await.status, 404);
    let form = "grant_type=authorization_code&client_id=x&code=y";
    let answer = asked("POST", &format!("{}/oauth/token", server.url()), None, form).await;
    assert_eq!(answer.json()["error"], "unsupported_grant_type");
    exchange(&server, &provider.signer.token(&json!({})), &[]).await.ok(200);
}

#[tokio::test]
async fn its_access_tokens_open_what_the_rule_and_they_themselves_admit() {
    let Some((provider, server)) = scene().await else { return };
    let reads = server.bearer(&provider.access_token("sessions:read").await);
    assert_eq!(reads.get("/agents/me").await.ok(200)["handle"], "@nick.ci");
    reads.get("/sessions").await.ok(200);
    reads.get("/inbox").await.assert_refused(403, "insufficient_scope");
    reads.post("/sessions", json!({})).await.assert_refused(403, "insufficient_scope");
    let writes = server.bearer(&provider.access_token("sessions:write").await);
    writes.post("/sessions", json!({})).await.ok(201);
    let all = server.bearer(&provider.signer.token(&json!({})));
    all.get("/inbox").await.ok(200);
    all.patch("/agents/me", json!({"description": "x"})).await.assert_refused(403, "insufficient_scope");
    // Each is one entry, however often it comes.
    let listed = server.operator().get("/_admin/agents/@nick.ci/tokens").await.ok(200);
    let tokens = listed["tokens"].as_array().expect("a list");
    assert!(tokens.len() == 3 && tokens.iter().all(|token| token["issuer"] == "acme"), "{listed}");
}

#[tokio::test]
async fn a_client_that_needs_more_is_told_which_scope() {
    let Some((provider, server)) = scene().await else { return };
    let reads = server.bearer(&provider.access_token("read").await);
    let answer = call(&reads, "session_create", json!({})).await;
    let challenge = answer.header("www-authenticate").unwrap_or_default().to_owned();
    assert_eq!(answer.status, 403, "{answer}");
    for part in ["error=\"insufficient_scope\"", "scope=\"read sessions:write\"", "resource_metadata="] {
        assert!(challenge.contains(part), "{challenge}");
    }
}

#[tokio::test]
async fn a_session_goes_on_with_the_next_token_of_its_subject() {
    let Some((provider, server)) = scene().await else { return };
    let bearer = |claims: Value| server.bearer(&provider.signer.token(&claims));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let accept = ("Accept", "application/json, text/event-stream");
    let begun = bearer(json!({"jti": "1"})).call("POST", "/mcp", &[accept], Some(&hello)).await;
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    let headers = [accept, ("Mcp-Session-Id", &*id), ("MCP-Protocol-Version", "2025-06-18")];
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    for (claims, status) in
        [(json!({"jti": "2"}), 200), (json!({"sub": "second"}), 404), (json!({"jti": "3"}), 200)]
    {
        let answer = bearer(claims.clone()).call("POST", "/mcp", &headers, Some(&ping)).await;
        assert_eq!(answer.status, status, "{claims}: {answer}");
    }
}

#[tokio::test]
async fn what_is_none_of_its_tokens_for_this_server_opens_nothing() {
    let Some((provider, server)) = scene().await else { return };
    let signer = &provider.signer;
    for claims in [
        json!({"aud": "https://other.example/mcp"}),
        json!({"aud": "plenary"}),
        json!({"exp": 1}),
        json!({"repository": "evil/app"}),
        json!({"iss": "https://other.example"}),
        json!({"scope": "session:s"}),
    ] {
        let bearer = server.bearer(&signer.token(&claims));
        bearer.get("/agents/me").await.assert_refused(401, "invalid_authorization");
        assert_eq!(call(&bearer, "me", json!({})).await.status, 401, "{claims}");
    }
    let none = json!({"alg": "none"});
    server
        .bearer(&signer.sign(&none, &signer.claims(&json!({}))))
        .get("/agents/me")
        .await
        .assert_refused(401, "invalid_authorization");
    // Without [oauth] issuer the same token is only good for an exchange.
    let plain = provider.server("").await;
    let token = signer.token(&json!({}));
    plain.bearer(&token).get("/agents/me").await.assert_refused(401, "invalid_authorization");
    exchange(&plain, &token, &[]).await.ok(200);
}

#[tokio::test]
async fn a_token_that_was_revoked_stays_so_also_after_a_restart() {
    let Some((provider, mut server)) = scene().await else { return };
    let token = provider.signer.token(&json!({"aud": [AUDIENCE]}));
    server.bearer(&token).get("/agents/me").await.ok(200);
    let listed = server.operator().get("/_admin/agents/@nick.ci/tokens").await.ok(200);
    let id = listed["tokens"][0]["id"].as_str().expect("an id");
    server.operator().delete(&format!("/_admin/agents/@nick.ci/tokens/{id}")).await.ok(204);
    for _ in 0..2 {
        for token in [&token, &with_the_other_signature(&token)] {
            server.bearer(token).get("/agents/me").await.assert_refused(401, "invalid_authorization");
            assert_eq!(exchange(&server, token, &[]).await.ok(400)["error"], "invalid_request");
        }
        server.crash().await;
    }
    server.bearer(&provider.signer.token(&json!({"jti": "another"}))).get("/agents/me").await.ok(200);
}

#[tokio::test]
async fn what_a_rule_let_in_ends_with_it() {
    let Some((provider, mut server)) = scene().await else { return };
    let token = provider.signer.token(&json!({}));
    server.bearer(&token).get("/sessions").await.ok(200);
    let given =
        |answer: blackbox::Response| answer.ok(200)["access_token"].as_str().expect("a token").to_owned();
    let exchanged = given(exchange(&server, &token, &[]).await);
    let narrower = [("subject_token_type", ACCESS_TOKEN), ("scope", "sessions:read")];
    let below = given(exchange(&server, &exchanged, &narrower).await);
    let path = server.data().parent().expect("a directory").join("plenary.toml");
    let config = std::fs::read_to_string(&path).expect("the configuration");
    let narrowed = config.replace("scope = \"read sessions:write\"", "scope = \"read\"");
    let without_access = config.replace(OAUTH, "");
    assert!(narrowed != config && without_access != config);
    for (changed, sent, others) in [(narrowed, 401, 401), (without_access, 401, 200), (config, 200, 200)] {
        server.stop().await;
        std::fs::write(&path, &changed).expect("the configuration can be written");
        server.restart().await;
        for (bearer, status) in [(&token, sent), (&exchanged, others), (&below, others)] {
            let answer = server.bearer(bearer).get("/sessions").await;
            assert_eq!(answer.status, status, "{changed}");
        }
    }
}
