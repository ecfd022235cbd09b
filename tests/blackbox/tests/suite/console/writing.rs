//! What a write with a cookie needs, and what is kept of writes in the names of agents.

use std::time::Duration;

use blackbox::{Connection, Server, eventually, room, strike_after};
use serde_json::{Value, json};

use super::sign_in;

/// Without our own origin and the session's secret nothing is written with a cookie.
#[tokio::test]
async fn a_write_comes_from_our_own_page() {
    let server = Server::start().await;
    let browser = sign_in(&server, &server.owner("nick").await, json!({})).await;
    let body = json!({"handle": "@nick.new"});
    let (cookie, csrf, own) = (&*browser.cookie, &*browser.csrf, &*browser.origin);
    let other_port = "http://127.0.0.1:1";
    let refused: [&[(&str, &str)]; 6] = [
        &[],
        &[("Origin", own)],
        &[("X-Plenary-CSRF", csrf)],
        &[("Origin", own), ("X-Plenary-CSRF", "00")],
        &[("Origin", other_port), ("X-Plenary-CSRF", csrf)],
        &[("Origin", "http://localhost:1"), ("X-Plenary-CSRF", csrf)],
    ];
    for headers in refused {
        let mut all = vec![("Cookie", cookie)];
        all.extend_from_slice(headers);
        let answer = browser.caller.call("POST", "/_admin/agents", &all, Some(&body)).await;
        answer.assert_refused(403, "csrf");
    }
    let foreign = [("Cookie", cookie), ("Origin", "https://evil.example"), ("X-Plenary-CSRF", csrf)];
    let answer = browser.caller.call("POST", "/_admin/agents", &foreign, Some(&body)).await;
    answer.assert_refused(403, "foreign_origin");
    browser.get("/_admin/agents/@nick.new").await.assert_refused(404, "not_found");
    browser.post("/_admin/agents", body).await.ok(201);
    let link = json!({"link": "plk_00.~nick"});
    let stranger = server.stranger();
    stranger
        .call("POST", "/console/sessions", &[("Origin", other_port)], Some(&link))
        .await
        .assert_refused(403, "csrf");
}

/// A viewer reads what the owner reads, and writes nothing but its own end.
#[tokio::test]
async fn a_viewer_only_reads() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (bot, other) = (server.agent("@nick.bot").await, server.agent("@nick.other").await);
    let id = room(&[&bot, &other]).await;
    let viewer = sign_in(&server, &owner, json!({"role": "viewer"})).await;
    assert_eq!(viewer.session["role"], "viewer");
    viewer.get("/_admin/agents").await.ok(200);
    viewer.get_as("@nick.bot", &format!("/sessions/{id}/events")).await.ok(200);
    let message = json!({"content": "x"});
    let path = format!("/sessions/{id}/messages");
    viewer.post_as("@nick.bot", &path, message.clone()).await.assert_refused(403, "read_only");
    viewer.post("/_admin/agents", json!({"handle": "@nick.new"})).await.assert_refused(403, "read_only");
    viewer.post("/console/links", json!({})).await.assert_refused(403, "read_only");
    viewer.delete("/_admin/agents/@nick.bot").await.assert_refused(403, "read_only");
    // An instance of an agent answers as the agent, although it attaches with a GET.
    for signed_in in [&viewer, &sign_in(&server, &owner, json!({})).await] {
        let headers = [
            ("Cookie", &*signed_in.cookie),
            ("X-ASP-Agent", "@nick.bot"),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let path = "/agent/nick.bot/attach?purpose=mine";
        let answer = signed_in.caller.call("GET", path, &headers, None).await;
        assert!(answer.status == 403 && answer.text().contains("token_required"), "{answer}");
    }
    let mine = sign_in(&server, &owner, json!({})).await;
    viewer.delete(&format!("/console/sessions/{}", mine.id())).await.assert_refused(403, "read_only");
    assert_eq!(viewer.delete(&format!("/console/sessions/{}", viewer.id())).await.status, 204);
    bot.get(&format!("/sessions/{id}")).await.ok(200);
}

/// Beside the cookie `X-ASP-Agent` names an agent of the owner, and no other; nothing is marked by reading so.
#[tokio::test]
async fn a_person_looks_and_speaks_as_an_agent_of_its_own() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (bot, bob) = (server.agent("@nick.bot").await, server.agent("@bob.bot").await);
    let id = room(&[&bob, &bot]).await;
    let sent = bob.post(&format!("/sessions/{id}/messages"), json!({"content": "hello"})).await.ok(201);
    let browser = sign_in(&server, &owner, json!({})).await;
    let inbox = browser.get_as("@nick.bot", "/inbox").await.ok(200);
    assert_eq!(inbox["unread"], bot.get("/inbox").await.ok(200)["unread"]);
    let events = browser.get_as("@nick.bot", &format!("/sessions/{id}/events")).await.ok(200);
    assert_eq!(events, bot.get(&format!("/sessions/{id}/events")).await.ok(200));
    let status = format!("/sessions/{id}/messages/{}/status", sent["sequence"]);
    let recipient = bob.get(&status).await.ok(200)["recipients"][0].clone();
    assert!(
        !["seen", "shown", "in_context", "delivered"]
            .contains(&recipient["state"].as_str().unwrap_or_default()),
        "{recipient}"
    );

    for foreign in ["@bob.bot", "@nick.nobody", "nick", "@bob.nobody"] {
        browser.get_as(foreign, "/inbox").await.assert_refused(403, "foreign_agent");
        browser.post_as(foreign, "/sessions", json!({})).await.assert_refused(403, "foreign_agent");
    }
    // What takes the agent's place is for the agent.
    browser.post_as("@nick.bot", "/auth/ticket", json!({})).await.assert_refused(403, "token_required");
    let headers = [("Cookie", &*browser.cookie), ("X-ASP-Agent", "@nick.bot")];
    let refused = browser.caller.try_socket("/connect", &headers, blackbox::Pongs::Answer).await;
    let Err(refused) = refused else { panic!("there is a socket") };
    refused.assert_refused(403, "token_required");
}

