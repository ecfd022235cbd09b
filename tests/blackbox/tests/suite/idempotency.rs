//! Retries with a key (ASP-35, ASP-67, ASP-86): the first answer in every later state, one event, no second meaning.

use blackbox::{Agent, Response, Server, content_of};
use futures_util::future::join_all;
use serde_json::{Value, json};

async fn send(agent: &Agent, id: &str, body: &Value) -> Response {
    agent.call("POST", &format!("/sessions/{id}/messages"), &[], Some(body)).await
}

#[track_caller]
fn assert_replay(first: &Response, again: &Response) {
    assert!(!first.is_replayed(), "the first answer is no replay: {first}");
    assert_eq!(again.status, first.status, "{again}");
    assert_eq!(again.body, first.body, "the original answer, byte for byte");
    assert!(again.is_replayed(), "Idempotency-Replayed: true is there: {again}");
}

/// ASP-35: same key, same body: same id and sequence, one event.
#[tokio::test]
async fn asp_86_a_retry_gives_the_first_answer() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let body = json!({"content": "once", "idempotency_key": "k", "metadata": {"a": [1, 2]}});
    let first = send(&alice, &id, &body).await;
    first.ok(201);
    for _ in 0..3 {
        assert_replay(&first, &send(&alice, &id, &body).await);
    }
    assert_eq!(content_of(&bob.history(&id).await), ["once"]);
}

/// 2.5 #16: another body under the same key is a mistake, and nothing is written or echoed.
#[tokio::test]
async fn a_key_has_one_meaning() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let body = json!({"content": "the original text", "idempotency_key": "k"});
    let first = send(&alice, &id, &body).await;
    first.ok(201);
    for other in [
        json!({"content": "another", "idempotency_key": "k"}),
        json!({"content": "the original text", "metadata": {}, "idempotency_key": "k"}),
        json!({"content": [{"type": "text", "text": "the original text"}], "idempotency_key": "k"}),
        json!({"content": "", "idempotency_key": "k"}),
    ] {
        let refused = send(&alice, &id, &other).await;
        refused.assert_refused(409, "idempotency_key_reused");
        assert!(!refused.text().contains("the original text"), "the first body is not echoed: {refused}");
    }
    assert_replay(&first, &send(&alice, &id, &body).await);
    assert_eq!(content_of(&bob.history(&id).await), ["the original text"]);
}

/// D.9: bodies are compared as JSON values: order of members, spaces and escapes do not matter.
#[tokio::test]
async fn bodies_are_compared_as_values() {
    let (_server, alice, _, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    let texts: [&[u8]; 4] = [
        br#"{"content":"caf\u00e9","idempotency_key":"k","metadata":{"a":1,"b":[true,null]}}"#,
        br#"{"metadata":{"b":[true,null],"a":1},"idempotency_key":"k","content":"caf\u00e9"}"#,
        b"\n { \"idempotency_key\" : \"k\" ,\t\"content\":\"caf\xc3\xa9\",\r\n\"metadata\":{\"b\":[ true , null ],\"a\":1}}  ",
        br#"{"content":"\u0063af\u00E9","\u0069dempotency_key":"\u006b","metadata":{"a":1,"b":[true,null]}}"#,
    ];
    let first = alice.post_raw(&path, texts[0]).await;
    first.ok(201);
    for text in &texts[1..] {
        assert_replay(&first, &alice.post_raw(&path, text).await);
    }
    let reordered = br#"{"content":"caf\u00e9","idempotency_key":"k","metadata":{"a":1,"b":[null,true]}}"#;
    alice.post_raw(&path, reordered).await.assert_refused(409, "idempotency_key_reused");
}

/// The `Idempotency-Key` header counts when the body has none.
#[tokio::test]
async fn the_header_is_a_fallback() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    let call = |key: &'static str, body: Value| {
        let (alice, path) = (alice.clone(), path.clone());
        async move { alice.call("POST", &path, &[("Idempotency-Key", key)], Some(&body)).await }
    };
    let first = call("h", json!({"content": "one"})).await;
    first.ok(201);
    assert_replay(&first, &call("h", json!({"content": "one"})).await);
    call("h", json!({"content": "two"})).await.assert_refused(409, "idempotency_key_reused");
    // The value without the key is what is compared, so the same key in the body means the same request.
    assert_replay(&first, &send(&alice, &id, &json!({"content": "one", "idempotency_key": "h"})).await);
    // The body's key wins over the header's.
    let third = call("h", json!({"content": "three", "idempotency_key": "b"})).await;
    third.ok(201);
    assert_replay(&third, &send(&alice, &id, &json!({"content": "three", "idempotency_key": "b"})).await);
    assert_eq!(content_of(&bob.history(&id).await), ["one", "three"]);
    let long = "k".repeat(256);
    let refused =
        alice.call("POST", &path, &[("Idempotency-Key", &long)], Some(&json!({"content": "x"}))).await;
    refused.assert_refused(400, "invalid_idempotency_key");
}

