//! A run that waits is told in the inbox of the agent that started it, until it is answered.

use serde_json::json;

use super::speak::{PUPPET, chat, playing, resume, status_becomes};

#[tokio::test]
async fn a_waiting_run_is_told_to_whoever_started_it_until_it_is_answered() {
    let (server, nick) = playing().await;
    let other = server.agent("@other.bot").await;
    let wait = {
        let nick = nick.clone();
        tokio::spawn(async move { nick.get("/inbox/wait?timeout_s=30").await })
    };
    let run = chat(&nick, PUPPET, "text a\nask name=Your name?\nwhole-answer").await;
    let page = wait.await.expect("a wait").ok(200);
    let item = &page["items"][0];
    assert_eq!((&item["kind"], &item["trust"]), (&json!("run.waiting"), &json!("system")));
    assert_eq!(item["text"], "name: Your name?");
    assert!(item.get("from").is_none());
    let reference = json!({"agent": PUPPET, "run_id": run.id, "thread_id": run.thread});
    assert_eq!(item["ref"], reference);
    assert_eq!(other.get("/inbox").await.ok(200)["unread"], 0);
    status_becomes(&nick, &run, "waiting").await;
    resume(&nick, &run, json!({"name": "Ann"})).await;
    status_becomes(&nick, &run, "completed").await;
    assert_eq!(nick.get("/inbox").await.ok(200)["items"], json!([]));
}
