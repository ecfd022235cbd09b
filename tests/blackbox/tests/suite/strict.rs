//! Strict handling: whoever debugs a client has members refused that are ignored otherwise (D.9).

use blackbox::Server;
use serde_json::json;

#[tokio::test]
async fn an_unknown_member_is_ignored_or_refused_as_the_client_prefers() {
    let (_server, alice, _, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}/messages");
    let body = json!({"content": "x", "sender": "@bob.bot", "sequence": 7});
    alice.post(&path, body.clone()).await.ok(201);
    let refused = alice.post(&format!("{path}?strict=1"), body.clone()).await;
    refused.assert_refused(400, "unknown_member");
    assert!(refused.json()["error"]["message"].as_str().expect("a text").contains("`sender`"));
    assert_eq!(refused.header("preference-applied"), None);
    let prefer = [("Prefer", "handling=strict")];
    let refused = alice.call("POST", &path, &prefer, Some(&body)).await;
    refused.assert_refused(400, "unknown_member");
    assert_eq!(refused.header("preference-applied"), Some("handling=strict"));
    let taken =
        alice.call("POST", &path, &prefer, Some(&json!({"content": "x", "metadata": {"a": {"b": 1}}}))).await;
    taken.ok(201);
    assert_eq!(taken.header("preference-applied"), Some("handling=strict"));
    let nested = json!({"initial_message": {"content": "x", "sender": "@bob.bot"}});
    let refused = alice.post("/sessions?strict=1", nested).await;
    refused.assert_refused(400, "unknown_member");
    assert!(
        refused.json()["error"]["message"].as_str().expect("a text").contains("`initial_message.sender`")
    );
}

/// In every room, each in its own form.
#[tokio::test]
async fn every_room_refuses_what_it_does_not_know() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let channel = alice.post("/agent-channel", json!({"title": "t"})).await.ok(200);
    let event = format!("/agent-channel/{}/event", channel["id"].as_str().expect("an id"));
    for (path, body) in [
        ("/agent-channel", json!({"title": "t", "titel": "u"})),
        (event.as_str(), json!({"kind": "log", "payload": {"any": "thing"}, "id": 9})),
        ("/contacts", json!({"to": "@bob.bot", "from": "@alice.bot"})),
        ("/inbox/ack", json!({"cursor": "x", "kinds": []})),
    ] {
        let refused = alice.post(&format!("{path}?strict=1"), body.clone()).await;
        assert_eq!(refused.status, 400, "{path}: {refused}");
        assert!(refused.to_string().contains("unknown_member"), "{path}: {refused}");
    }
    let operator = server.operator();
    let made = json!({"handle": "@new.bot", "policy": "open", "colour": "red"});
    operator.post("/_admin/agents?strict=1", made).await.assert_refused(400, "unknown_member");
}
