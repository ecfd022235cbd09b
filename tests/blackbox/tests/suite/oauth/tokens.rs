//! Codes and refresh tokens: each is good for once, for its client alone, and one that comes twice ends everything.

use serde_json::json;

use super::{
    ALLOW, Browser, VERIFIER, code, decide, given_back, no, part, query, redeemed, registered, renewed,
    request, scene, token,
};

const MCP: [(&str, &str); 1] = [("Accept", "application/json, text/event-stream")];

/// A client speaks as the agent that the person chose, for an hour, and renews its tokens; all of it over a kill.
#[tokio::test]
async fn a_client_speaks_as_the_agent() {
    let (mut server, _, browser, client) = scene().await;
    let code = code(&browser, &client).await;
    let answer = redeemed(&server, &client, &code).await;
    let tokens = answer.ok(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!((&tokens["token_type"], &tokens["scope"]), (&json!("Bearer"), &json!("write")));
    assert!(
        tokens["expires_in"].as_u64().is_some_and(|seconds| (3_500..=3_600).contains(&seconds)),
        "{tokens}"
    );
    let access = part(&tokens, "access_token");
    assert_eq!(server.bearer(&access).get("/agents/me").await.ok(200)["handle"], "@nick.bot");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let answer = server.bearer(&access).call("POST", "/mcp", &MCP, Some(&ping)).await;
    assert_eq!(answer.status, 200, "{answer}");
    server.crash().await;
    let next = renewed(&server, &client, &part(&tokens, "refresh_token")).await.ok(200);
    assert_ne!(next["refresh_token"], tokens["refresh_token"]);
    for live in [&access, &part(&next, "access_token")] {
        server.bearer(live).get("/agents/me").await.ok(200);
    }
    // A refresh token is no token.
    server.bearer(&part(&next, "refresh_token")).get("/agents/me").await.refusal_code(401);
}

/// Clients name the URL that a person has entered, and scopes of other servers; the page says who vouches for a name.
#[tokio::test]
async fn what_means_nothing_here_is_passed_over() {
    let (server, _, browser, client) = scene().await;
    let entered = format!("{}/mcp?toolsets=core,assistant", server.url());
    for (scope, granted) in [("read openid", "read"), ("openid profile mcp:read", "write")] {
        let asked = request(&client, &[("scope", scope), ("resource", &entered)]);
        let page = browser.get(&format!("/oauth/authorize?{asked}")).await;
        assert!(
            page.text().contains("The application chose this name itself; nobody has checked it."),
            "{page}"
        );
        let mut choices = ALLOW.to_vec();
        choices[1] = ("scope", granted);
        let answer = decide(&browser, &asked, &choices).await;
        let code = query(answer.header("location").expect("a place"))["code"].clone();
        let pairs = [
            ("grant_type", "authorization_code"),
            ("client_id", &*client),
            ("code", &*code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", super::REDIRECT),
            ("resource", &*entered),
        ];
        let tokens = token(&server, &pairs).await.ok(200);
        assert_eq!(tokens["scope"], granted);
        let renewal = [
            ("grant_type", "refresh_token"),
            ("client_id", &*client),
            ("refresh_token", &*part(&tokens, "refresh_token")),
            ("scope", scope),
            ("resource", &*entered),
        ];
        assert_eq!(token(&server, &renewal).await.ok(200)["scope"], granted);
    }
}

/// A token that was asked for `/mcp` is for `/mcp` alone (RFC 8707), and so is what comes of it; one for the server opens the rest too.
#[tokio::test]
async fn a_token_is_for_the_resource_that_was_asked_for() {
    let (server, _, browser, client) = scene().await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let base = server.url();
    for (resource, opens_all) in [(format!("{base}/mcp"), false), (base, true), (String::new(), true)] {
        let asked = request(&client, &[("resource", &resource)]);
        let answer = decide(&browser, &asked, ALLOW).await;
        let code = query(answer.header("location").expect("a place"))["code"].clone();
        let tokens = redeemed(&server, &client, &code).await.ok(200);
        let renewed = renewed(&server, &client, &part(&tokens, "refresh_token")).await.ok(200);
        let narrower = token(
            &server,
            &[
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token", &*part(&tokens, "access_token")),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                ("scope", "read"),
            ],
        )
        .await
        .ok(200);
        for tokens in [tokens, renewed, narrower] {
            let caller = server.bearer(&part(&tokens, "access_token"));
            assert_eq!(caller.call("POST", "/mcp", &MCP, Some(&hello)).await.status, 200, "{resource}");
            for path in ["/agents/me", "/sessions", "/inbox", "/v1/models", "/agent"] {
                let answer = caller.get(path).await;
                assert_eq!(answer.status, if opens_all { 200 } else { 401 }, "{resource}: {answer}");
            }
            if !opens_all {
                let refused = caller.get("/agents/me").await;
                refused.assert_refused(401, "invalid_authorization");
                assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{refused}");
                assert_eq!(caller.post("/auth/ticket", json!({})).await.status, 401);
            }
        }
    }
}

/// A client that asks the person for more goes on with its session of the Model Context Protocol; another client of the same
/// agent does not get into it.
#[tokio::test]
async fn a_client_that_is_granted_more_goes_on_with_its_session() {
    let (server, _, browser, client) = scene().await;
    let other = registered(&server, "https://other.example/cb").await;
    let granted = async |client: &str, redirect: &str, scope: &str| {
        let mut choices = ALLOW.to_vec();
        choices[1] = ("scope", scope);
        let asked = request(client, &[("redirect_uri", redirect)]);
        let answer = decide(&browser, &asked, &choices).await;
        let code = query(answer.header("location").expect("a place"))["code"].clone();
        let pairs = [
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", &*code),
            ("code_verifier", VERIFIER),
        ];
        server.bearer(&part(&token(&server, &pairs).await.ok(200), "access_token"))
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "send", "arguments": {"to": ["@nick.nick"], "text": "hello"}}});
    let reader = granted(&client, super::REDIRECT, "read").await;
    let begun = reader.call("POST", "/mcp", &MCP, Some(&hello)).await;
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    let in_session = [MCP[0], ("Mcp-Session-Id", &*id), ("MCP-Protocol-Version", "2025-06-18")];
    let refused = reader.call("POST", "/mcp", &in_session, Some(&call)).await;
    assert_eq!(refused.status, 403, "{refused}");
    let stranger = granted(&other, "https://other.example/cb", "write").await;
    assert_eq!(stranger.call("POST", "/mcp", &in_session, Some(&call)).await.status, 404);
    let writer = granted(&client, super::REDIRECT, "write").await;
    let sent = writer.call("POST", "/mcp", &in_session, Some(&call)).await;
    assert!(sent.status == 200 && !sent.text().contains("\"isError\":true"), "{sent}");
    // What the session may do depends on the token of each message.
    assert_eq!(reader.call("POST", "/mcp", &in_session, Some(&call)).await.status, 403);
}

