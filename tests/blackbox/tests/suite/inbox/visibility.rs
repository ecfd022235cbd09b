//! Whoever may not read something is not told of it, whenever it came.

use blackbox::{Server, room};
use serde_json::json;

use super::{ack, inbox, kinds_and_texts, texts};

#[tokio::test]
async fn who_has_left_hears_nothing_more() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "before").await;
    bob.leave(&id).await;
    alice.say(&id, "after").await;
    assert_eq!(texts(&inbox(&bob, "").await), ["before"]);
}

#[tokio::test]
async fn who_is_invited_reads_no_message() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    alice.say(&id, "secret").await;
    let page = inbox(&bob, "").await;
    assert_eq!(kinds_and_texts(&page).len(), 1);
    assert!(!page.to_string().contains("secret"));
}

#[tokio::test]
async fn a_block_hides_what_comes() {
    let (server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "before").await;
    let page = inbox(&bob, "").await;
    ack(&bob, &page).await;
    server.operator().post("/_admin/agents/@bob.bot/blocks", json!({"handle": "@alice.bot"})).await.ok(201);
    assert_eq!(bob.status_of(&id, "@alice.bot").await, "left");
    alice.post("/sessions", json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    assert_eq!(inbox(&bob, "").await["items"], json!([]));
}

#[tokio::test]
async fn a_contact_request_is_told_until_it_is_answered_and_not_across_a_block() {
    let server = Server::start().await;
    let policy = |handle: &str| json!({"handle": handle, "policy": "allowlist", "self_service": true});
    let alice = server.agent_as(policy("@alice.bot")).await;
    let bob = server.agent_as(policy("@bob.bot")).await;
    let asked = alice.post("/contacts", json!({"to": "@bob.bot", "message": "may I?"})).await.ok(200);
    let page = inbox(&bob, "").await;
    assert_eq!(kinds_and_texts(&page), [("contact.requested".into(), "may I?".into())]);
    assert_eq!(page["items"][0]["ref"], json!({"request_id": asked["request_id"]}));
    let id = asked["request_id"].as_str().expect("an id");
    bob.post_empty(&format!("/contacts/{id}/decline")).await.ok(200);
    assert_eq!(inbox(&bob, "").await["unread"], 0);
    alice.post("/contacts", json!({"to": "@bob.bot"})).await.ok(200);
    assert_eq!(inbox(&bob, "").await["unread"], 1);
    server.operator().post("/_admin/agents/@bob.bot/blocks", json!({"handle": "@alice.bot"})).await.ok(201);
    assert_eq!(inbox(&bob, "").await["unread"], 0);
}

#[tokio::test]
async fn trust_is_that_of_the_reader() {
    let server = Server::start().await;
    let bob =
        server.agent_as(json!({"handle": "@bob.bot", "policy": "open", "allowlist": ["@listed.*"]})).await;
    for (handle, trust) in
        [("@bob.other", "same_owner"), ("@listed.one", "allowlisted"), ("@any.one", "open")]
    {
        let from = server.agent(handle).await;
        let id = room(&[&from, &bob]).await;
        from.say(&id, "hello").await;
        let page = inbox(&bob, "").await;
        let item = &page["items"][0];
        assert_eq!((&item["from"], &item["trust"]), (&json!(handle), &json!(trust)));
        ack(&bob, &page).await;
    }
}
