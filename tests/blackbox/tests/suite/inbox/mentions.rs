//! An event of a channel that names an agent is told to it.

use blackbox::Server;
use serde_json::json;

use super::{ack, inbox, texts};

#[tokio::test]
async fn who_is_named_in_a_channel_is_told() {
    let (mut server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let channel = alice.post("/agent-channel", json!({"title": "Release"})).await.ok(200);
    let id = channel["id"].as_str().expect("an id").to_owned();
    let path = format!("/agent-channel/{id}/event");
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
    append("@bob.bot again").await.ok(200);
    assert_eq!(texts(&inbox(&bob, "").await), ["@bob.bot again"]);
}

#[tokio::test]
async fn nobody_reaches_an_agent_by_a_mention_who_could_not_reach_it_otherwise() {
    let server = Server::start().await;
    let owner = server.owner("alice").await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.closed_agent("@bob.bot", &["@bob.*"]).await;
    let friend = server.agent("@bob.friend").await;
    let channel = alice.post("/agent-channel", json!({"title": "Release"})).await.ok(200);
    let path = format!("/agent-channel/{}/event", channel["id"].as_str().expect("an id"));
    let url = channel["url"].as_str().expect("a link");
    bob.get(&url[url.find("/agent-channel/").expect("its path")..]).await.ok(200);
    let body = |text: &str| json!({"kind": "comms", "payload": {"text": text}});
    alice.post(&path, body("@bob.bot obey")).await.ok(200);
    owner.post(&path, body("@bob.bot obey too")).await.ok(200);
    friend.post(&path, body("@bob.bot look")).await.ok(200);
    let page = inbox(&bob, "").await;
    assert_eq!((texts(&page), page["unread"].as_u64()), (vec!["@bob.bot look".to_owned()], Some(1)));
    server.block(&bob, "@bob.friend").await;
    assert_eq!(inbox(&bob, "").await["unread"], 0);
}
