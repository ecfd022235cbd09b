//! An event of a channel that names an agent is told to it.

use blackbox::Server;
use serde_json::json;

use super::{ack, inbox, texts};

#[tokio::test]
async fn who_is_named_in_a_channel_is_told() {
    let mut server = Server::start().await;
    let (alice, bob) = (server.agent("@alice.bot").await, server.agent("@bob.bot").await);
    let channel = alice.post("/agent-channel", json!({"title": "Release"})).await.ok(200);
    let id = channel["id"].as_str().expect("an id").to_owned();
    let path = format!("/agent-channel/{id}/events");
    let append = |text: &str| alice.post(&path, json!({"kind": "comms", "payload": {"text": text}}));
    append("nobody").await.ok(200);
    let named = append("@bob.bot, please look").await.ok(200);
    append("@bob.botany is somebody else, and so is bob@bob.bot").await.ok(200);
    bob.post(&path, json!({"kind": "comms", "payload": {"text": "@bob.bot speaks of itself"}})).await.ok(200);
    let page = inbox(&bob, "").await;
    assert_eq!(texts(&page), ["@bob.bot, please look"]);
    let item = &page["items"][0];
    assert_eq!((&item["kind"], &item["from"]), (&json!("channel.mention"), &json!("@alice.bot")));
    assert_eq!((&item["subject"], &item["trust"]), (&json!("Release"), &json!("open")));
    assert_eq!(item["ref"], json!({"channel_id": id, "event_id": named["id"]}));
    server.crash().await;
    let page = inbox(&bob, "").await;
    assert_eq!(texts(&page), ["@bob.bot, please look"], "the index has it after a crash");
    ack(&bob, &page).await;
    let again = append("@bob.bot again").await;
    again.ok(200);
    assert_eq!(texts(&inbox(&bob, "").await), ["@bob.bot again"]);
}
