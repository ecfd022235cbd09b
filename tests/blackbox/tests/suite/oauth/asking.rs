//! A person is asked, and nobody else decides.

use serde_json::json;

use super::{ALLOW, Browser, REDIRECT, decide, encoded, hidden, query, registered, request, scene};

/// Without a session there is a page to sign in on, which asks again by itself once: a browser keeps the cookie back from
/// what another site began.
#[tokio::test]
async fn whoever_is_not_signed_in_signs_in_first() {
    let (server, owner, _, client) = scene().await;
    let stranger = Browser::new(&server);
    let asked = request(&client, &[]);
    let page = stranger.get(&format!("/oauth/authorize?{asked}")).await;
    assert_eq!(page.status, 200, "{page}");
    assert_eq!(hidden(&page, "request"), asked);
    assert!(page.text().contains("http-equiv=refresh") && !page.text().contains("@nick.bot"), "{page}");
    let again = stranger.get(&format!("/oauth/authorize?{asked}&again=1")).await;
    assert_eq!((again.status, again.text().contains("http-equiv=refresh")), (200, false), "{again}");
    assert_eq!(hidden(&again, "request"), asked);
    let made = owner.post("/console/links", json!({})).await.ok(201);
    let link = made["url"].as_str().expect("a URL");
    let elsewhere = Browser { origin: "http://localhost:1".into(), ..Browser::new(&server) };
    let refused = elsewhere.form("/oauth/sign-in", &[("link", link), ("request", &asked)]).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{refused}");
    assert_eq!(stranger.form("/oauth/sign-in", &[("link", link), ("request", &asked)]).await.status, 303);
    let used = stranger.form("/oauth/sign-in", &[("link", link), ("request", &asked)]).await;
    assert_eq!((used.status, used.header("set-cookie")), (403, None), "{used}");
}

