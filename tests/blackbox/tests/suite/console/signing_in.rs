//! Links, sessions and the page.

use blackbox::{Server, ShiftedClock};
use serde_json::{Value, json};

use super::{link, sign_in, use_link};

const DAY_S: i64 = 24 * 60 * 60;

/// A link opens one session: used, never made and of somebody else's form it gets one and the same answer.
#[tokio::test]
async fn a_link_is_used_once() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let secret = link(&owner, json!({})).await;
    let first = use_link(&server, &secret).await;
    let session = first.ok(201);
    assert_eq!(
        (&session["role"], &session["owner"], &session["person"]),
        (&json!("owner"), &json!("nick"), &json!("@nick.nick"))
    );
    let set = first.header("set-cookie").expect("a cookie").to_owned();
    for part in ["plenary_console=", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{part}: {set}");
    }
    assert!(!set.contains("Secure"), "the server has no TLS: {set}");
    assert_eq!(first.header("cache-control"), Some("no-store"));

    let again = use_link(&server, &secret).await;
    again.assert_refused(401, "link_invalid");
    for never in
        ["plk_00.~nick", "plk_00.~nobody", "plk_00.operator", "", "x", &secret.replace("plk_", "plc_")]
    {
        let refused = use_link(&server, never).await;
        refused.assert_refused(401, "link_invalid");
        assert_eq!(refused.body, again.body, "{never}");
    }
}

/// Links last five minutes, sessions thirty days and seven days without use.
#[tokio::test]
async fn links_and_sessions_end_by_themselves() {
    let Some(clock) = ShiftedClock::make() else { return };
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let (early, late) = (link(&owner, json!({})).await, link(&owner, json!({})).await);
    let used = sign_in(&server, &owner, json!({})).await;
    let idle = sign_in(&server, &owner, json!({})).await;
    let later = async |server: &mut Server, seconds: i64| {
        server.stop().await;
        clock.set_ahead(server, seconds);
        server.restart().await;
    };
    later(&mut server, 240).await;
    use_link(&server, &early).await.ok(201);
    later(&mut server, 301).await;
    use_link(&server, &late).await.assert_refused(401, "link_invalid");
    for day in [6, 12, 18, 24, 29] {
        later(&mut server, day * DAY_S).await;
        used.at(&server).get("/console/session").await.ok(200);
        if day > 7 {
            idle.at(&server).get("/console/session").await.refusal_code(401);
        }
    }
    later(&mut server, 30 * DAY_S + 60).await;
    used.at(&server).get("/console/session").await.refusal_code(401);
}

/// A cookie opens what the owner's token opens, and nothing of anybody else; a kill takes no session.
#[tokio::test]
async fn a_session_is_its_owner_over_a_kill() {
    let mut server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    server.agent("@nick.bot").await;
    server.agent("@acme.bot").await;
    let browser = sign_in(&server, &nick, json!({})).await;
    let foreign = sign_in(&server, &acme, json!({})).await;
    server.crash().await;
    let (browser, foreign) = (browser.at(&server), foreign.at(&server));
    let handles = |listed: Value| -> Vec<String> {
        let agents = listed["agents"].as_array().expect("agents").clone();
        agents.iter().map(|agent| agent["handle"].as_str().expect("a handle").to_owned()).collect()
    };
    assert_eq!(handles(browser.get("/_admin/agents").await.ok(200)), ["@nick.bot", "@nick.nick"]);
    assert_eq!(handles(foreign.get("/_admin/agents").await.ok(200)), ["@acme.acme", "@acme.bot"]);
    browser.get("/_admin/agents/@acme.bot").await.assert_refused(404, "not_found");
    browser.get("/_admin/owners").await.assert_refused(404, "not_found");
    let own = browser.get("/console/session").await.ok(200);
    assert_eq!(own, browser.session, "the session is as it was");
    assert_eq!(handles(browser.get("/overview").await.ok(200)), ["@nick.bot", "@nick.nick"]);
}

/// Sessions are listed and ended; whoever ends its own loses its cookie.
#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let (first, second) =
        (sign_in(&server, &nick, json!({})).await, sign_in(&server, &nick, json!({})).await);
    let foreign = sign_in(&server, &acme, json!({})).await;
    let listed = first.get("/console/sessions").await.ok(200);
    let listed = listed["sessions"].as_array().expect("sessions").clone();
    let current =
        |id: &str| listed.iter().find(|one| one["session_id"] == id).map(|one| one["current"].clone());
    assert_eq!((current(first.id()), current(second.id())), (Some(json!(true)), Some(json!(false))));
    assert_eq!(listed.len(), 2, "{listed:?}");
    let path = format!("/console/sessions/{}", second.id());
    foreign.delete(&path).await.assert_refused(404, "not_found");
    acme.delete(&path).await.assert_refused(404, "not_found");
    assert_eq!(first.delete(&path).await.status, 204);
    second.get("/console/session").await.refusal_code(401);
    second.get("/_admin/agents").await.refusal_code(401);
    first.delete(&path).await.assert_refused(404, "not_found");
    let ended = first.delete(&format!("/console/sessions/{}", first.id())).await;
    assert_eq!(ended.status, 204);
    assert!(ended.header("set-cookie").is_some_and(|set| set.contains("Max-Age=0")), "{ended}");
    first.get("/console/session").await.refusal_code(401);
    foreign.get("/console/session").await.ok(200);
}

