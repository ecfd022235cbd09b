//! A run that waits is a request to the people of whoever started it, and their answer goes into it.

use serde_json::json;

use super::speak::{PUPPET, chat, playing, resume, status_becomes};
use crate::requests::{at, listed};

#[tokio::test]
async fn a_run_that_waits_is_answered_from_the_inbox_of_the_person() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "text a\nask name=Your name?\nwhole-answer").await;
    let page = listed(&owner, "run_input", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["source"]["room"]), (&json!(nick.handle), &json!("runs")));
    assert_eq!(request["action"]["args"], json!({"name": "Your name?"}));
    let answer = json!({"type": "respond", "text": "Ann", "version": request["version"]});
    let id = request["request_id"].as_str().expect("an id");
    owner.post(&at(id, "/answer"), answer).await.ok(200);
    status_becomes(&nick, &run, "completed").await;
}

#[tokio::test]
async fn a_run_that_was_answered_elsewhere_waits_for_no_person() {
    let (server, nick) = playing().await;
    let owner = server.owner("nick").await;
    let run = chat(&nick, PUPPET, "text a\nask name=Your name?\nwhole-answer").await;
    listed(&owner, "run_input", 1).await;
    resume(&nick, &run, json!({"name": "Ann"})).await;
    listed(&owner, "run_input", 0).await;
    let page = owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(page["requests"][0]["kind"], "run_input");
}
