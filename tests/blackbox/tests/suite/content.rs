//! What a message may hold (ASP-36 to ASP-38, ASP-54, ASP-95, ASP-96, ASP-98).

use blackbox::Server;
use serde_json::{Value, json};

/// ASP-38: the four parts, with all their members, kept as they were sent.
#[tokio::test]
async fn asp_95_the_four_parts_are_taken() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let good = [
        json!("plain"),
        json!([{"type": "text", "text": "one"}]),
        json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        json!([{"type": "image", "url": "https://example.com/a.png"}]),
        json!([{"type": "image", "data_uri": "data:image/png;base64,iVBORw0KGgo=", "mime_type": "image/png", "name": "a"}]),
        json!([{"type": "file", "url": "https://example.com/q3.pdf", "name": "q3.pdf", "mime_type": "application/pdf", "size": 0}]),
        json!([{"type": "file", "url": "https://example.com/q3.pdf"}]),
        json!([{"type": "data", "data": {"action": "review", "nested": {"a": [1, null, {"x": {}}]}, "type": "text"}}]),
        json!([{"type": "data", "data": {}}]),
        json!([
            {"type": "text", "text": "Here's the report."},
            {"type": "file", "url": "https://example.com/q3.pdf", "name": "q3.pdf", "mime_type": "application/pdf"},
            {"type": "data", "data": {"action": "review_complete", "doc_id": "abc123"}},
        ]),
    ];
    for content in &good {
        alice.say(&id, content.clone()).await;
    }
    let log = bob.history(&id).await;
    let found: Vec<_> = log[2..].iter().map(|event| event["payload"]["content"].clone()).collect();
    assert_eq!(found, good, "ASP-37: kept in the form sent");
}

/// ASP-38, D.9: parts are closed objects, and nothing is empty.
#[tokio::test]
async fn wrong_content_is_refused() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let wrong = [
        json!(""),
        json!([]),
        json!({"type": "text", "text": "x"}),
        json!([{"text": "x"}]),
        json!([{"type": "text", "text": "x", "extra": 1}]),
        json!([{"type": "image"}]),
        json!([{"type": "file", "url": "https://example.com/a", "size": -1}]),
        json!([{"type": "file", "url": "data:text/plain,hello"}]),
        json!([{"type": "image", "url": "JavaScript:alert(1)"}]),
        json!([{"type": "data", "data": []}]),
        json!([{"type": "text", "text": "good"}, {"type": "text", "text": ""}]),
    ];
    for content in &wrong {
        alice
            .post(&format!("/sessions/{id}/messages"), json!({ "content": content }))
            .await
            .assert_refused(400, "invalid_content");
        let body = json!({"initial_message": {"content": content}});
        let refused = alice.post("/sessions", body).await;
        refused.assert_refused_any(400, &["invalid_content", "invalid_initial_message"]);
    }
    alice.post(&format!("/sessions/{id}/messages"), json!({})).await.assert_refused(400, "invalid_content");
    assert_eq!(bob.history(&id).await.len(), 2);
}

/// ASP-36, ASP-98: metadata is an object or absent, and comes back as given; none is invented.
#[tokio::test]
async fn metadata_is_an_object() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    for metadata in [json!("x"), json!(7), json!([]), json!(true)] {
        alice.post(&path, json!({"content": "x", "metadata": metadata})).await.refusal_code(400);
    }
    let given = [json!({}), json!({"a": {"b": [1, 2, {"c": null}]}, "": ""})];
    for metadata in &given {
        alice.post(&path, json!({"content": "x", "metadata": metadata})).await.ok(201);
    }
    alice.say(&id, "without").await;
    let log = bob.history(&id).await;
    let found: Vec<Option<&Value>> = log[2..].iter().map(|event| event["payload"].get("metadata")).collect();
    assert_eq!(found, [Some(&given[0]), Some(&given[1]), None]);
}

/// ASP-96: a payload beyond the inline limit travels by reference; nobody fetches the reference.
#[tokio::test]
async fn asp_96_references_are_not_fetched() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/secret", listener.local_addr().expect("an address"));
    let content =
        json!([{"type": "file", "url": url, "size": 5_000_000_000_i64}, {"type": "image", "url": url}]);
    alice.say(&id, content.clone()).await;
    assert_eq!(bob.history(&id).await[2]["payload"]["content"], content);
    let visited = tokio::select! {
        biased;
        _ = listener.accept() => true,
        () = std::future::ready(()) => false,
    };
    assert!(!visited, "the server fetches nothing");
}

/// The same text as string and as one text part stays in the form it was sent.
#[tokio::test]
async fn a_string_stays_a_string() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "x").await;
    alice.say(&id, json!([{"type": "text", "text": "x"}])).await;
    let log = bob.history(&id).await;
    assert!(log[2]["payload"]["content"].is_string());
    assert!(log[3]["payload"]["content"].is_array());
}