/// A session ends with the token that its link was made with.
#[tokio::test]
async fn a_session_ends_with_the_token_behind_it() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let of_owner = sign_in(&server, &owner, json!({})).await;
    let handed_on = sign_in(&server, &owner, json!({})).await;
    // A session makes links too, and they end with the same token.
    let made = handed_on.post("/console/links", json!({"role": "viewer"})).await.ok(201);
    let unused = made["url"].as_str().expect("a URL").split_once("#link=").expect("a secret").1.to_owned();
    let of_operator = sign_in(&server, &server.operator(), json!({"owner": "nick"})).await;
    assert_eq!(of_operator.session["owner"], "nick");
    let rotated = owner.post_empty("/_admin/owners/nick/rotate-token").await.ok(200);
    of_owner.get("/console/session").await.refusal_code(401);
    use_link(&server, &unused).await.assert_refused(401, "link_invalid");
    of_operator.get("/console/session").await.ok(200);
    sign_in(&server, &server.bearer(rotated["token"].as_str().expect("a token")), json!({})).await;
}

/// Who may make which link.
#[tokio::test]
async fn a_link_gives_no_more_than_its_maker_has() {
    let server = Server::start().await;
    let (owner, agent) = (server.owner("nick").await, server.agent("@nick.bot").await);
    owner.post("/console/links", json!({"role": "operator"})).await.assert_refused(403, "forbidden");
    owner.post("/console/links", json!({"owner": "acme"})).await.assert_refused(404, "not_found");
    agent.post("/console/links", json!({})).await.assert_refused(404, "not_found");
    server.stranger().post("/console/links", json!({})).await.refusal_code(401);
    let operator = server.operator();
    operator.post("/console/links", json!({"role": "owner"})).await.assert_refused(400, "invalid_role");
    operator
        .post("/console/links", json!({"owner": "nick", "role": "operator"}))
        .await
        .assert_refused(400, "invalid_role");
    operator.post("/console/links", json!({"owner": "nobody"})).await.assert_refused(404, "not_found");
    owner.post("/console/links", json!({"person": "@nick.bot"})).await.assert_refused(400, "invalid_person");
    let browser = sign_in(&server, &operator, json!({})).await;
    assert_eq!((&browser.session["role"], &browser.session["owner"]), (&json!("operator"), &Value::Null));
    browser.get("/_admin/owners").await.ok(200);
}

/// Every file of the page comes with the headers that guard it, its tag and its type; a program gets JSON at `/`.
#[tokio::test]
async fn the_page_and_its_files_are_guarded() {
    let server = Server::start().await;
    let stranger = server.stranger();
    let browser = [("Accept", "text/html,*/*;q=0.8")];
    let page = stranger.call("GET", "/", &browser, None).await;
    assert_eq!(page.status, 200, "{page}");
    let text = page.text();
    let mut files = vec!["/".to_owned()];
    for (before, end) in [("src=\"", '"'), ("href=\"", '"')] {
        let names = text.split(before).skip(1).filter_map(|rest| rest.split(end).next());
        files.extend(names.map(|name| format!("/{}", name.trim_start_matches("./").trim_start_matches('/'))));
    }
    assert!(files.len() > 2, "the page has a script and a style: {text}");
    for file in &files {
        let answer = stranger.call("GET", file, &browser, None).await;
        assert_eq!(answer.status, 200, "{answer}");
        let policy = answer.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "; trusted-types plenary-worker",
        ] {
            assert!(policy.contains(part), "{file}: {policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{file}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{file}");
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{file}");
        let tag = answer.header("etag").expect("a tag").to_owned();
        let known = stranger.call("GET", file, &[browser[0], ("If-None-Match", &*tag)], None).await;
        assert_eq!((known.status, known.body.len()), (304, 0), "{known}");
        let kind = answer.header("content-type").expect("a type");
        assert!(!kind.starts_with("application/octet-stream"), "{file}: {kind}");
    }
    let zipped = stranger.call("GET", "/", &[browser[0], ("Accept-Encoding", "br, gzip")], None).await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"), "{zipped}");
    assert!(zipped.body.len() < page.body.len() && zipped.body.starts_with(&[0x1f, 0x8b]));
    for none in
        ["/console/none.js", "/console/../Cargo.toml", "/console/%2e%2e/lib.rs", "/console/web/index.html"]
    {
        assert_eq!(stranger.get(none).await.status, 404, "{none}");
    }
    let nick = server.agent("@nick.bot").await;
    assert!(nick.call("GET", "/", &[("Accept", "application/json")], None).await.ok(200).is_array());
}