/// A published client sends the header on every verb: the others do their work.
#[tokio::test]
async fn the_header_does_no_harm_elsewhere() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    let key = [("Idempotency-Key", "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d")];
    for (agent, verb) in
        [(&bob, "join"), (&bob, "join"), (&bob, "leave"), (&alice, "end"), (&alice, "reopen")]
    {
        let response = agent.call("POST", &format!("/sessions/{id}/{verb}"), &key, Some(&json!({}))).await;
        assert_eq!(response.ok(200), json!({"ok": true}), "{verb}");
    }
}

/// D.9: a retry is answered in every later state of session and sender, through a crash too.
#[tokio::test]
async fn a_retry_is_answered_in_every_later_state() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let carol = blackbox::enter(&server, &alice, &id, "@carol.bot").await;
    let body = json!({"content": "once", "idempotency_key": "k"});
    let first = send(&bob, &id, &body).await;
    first.ok(201);
    bob.leave(&id).await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    let other = json!({"content": "other", "idempotency_key": "k"});
    send(&bob, &id, &other).await.assert_refused(409, "idempotency_key_reused");
    alice.invite(&id, &["@bob.bot"]).await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    bob.join(&id).await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    server.crash().await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    alice.end(&id).await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    carol.reopen(&id, json!({"invite": ["@alice.bot"]})).await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    carol.invite(&id, &["@bob.bot"]).await;
    bob.join(&id).await;
    server.block(&carol, "@bob.bot").await;
    assert_replay(&first, &send(&bob, &id, &body).await);
    assert_eq!(content_of(&carol.history(&id).await), ["once"]);
}

/// D.9: a refused request leaves the key free, whatever refused it.
#[tokio::test]
async fn a_refused_request_leaves_the_key_free() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    let path = format!("/sessions/{id}/messages");
    alice
        .post(&path, json!({"content": 7, "idempotency_key": "k"}))
        .await
        .assert_refused(400, "invalid_content");
    alice.post(&path, json!({"content": "good", "idempotency_key": "k"})).await.ok(201);
    let early = json!({"content": "mine", "idempotency_key": "k"});
    send(&bob, &id, &early).await.assert_refused(409, "not_joined");
    bob.join(&id).await;
    assert!(!send(&bob, &id, &early).await.is_replayed());
    assert_eq!(content_of(&alice.history(&id).await), ["good", "mine"]);
    // The same for creation: refused for trust, then allowed.
    server.closed_agent("@closed.bot", &[]).await;
    let body = json!({"invite": ["@closed.bot"], "idempotency_key": "create"});
    alice.post("/sessions", body.clone()).await.assert_refused(404, "not_found");
    server.operator().patch("/_admin/agents/@closed.bot", json!({"policy": "open"})).await.ok(200);
    let made = alice.post("/sessions", body).await;
    made.ok(201);
    assert!(!made.is_replayed());
}

