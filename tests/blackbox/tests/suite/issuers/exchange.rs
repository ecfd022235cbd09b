//! A token of an issuer for a short one of an agent (RFC 8693).

use serde_json::json;

use super::{ACCESS_TOKEN, AUDIENCE, Provider, asked, exchange, flaw};
use blackbox::{Cli, Server};

#[tokio::test]
async fn a_token_of_the_provider_becomes_a_short_token_of_the_agent() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.access_token("openid").await;
    let made = exchange(&server, &token, &[]).await;
    assert_eq!(made.header("cache-control"), Some("no-store"), "{made}");
    let made = made.ok(200);
    assert_eq!(made["issued_token_type"], ACCESS_TOKEN);
    assert_eq!((&made["token_type"], &made["scope"]), (&json!("Bearer"), &json!("read sessions:write")));
    let lasts = made["expires_in"].as_u64().expect("seconds");
    assert!((590..=600).contains(&lasts) && made.get("refresh_token").is_none(), "{made}");
    let bearer = made["access_token"].as_str().expect("a token");
    assert!(bearer.starts_with("pls_"), "{bearer}");
    let agent = server.bearer(bearer);
    assert_eq!(agent.get("/agents/me").await.ok(200)["handle"], "@nick.ci");
    agent.patch("/agents/me", json!({"description": "x"})).await.assert_refused(403, "insufficient_scope");
    let listed = server.operator().get("/_admin/agents/@nick.ci/tokens").await.ok(200);
    let one = &listed["tokens"][0];
    assert_eq!((&one["issuer"], &one["name"]), (&json!("acme"), &json!("acme: ci")));
    let id = one["id"].as_str().expect("an id");
    server.operator().delete(&format!("/_admin/agents/@nick.ci/tokens/{id}")).await.ok(204);
    agent.get("/agents/me").await.assert_refused(401, "invalid_authorization");
    // The issuer still vouches for it; whoever ended what was given for it has the last word.
    assert_eq!(exchange(&server, &token, &[]).await.ok(400)["error"], "invalid_request");
    exchange(&server, &provider.access_token("openid").await, &[]).await.ok(200);
}

#[tokio::test]
async fn less_may_be_asked_for_and_no_more() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.signer.token(&json!({}));
    for (scope, granted) in [("sessions:read", "sessions:read"), ("read", "read")] {
        assert_eq!(exchange(&server, &token, &[("scope", scope)]).await.ok(200)["scope"], granted);
    }
    for scope in ["write", "inbox:write", "admin"] {
        assert_eq!(flaw(&exchange(&server, &token, &[("scope", scope)]).await).1, "invalid_scope", "{scope}");
    }
    // What the issuer's own token may not do, its exchange does not do either.
    let narrow = provider.access_token("sessions:read").await;
    assert_eq!(exchange(&server, &narrow, &[]).await.ok(200)["scope"], "sessions:read");
    assert_eq!(flaw(&exchange(&server, &narrow, &[("scope", "sessions:write")]).await).1, "invalid_scope");
}

#[tokio::test]
async fn what_the_request_must_be_is_said() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.signer.token(&json!({}));
    let mcp = format!("{}/mcp", server.url());
    for (more, error) in [
        (("subject_token", ""), "invalid_request"),
        (("subject_token_type", ""), "invalid_request"),
        (("subject_token_type", "urn:ietf:params:oauth:token-type:saml2"), "invalid_request"),
        (("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"), "invalid_request"),
        (("actor_token", "x"), "invalid_request"),
        (("resource", "https://evil.example/mcp"), "invalid_target"),
        (("audience", "https://evil.example"), "invalid_target"),
        (("grant_type", "password"), "unsupported_grant_type"),
    ] {
        let answer = exchange(&server, &token, &[more]).await;
        assert_eq!((answer.status, flaw(&answer).1.as_str()), (400, error), "{more:?}");
    }
    // A token that is requested for `/mcp` is for nothing else (RFC 8707).
    for (more, status) in [
        (("resource", &*mcp), 401),
        (("audience", &*mcp), 401),
        (("requested_token_type", ACCESS_TOKEN), 200),
    ] {
        let made = exchange(&server, &token, &[more]).await.ok(200);
        let bearer = server.bearer(made["access_token"].as_str().expect("a token"));
        assert_eq!(bearer.get("/agents/me").await.status, status, "{more:?}");
    }
    let metadata = server.stranger().get("/.well-known/oauth-authorization-server").await.ok(200);
    let grants = metadata["grant_types_supported"].as_array().expect("grants");
    assert!(grants.contains(&json!(super::GRANT)), "{metadata}");
}

#[tokio::test]
async fn whom_no_rule_admits_gets_nothing() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    for claims in [
        json!({"repository": "evil/app"}),
        json!({"repository": null}),
        json!({"sub": "ci2"}),
        json!({"repository": {"acme/app": 1}}),
        // A rule that names an agent that is not there.
        json!({"sub": "absent", "repository": null}),
    ] {
        let answer = exchange(&server, &provider.signer.token(&claims), &[]).await;
        let expected = (400, "invalid_request".to_owned(), "not_admitted".to_owned());
        assert_eq!(flaw(&answer), expected, "{claims}");
    }
    let listed = server.operator().get("/_admin/agents/@nick.ci/tokens").await.ok(200);
    assert_eq!(listed["tokens"], json!([]));
}