fn entries(page: &Value) -> Vec<(String, String, u64)> {
    let text = |entry: &Value, name: &str| entry[name].as_str().expect("a text").to_owned();
    let all = page["entries"].as_array().expect("entries").iter();
    all.map(|entry| {
        (text(entry, "as"), text(entry, "operation"), entry["status"].as_u64().expect("a status"))
    })
    .collect()
}

/// Each write in the name of an agent has its entry, those in a person's own name have none, and owners see their own.
#[tokio::test]
async fn writes_in_the_names_of_agents_are_kept() {
    let mut server = Server::start().await;
    let (nick, acme) = (server.owner("nick").await, server.owner("acme").await);
    let (bot, bob) = (server.agent("@nick.bot").await, server.agent("@bob.bot").await);
    let id = room(&[&bob, &bot]).await;
    let browser = sign_in(&server, &nick, json!({})).await;
    let path = format!("/sessions/{id}/messages");
    let sent = browser.post_as("@nick.bot", &path, json!({"content": "by hand"})).await.ok(201);
    browser.post_as("@nick.bot", &path, json!({"content": 7})).await.refusal_code(400);
    browser.post_as("@nick.nick", "/sessions", json!({"topic": "my own"})).await.ok(201);
    browser.get_as("@nick.bot", "/sessions").await.ok(200);
    let events = bob.get(&format!("/sessions/{id}/events")).await.ok(200);
    let last = events["events"].as_array().and_then(|events| events.last().cloned()).expect("an event");
    assert_eq!((&last["payload"]["sender"], &last["sequence"]), (&json!("@nick.bot"), &sent["sequence"]));
    server.crash().await;
    let (nick, acme, operator) =
        (server.bearer(nick.token()), server.bearer(acme.token()), server.operator());
    let page = nick.get("/_admin/audit").await.ok(200);
    let expected = |status| ("@nick.bot".to_owned(), "session.send".to_owned(), status);
    assert_eq!(entries(&page), [expected(400), expected(201)], "the newest first: {page}");
    let first = &page["entries"][1];
    assert_eq!((&first["person"], &first["session_id"]), (&json!("@nick.nick"), &json!(browser.id())));
    assert_eq!(first["path"], path.as_str());
    assert_eq!(entries(&operator.get("/_admin/audit").await.ok(200)), entries(&page));
    assert!(entries(&acme.get("/_admin/audit").await.ok(200)).is_empty());
    acme.get("/_admin/audit?owner=nick").await.assert_refused(404, "not_found");
    let newest = nick.get("/_admin/audit?limit=1").await.ok(200);
    assert_eq!(entries(&newest), [expected(400)]);
    let next = newest["next_cursor"].as_str().expect("there is more");
    let rest = nick.get(&format!("/_admin/audit?limit=1&cursor={next}")).await.ok(200);
    assert_eq!((entries(&rest), &rest["next_cursor"]), (vec![expected(201)], &Value::Null));
}

/// Whoever closes the connection while a write in an agent's name is carried out leaves its entry all the same.
#[tokio::test]
async fn a_write_whose_connection_ends_has_its_entry() {
    let server = Server::start().await;
    let nick = server.owner("nick").await;
    let (bot, bob) = (server.agent("@nick.bot").await, server.agent("@bob.bot").await);
    let id = room(&[&bob, &bot]).await;
    let browser = sign_in(&server, &nick, json!({})).await;
    let path = format!("/sessions/{id}/messages");
    let headers = [
        ("Cookie", &*browser.cookie),
        ("Origin", &*browser.origin),
        ("X-Plenary-CSRF", &*browser.csrf),
        ("X-ASP-Agent", "@nick.bot"),
    ];
    let body = json!({"content": "by hand"}).to_string();
    let request = browser.caller.request("POST", &path, &headers, Some(body.as_bytes()));
    for nth in 0..40 {
        let place = browser.caller.address().place();
        let mut connection = Connection::open(place).await.expect("a connection");
        connection.send(&request).await.expect("the request is sent");
        strike_after(Duration::from_micros(nth * 250)).await;
    }
    browser.post_as("@nick.bot", &path, json!({"content": "the last"})).await.ok(201);
    let counts = eventually("as many entries as messages", || async {
        let page = nick.get("/_admin/audit?limit=100").await.ok(200);
        let noted = entries(&page).into_iter().filter(|(_, _, status)| *status == 201).count();
        let events = bob.get(&format!("/sessions/{id}/events?limit=100")).await.ok(200);
        let events = events["events"].as_array().expect("events").clone();
        let sent = events.iter().filter(|event| event["payload"]["sender"] == "@nick.bot").count();
        (noted == sent).then_some((noted, sent))
    })
    .await;
    assert!(counts.0 > 0, "{counts:?}");
}
