//! Frames that are still retained stand in the inbox of the agents that they are for.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::speak::{advisory, submit_to};

async fn inbox(agent: &Agent, query: &str) -> Value {
    agent.get(&format!("/inbox{query}")).await.ok(200)
}

#[tokio::test]
async fn a_frame_is_told_once_to_those_it_is_for_and_not_to_its_sender() {
    let (_server, [nick, colleague, stranger]) =
        Server::with(["@nick.cc-laptop", "@nick.cursor", "@eve.x"]).await;
    let wait = {
        let colleague = colleague.clone();
        tokio::spawn(async move { colleague.get("/inbox/wait?timeout_s=30").await })
    };
    let frame = advisory(&nick, "~nick", "look here");
    submit_to(&nick, "~nick/*", &frame).await.ok(200);
    let page = wait.await.expect("a wait").ok(200);
    let item = &page["items"][0];
    assert_eq!((&item["kind"], &item["from"]), (&json!("frame"), &json!("@nick.cc-laptop")));
    assert_eq!(
        (&item["trust"], &item["ref"]),
        (&json!("same_owner"), &json!({"frame_id": frame["frame_id"]}))
    );
    assert!(item["text"].as_str().is_some_and(|text| text.contains("look here")), "{item}");
    assert_eq!(page["unread"], 1);
    for other in [&nick, &stranger] {
        assert_eq!(inbox(other, "").await["unread"], 0);
    }
    let acked = colleague.post("/inbox/ack", json!({"cursor": page["cursor"]})).await.ok(200);
    assert_eq!(acked["unread"], 0);
    submit_to(&nick, "~nick/cc-*", &advisory(&nick, "~nick", "not for the colleague")).await.ok(200);
    submit_to(&nick, "~nick/cursor*", &advisory(&nick, "~nick", "for the colleague")).await.ok(200);
    let page = inbox(&colleague, "").await;
    assert_eq!(page["unread"], 1, "{page}");
    let after = page["cursor"].as_str().expect("a cursor");
    assert_eq!(inbox(&colleague, &format!("?after={after}")).await["items"], json!([]));
}