#[tokio::test]
async fn past_their_number_an_agent_gets_no_more_tokens_of_issuers() {
    const TOKENS_OF_ISSUERS_MAX: usize = 64;
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.signer.token(&json!({}));
    for _ in 0..TOKENS_OF_ISSUERS_MAX {
        exchange(&server, &token, &[]).await.ok(200);
    }
    let answer = exchange(&server, &token, &[]).await;
    assert_eq!((answer.status, flaw(&answer).1.as_str()), (503, "temporarily_unavailable"), "{answer}");
    assert!(answer.header("retry-after").is_some(), "{answer}");
    let made = server.operator().post("/_admin/agents/@nick.ci/tokens", json!({"scope": "read"})).await;
    made.ok(201);
}

#[tokio::test]
async fn an_agents_own_token_becomes_a_narrower_one_that_ends_with_it() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let body = json!({"scope": "read", "expires_in": 60});
    let parent = server.operator().post("/_admin/agents/@nick.bot/tokens", body).await.ok(201);
    let (id, parent) = (parent["id"].as_str().expect("an id"), parent["token"].as_str().expect("a token"));
    let kind = ("subject_token_type", ACCESS_TOKEN);
    let narrow = exchange(&server, parent, &[kind, ("scope", "sessions:read")]).await.ok(200);
    assert!(narrow["expires_in"].as_u64().is_some_and(|lasts| lasts <= 60), "{narrow}");
    let bearer = server.bearer(narrow["access_token"].as_str().expect("a token"));
    bearer.get("/sessions").await.ok(200);
    bearer.get("/inbox").await.assert_refused(403, "insufficient_scope");
    for (scope, error) in
        [("write", "invalid_scope"), ("sessions:write", "invalid_scope"), ("", "invalid_scope")]
    {
        let answer = exchange(&server, parent, &[kind, ("scope", scope)]).await;
        assert_eq!(flaw(&answer).1, error, "{scope}");
    }
    server.operator().delete(&format!("/_admin/agents/@nick.bot/tokens/{id}")).await.ok(204);
    bearer.get("/sessions").await.assert_refused(401, "invalid_authorization");
    let own = exchange(&server, agent.token(), &[kind, ("scope", "read")]).await.ok(200);
    let lasts = own["expires_in"].as_u64().expect("seconds");
    assert!(own["scope"] == "read" && (3_590..=3_600).contains(&lasts), "{own}");
    for token in ["plw_nobody", "x", "pls_00"] {
        assert_eq!(flaw(&exchange(&server, token, &[kind, ("scope", "read")]).await).1, "invalid_request");
    }
}

#[tokio::test]
async fn a_token_that_only_reads_does_not_use_up_the_tokens_of_its_agent() {
    const TOKENS_BELOW_ONE_MAX: usize = 16;
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let made =
        server.operator().post("/_admin/agents/@nick.bot/tokens", json!({"scope": "read"})).await.ok(201);
    let reads = made["token"].as_str().expect("a token");
    let more = [("subject_token_type", ACCESS_TOKEN), ("scope", "sessions:read")];
    for _ in 0..TOKENS_BELOW_ONE_MAX {
        exchange(&server, reads, &more).await.ok(200);
    }
    let answer = exchange(&server, reads, &more).await;
    assert_eq!((answer.status, flaw(&answer).1.as_str()), (503, "temporarily_unavailable"), "{answer}");
    server.operator().post("/_admin/agents/@nick.bot/tokens", json!({"scope": "read"})).await.ok(201);
}

#[tokio::test]
async fn the_command_line_exchanges_what_a_ci_has() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.signer.token(&json!({}));
    let url = server.url();
    let cli = Cli::new(&[("PLENARY_URL", &url), ("CI_TOKEN", &token)]);
    let ran = cli.run(&["token", "exchange", "--env", "CI_TOKEN", "--scope", "sessions:read"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let made = server.bearer(ran.out.trim());
    made.get("/sessions").await.ok(200);
    made.get("/inbox").await.assert_refused(403, "insufficient_scope");
    let refused = cli.run(&["token", "exchange", "--env", "ABSENT"]).await;
    assert_ne!(refused.code, 0);
    let bad = Cli::new(&[("PLENARY_URL", &url), ("CI_TOKEN", &provider.signer.token(&json!({"aud": "x"})))]);
    let ran = bad.run(&["token", "exchange", "--env", "CI_TOKEN"]).await;
    assert!(ran.code != 0 && ran.err.contains("audience_wrong"), "{ran:?}");
}

#[tokio::test]
async fn an_issuer_that_is_away_is_said_and_keys_that_are_known_still_count() {
    let Some(provider) = Provider::start().await else { return };
    let server = provider.server("").await;
    let token = provider.signer.token(&json!({}));
    exchange(&server, &token, &[]).await.ok(200);
    let Provider { signer, url, mut process, .. } = provider;
    process.kill().await.expect("the provider ends");
    blackbox::eventually("the provider ends", || async {
        let address: std::net::SocketAddr = url.trim_start_matches("http://").parse().ok()?;
        blackbox::Connection::open(address).await.err().map(drop)
    })
    .await;
    exchange(&server, &signer.token(&json!({})), &[]).await.ok(200);
    let config = format!(
        "[issuers.acme]\nurl = \"{url}\"\nprivate_addresses = true\naudience = [\"{AUDIENCE}\"]\n\
         [[issuers.acme.agents]]\nclaims = {{ sub = \"ci\" }}\nagent = \"@nick.ci\"\nscope = \"read\"\n"
    );
    let cold = Server::builder().config(&config).start().await;
    let answer = exchange(&cold, &signer.token(&json!({})), &[]).await;
    assert_eq!(flaw(&answer), (503, "temporarily_unavailable".to_owned(), "issuer_unavailable".to_owned()));
    let answer = asked("POST", &format!("{}/oauth/token", cold.url()), None, "grant_type=x").await;
    assert_eq!(flaw(&answer).1, "unsupported_grant_type");
}