/// A code is good for its client, its redirect, its verifier and its resource.
#[tokio::test]
async fn a_code_is_for_its_client_alone() {
    let (server, _, browser, client) = scene().await;
    let other = registered(&server, "https://other.example/cb").await;
    let code = code(&browser, &client).await;
    let good = [
        ("grant_type", "authorization_code"),
        ("client_id", &*client),
        ("code", &*code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", super::REDIRECT),
    ];
    let with = |name: &'static str, value: &'static str| -> Vec<(&str, &str)> {
        good.iter().map(|(known, old)| (*known, if *known == name { value } else { *old })).collect()
    };
    for (name, value, status, error) in [
        ("code", "plx_0", 400, "invalid_grant"),
        ("code", "", 400, "invalid_request"),
        ("code_verifier", "", 400, "invalid_grant"),
        ("code_verifier", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", 400, "invalid_grant"),
        ("redirect_uri", "https://client.example/other", 400, "invalid_grant"),
        ("client_id", "", 400, "invalid_request"),
        ("client_id", "nobody", 401, "invalid_client"),
        ("grant_type", "password", 400, "unsupported_grant_type"),
        ("grant_type", "", 400, "invalid_request"),
    ] {
        no(&token(&server, &with(name, value)).await, status, error);
    }
    no(&redeemed(&server, &other, &code).await, 400, "invalid_grant");
    let mut elsewhere = good.to_vec();
    elsewhere.push(("resource", "https://other.example/mcp"));
    no(&token(&server, &elsewhere).await, 400, "invalid_target");
    let mut twice = good.to_vec();
    twice.push(("client_id", &client));
    no(&token(&server, &twice).await, 400, "invalid_request");
    // None of them used it up. A token that is requested for `/mcp` is for nothing else, though the grant is.
    let mcp = format!("{}/mcp", server.url());
    let mut narrow = good.to_vec();
    narrow.push(("resource", &*mcp));
    let tokens = token(&server, &narrow).await.ok(200);
    server.bearer(&part(&tokens, "access_token")).get("/agents/me").await.refusal_code(401);
    let again = [
        ("grant_type", "refresh_token"),
        ("client_id", &*client),
        ("refresh_token", tokens["refresh_token"].as_str().expect("a refresh token")),
    ];
    let whole = token(&server, &again).await.ok(200);
    server.bearer(&part(&whole, "access_token")).get("/agents/me").await.ok(200);
}

/// A code that comes twice ends what the first one got.
#[tokio::test]
async fn a_code_that_comes_twice_ends_its_grant() {
    let (server, owner, browser, client) = scene().await;
    let code = code(&browser, &client).await;
    let tokens = redeemed(&server, &client, &code).await.ok(200);
    no(&redeemed(&server, &client, &code).await, 400, "invalid_grant");
    server.bearer(&part(&tokens, "access_token")).get("/agents/me").await.refusal_code(401);
    no(&renewed(&server, &client, &part(&tokens, "refresh_token")).await, 400, "invalid_grant");
    assert_eq!(owner.get("/_admin/agents/@nick.bot/tokens").await.ok(200)["tokens"], json!([]));
}

/// Of many that take one code at once, one gets tokens at most, and in the end none is good.
#[tokio::test]
async fn of_many_at_once_one_takes_a_code() {
    let (server, _, browser, client) = scene().await;
    let code = code(&browser, &client).await;
    let answers = futures_util::future::join_all((0..8).map(|_| redeemed(&server, &client, &code))).await;
    let good: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert!(good.len() <= 1, "{} got tokens", good.len());
    for answer in good {
        server.bearer(&part(&answer.json(), "access_token")).get("/agents/me").await.refusal_code(401);
    }
}

/// A refresh token that comes twice ends the grant: one of the two was stolen. Garbage with a grant's name ends nothing.
#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_its_grant() {
    let (server, _, browser, client) = scene().await;
    let code = code(&browser, &client).await;
    let first = redeemed(&server, &client, &code).await.ok(200);
    let old = part(&first, "refresh_token");
    let second = renewed(&server, &client, &old).await.ok(200);
    let new = part(&second, "refresh_token");
    let parts: Vec<_> = new.splitn(4, '.').collect();
    let forged = format!("{}.{}.{}.{}", parts[0], "0".repeat(64), parts[2], parts[3]);
    no(&renewed(&server, &client, &forged).await, 400, "invalid_grant");
    no(
        &renewed(&server, &registered(&server, "https://other.example/cb").await, &new).await,
        400,
        "invalid_grant",
    );
    let third = renewed(&server, &client, &new).await.ok(200);
    no(&renewed(&server, &client, &old).await, 400, "invalid_grant");
    for tokens in [&first, &second, &third] {
        server.bearer(&part(tokens, "access_token")).get("/agents/me").await.refusal_code(401);
        no(&renewed(&server, &client, &part(tokens, "refresh_token")).await, 400, "invalid_grant");
    }
}

/// A renewal may ask for less, and never for more.
#[tokio::test]
async fn a_renewal_is_never_wider() {
    let (server, _, browser, client) = scene().await;
    let mut choices = ALLOW.to_vec();
    choices[1] = ("scope", "read");
    let answer = decide(&browser, &request(&client, &[("scope", "write")]), &choices).await;
    let code = query(answer.header("location").expect("a place"))["code"].clone();
    let tokens = redeemed(&server, &client, &code).await.ok(200);
    assert_eq!(tokens["scope"], "read", "the person granted less than was asked for");
    let renew = async |refresh: &str, scope: &str| {
        let pairs = [
            ("grant_type", "refresh_token"),
            ("client_id", &*client),
            ("refresh_token", refresh),
            ("scope", scope),
        ];
        token(&server, &pairs).await
    };
    no(&renew(&part(&tokens, "refresh_token"), "write").await, 400, "invalid_scope");
    let less = renew(&part(&tokens, "refresh_token"), "sessions:read").await.ok(200);
    assert_eq!(less["scope"], "sessions:read");
    server.bearer(&part(&less, "access_token")).get("/inbox").await.assert_refused(403, "insufficient_scope");
}

/// A client gives its tokens back, and the owner sees and ends a grant like any token.
#[tokio::test]
async fn a_grant_is_given_back_or_taken_back() {
    let (server, owner, browser, client) = scene().await;
    let revoke = async |token: &str| given_back(&server, token).await;
    let tokens = redeemed(&server, &client, &code(&browser, &client).await).await.ok(200);
    let (access, refresh) = (part(&tokens, "access_token"), part(&tokens, "refresh_token"));
    for unknown in ["x", "pls_00", "plr_a.b.c.nick.bot", owner.token()] {
        revoke(unknown).await;
    }
    owner.get("/_admin/agents").await.ok(200);
    revoke(&access).await;
    server.bearer(&access).get("/agents/me").await.refusal_code(401);
    let next = renewed(&server, &client, &refresh).await.ok(200);
    revoke(&part(&next, "refresh_token")).await;
    server.bearer(&part(&next, "access_token")).get("/agents/me").await.refusal_code(401);

    let tokens = redeemed(&server, &client, &code(&browser, &client).await).await.ok(200);
    let listed = owner.get("/_admin/agents/@nick.bot/tokens").await.ok(200);
    let grant = listed["tokens"].as_array().and_then(|all| all.iter().find(|one| one["client"].is_object()));
    let grant = grant.unwrap_or_else(|| panic!("a grant in {listed}"));
    assert_eq!((&grant["client"]["id"], &grant["scope"]), (&json!(client), &json!("write")));
    let path = format!("/_admin/agents/@nick.bot/tokens/{}", grant["id"].as_str().expect("an id"));
    assert_eq!(owner.delete(&path).await.status, 204);
    server.bearer(&part(&tokens, "access_token")).get("/agents/me").await.refusal_code(401);
    no(&renewed(&server, &client, &part(&tokens, "refresh_token")).await, 400, "invalid_grant");
}

/// A browser of another owner reaches none of it.
#[tokio::test]
async fn another_owner_reaches_none_of_it() {
    let (server, owner, _, client) = scene().await;
    let acme = server.owner("acme").await;
    let foreign = Browser::signed_in(&server, &acme, "owner").await;
    let answer = decide(&foreign, &request(&client, &[]), ALLOW).await;
    assert_eq!((answer.status, answer.header("location")), (400, None), "{answer}");
    let listed = owner.get("/_admin/agents/@nick.bot/tokens").await.ok(200);
    assert_eq!(listed["tokens"], json!([]));
}