/// A key belongs to one sender in one session, and creation has its own.
#[tokio::test]
async fn a_key_is_scoped() {
    let (_server, alice, bob, first) = Server::with_pair().await;
    let second = blackbox::room(&[&alice, &bob]).await;
    for id in [&first, &second] {
        for agent in [&alice, &bob] {
            let sent = send(agent, id, &json!({"content": agent.handle, "idempotency_key": "k"})).await;
            sent.ok(201);
            assert!(!sent.is_replayed(), "{sent}");
        }
        assert_eq!(content_of(&alice.history(id).await), ["@alice.bot", "@bob.bot"]);
    }
    let made = alice.post("/sessions", json!({"topic": "k", "idempotency_key": "k"})).await;
    assert!(!made.is_replayed() && made.status == 201, "{made}");
    let made = bob.post("/sessions", json!({"topic": "another", "idempotency_key": "k"})).await;
    assert!(!made.is_replayed() && made.status == 201, "{made}");
}

/// Creation with a key makes one session, with or without message, and answers for it for ever.
#[tokio::test]
async fn creation_is_idempotent() {
    let (mut server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let body = json!({
        "invite": ["@bob.bot"], "initial_message": {"content": "FYI"}, "end_after_send": true, "idempotency_key": "k",
    });
    let first = alice.post("/sessions", body.clone()).await;
    assert_eq!(first.ok(201)["sequence"], 1);
    assert_replay(&first, &alice.post("/sessions", body.clone()).await);
    server.operator().patch("/_admin/agents/@bob.bot", json!({"policy": "allowlist"})).await.ok(200);
    server.crash().await;
    assert_replay(&first, &alice.post("/sessions", body).await);
    let other = json!({"invite": ["@bob.bot"], "idempotency_key": "k"});
    alice.post("/sessions", other).await.assert_refused(409, "idempotency_key_reused");
    assert_eq!(alice.get("/sessions").await.ok(200)["sessions"].as_array().map(Vec::len), Some(1));
    assert_eq!(bob.get("/sessions").await.ok(200)["sessions"].as_array().map(Vec::len), Some(1));
}

/// Many tries at the same time make one message, and all are told of the same.
#[tokio::test]
async fn racing_retries_make_one_message() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    for round in 0..20 {
        let body = json!({"content": format!("round {round}"), "idempotency_key": format!("k{round}")});
        let answers = join_all((0..8).map(|_| send(&alice, &id, &body))).await;
        assert_eq!(answers.iter().filter(|answer| !answer.is_replayed()).count(), 1);
        for answer in &answers {
            assert_eq!(answer.ok(201), answers[0].json());
        }
    }
    assert_eq!(content_of(&bob.history(&id).await).len(), 20);
    let body = json!({"topic": "one", "idempotency_key": "create"});
    let made = join_all((0..8).map(|_| alice.post("/sessions", body.clone()))).await;
    assert!(made.iter().all(|answer| answer.ok(201) == made[0].json()));
}

/// Bounds of a key: 1 to 255 characters, a string; absent keys make two messages of two sends.
#[tokio::test]
async fn keys_have_bounds() {
    let (_server, alice, _, id) = Server::with_pair().await;
    for key in [json!(""), json!("k".repeat(256)), json!(7), json!(["k"]), json!({})] {
        let body = json!({"content": "x", "idempotency_key": key});
        send(&alice, &id, &body).await.assert_refused(400, "invalid_idempotency_key");
    }
    for key in [json!("k"), json!("k".repeat(255)), json!("\u{e9}".repeat(255)), json!("a b/c\u{1f600}")] {
        send(&alice, &id, &json!({"content": "x", "idempotency_key": key})).await.ok(201);
    }
    let (one, two) = (alice.say(&id, "same").await, alice.say(&id, "same").await);
    assert_eq!(two, one + 1);
}

/// Order of checks: a stranger's key is not even looked at.
#[tokio::test]
async fn keys_are_no_oracle_for_strangers() {
    let (server, alice, _, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    let body = json!({"content": "once", "idempotency_key": "k"});
    send(&alice, &id, &body).await.ok(201);
    send(&carol, &id, &body).await.assert_refused(404, "not_found");
}