/// Pages are nobody's frame, have no script, and are kept nowhere.
#[tokio::test]
async fn the_pages_are_guarded() {
    let (server, _, browser, client) = scene().await;
    let asked = request(&client, &[]);
    for page in [
        browser.get(&format!("/oauth/authorize?{asked}")).await,
        Browser::new(&server).get(&format!("/oauth/authorize?{asked}")).await,
        browser.get("/oauth/authorize").await,
    ] {
        let policy = page.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "style-src 'sha256-"]
        {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !page.text().contains("<script"), "{page}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
}

/// The answer goes to the client with its state and our name; a no as well.
#[tokio::test]
async fn the_answer_goes_to_the_client() {
    let (server, _, browser, client) = scene().await;
    let answer = decide(&browser, &request(&client, &[]), ALLOW).await;
    let back = answer.header("location").expect("a place");
    assert!(answer.status == 303 && back.starts_with("https://client.example/cb?code=plx_"), "{answer}");
    let sent = query(back);
    assert_eq!((sent["state"].as_str(), sent["iss"].as_str()), ("s t&x", server.url().as_str()));
    let denied = decide(&browser, &request(&client, &[]), &[("decision", "deny")]).await;
    let sent = query(denied.header("location").expect("a place"));
    assert_eq!((sent["error"].as_str(), sent["state"].as_str()), ("access_denied", "s t&x"));
    assert_eq!(sent["iss"], server.url());
    for (other, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", ""), "invalid_request"),
        (("scope", "session:a"), "invalid_scope"),
        (("resource", "https://other.example/mcp"), "invalid_target"),
    ] {
        let answer = browser.get(&format!("/oauth/authorize?{}", request(&client, &[other]))).await;
        // Anybody registers any address: nobody is taken there who has decided nothing (RFC 9700, 4.11.2).
        assert_eq!((answer.status, answer.header("location")), (400, None), "{other:?}: {answer}");
        let text = answer.text();
        let link = text.split_once("href=\"").and_then(|(_, rest)| rest.split_once('"')).expect("a link").0;
        let sent = query(&link.replace("&amp;", "&"));
        assert!(
            link.starts_with("https://client.example/cb?") && text.contains("<b>client.example</b>"),
            "{text}"
        );
        assert_eq!((sent["error"].as_str(), sent["state"].as_str()), (error, "s t&x"), "{other:?}");
        assert!(!text.contains("http-equiv"), "{text}");
    }
}

/// Where the client is not known, or is not called back there, nothing goes anywhere.
#[tokio::test]
async fn nothing_goes_where_the_client_is_not_registered() {
    let (_server, _, browser, client) = scene().await;
    for asked in [
        request(&client, &[("redirect_uri", "https://evil.example/cb")]),
        request(&client, &[("redirect_uri", "https://client.example/cb/")]),
        request(&client, &[("redirect_uri", "https://client.example.evil.example/cb")]),
        request("plenary-client.e30", &[]),
        request("nobody", &[]),
        request("", &[]),
        request("http://127.0.0.1:1/client.json", &[]),
        request("https://127.0.0.1:1/client.json", &[]),
        format!("{}&client_id=x", request(&client, &[])),
    ] {
        let answer = browser.get(&format!("/oauth/authorize?{asked}")).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{asked}: {answer}");
        assert!(!answer.text().contains("evil.example"), "{answer}");
    }
}

/// A form counts with the session's own mark, from this very page, for what was asked and for the owner's own agents.
#[tokio::test]
async fn nobody_but_the_person_decides() {
    let (server, owner, browser, client) = scene().await;
    server.agent("@acme.bot").await;
    let page = browser.get(&format!("/oauth/authorize?{}", request(&client, &[("scope", "read")]))).await;
    let (asked, csrf) = (hidden(&page, "request"), hidden(&page, "csrf"));
    let good = [
        ("request", &*asked),
        ("csrf", &*csrf),
        ("agent", "@nick.bot"),
        ("scope", "read"),
        ("days", "1"),
        ("decision", "allow"),
    ];
    let with = |name: &'static str, value: &'static str| -> Vec<(&str, &str)> {
        good.iter().map(|(known, old)| (*known, if *known == name { value } else { *old })).collect()
    };
    for (name, value, status) in [
        ("csrf", "", 403),
        ("csrf", "0000", 403),
        ("agent", "@acme.bot", 400),
        ("agent", "@nick.nobody", 400),
        ("agent", "@nick.nick", 400),
        ("scope", "write", 400),
        ("scope", "", 400),
        ("days", "0", 400),
        ("days", "366", 400),
    ] {
        let answer = browser.form("/oauth/authorize", &with(name, value)).await;
        assert_eq!((answer.status, answer.header("location")), (status, None), "{name}={value}: {answer}");
    }
    let elsewhere = Browser {
        origin: "http://localhost:1".into(),
        caller: browser.caller.clone(),
        cookie: browser.cookie.clone(),
    };
    assert_eq!(elsewhere.form("/oauth/authorize", &good).await.status, 403);
    let headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Cookie", browser.cookie.as_deref().expect("a cookie")),
    ];
    let unsaid =
        browser.caller.request("POST", "/oauth/authorize", &headers, Some(encoded(&good).as_bytes()));
    assert_eq!(browser.caller.bytes(&unsaid).await.status, 403, "no Origin");
    let nobody = Browser::new(&server);
    assert_eq!(nobody.form("/oauth/authorize", &good).await.status, 403);
    let viewer = Browser::signed_in(&server, &owner, "viewer").await;
    assert_eq!(viewer.get(&format!("/oauth/authorize?{}", request(&client, &[]))).await.status, 403);
    assert_eq!(browser.form("/oauth/authorize", &good).await.status, 303);
    // Nothing was granted on the way.
    let listed = owner.get("/_admin/agents/@nick.bot/tokens").await.ok(200);
    assert_eq!(listed["tokens"].as_array().map(Vec::len), Some(1), "{listed}");
    // The audit has each answer that was sent from the page itself, and no other.
    let page = owner.get("/_admin/audit?limit=100").await.ok(200);
    let entries = page["entries"].as_array().expect("entries").iter();
    let mut statuses: Vec<_> = entries
        .filter(|entry| entry["operation"] == "oauth.decide")
        .map(|entry| entry["status"].as_u64().expect("a status"))
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400, 400, 400, 400, 400, 400, 400, 403, 403], "{page}");
}

/// A person may have a new agent made for the client.
#[tokio::test]
async fn a_new_agent_is_made_for_a_client() {
    let (server, owner, browser, client) = scene().await;
    let mut choices = ALLOW.to_vec();
    choices.push(("new_agent", "claude"));
    assert_eq!(decide(&browser, &request(&client, &[]), &choices).await.status, 303);
    let listed = owner.get("/_admin/agents/@nick.claude/tokens").await.ok(200);
    assert_eq!(listed["tokens"][0]["client"]["name"], "Client", "{listed}");
    assert_eq!(decide(&browser, &request(&client, &[]), &choices).await.status, 400, "it is taken");
    let loopback = registered(&server, "http://127.0.0.1/cb").await;
    let at_a_port = [("redirect_uri", "http://127.0.0.1:41234/cb")];
    assert_eq!(decide(&browser, &request(&loopback, &at_a_port), ALLOW).await.status, 303);
    assert!(REDIRECT.starts_with("https"));
}
