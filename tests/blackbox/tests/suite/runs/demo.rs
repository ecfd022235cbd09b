//! The agent that is there to try things with: what every program must cope with, on request. SC-22, SC-26, SC-47.

use serde_json::{Value, json};

use super::speak::{ECHO, assert_whole, at, chat, chat_on, echoing, finish, post_run, refused, whole};

fn demo(steps: &Value) -> String {
    json!({ "demo": steps }).to_string()
}

/// SC-47: the artifact is where its event says, for those who may read the run.
#[tokio::test]
async fn sc_47_an_artifact_can_be_fetched() {
    let (mut server, nick) = echoing().await;
    let other = server.agent("@other.bob").await;
    let run = chat(&nick, ECHO, &demo(&json!(["artifact"]))).await;
    let events = whole(&nick, &run).await;
    let artifact = events.iter().find(|event| event["type"] == "ArtifactGenerated").expect("one is told");
    let url = artifact["url"].as_str().expect("a url");
    let path = url.find("/artifacts/").map_or(url, |start| &url[start..]);
    let fetched = nick.get(path).await;
    assert_eq!(fetched.status, 200, "{fetched}");
    let kind = artifact["mime_type"].as_str().expect("a type");
    assert!(fetched.header("content-type").is_some_and(|found| found.starts_with(kind)), "{fetched}");
    assert_eq!(fetched.header("x-content-type-options"), Some("nosniff"), "{fetched}");
    assert!(
        fetched.header("content-disposition").is_some_and(|it| it.starts_with("attachment")),
        "{fetched}"
    );
    assert_eq!(server.operator().get(path).await.body, fetched.body);
    refused(&nick.get(&path[..path.len() - 1]).await, 404);
    assert!(!fetched.body.is_empty());
    refused(&other.get(path).await, 404);
    assert_eq!(server.stranger().get(path).await.status, 401);
    refused(&nick.get("/artifacts/00000000-0000-4000-8000-000000000000").await, 404);
    server.crash().await;
    assert_eq!(nick.get(path).await.body, fetched.body, "it is kept");
}

/// A fault of the agent ends its run and nothing else.
#[tokio::test]
async fn sc_26_faults_end_one_run() {
    let (_server, nick) = echoing().await;
    for step in ["fail", "panic"] {
        let run = chat(&nick, ECHO, &demo(&json!([step]))).await;
        let events = whole(&nick, &run).await;
        assert_whole(&run, &events);
        assert_eq!(finish(&events), "error", "{step}");
        assert!(!json!(events).to_string().contains("crates/"), "no path is told: {events:?}");
        assert_eq!(finish(&whole(&nick, &chat_on(&nick, &run, "x").await).await), "success");
    }
}

/// SC-22: how deep in a chain of callers a run is; the chain has an end.
#[tokio::test]
async fn sc_22_depth_is_carried() {
    let (_server, nick) = echoing().await;
    for (body, depth) in [
        (json!({"input": "x"}), 0),
        (json!({"input": "x", "depth": 3}), 3),
        (json!({"input": "x", "run_context": {"depth": 32}}), 32),
    ] {
        let run = post_run(&nick, ECHO, body).await;
        assert!(whole(&nick, &run).await.iter().all(|event| event["depth"] == depth));
    }
    for depth in [json!(33), json!(-1), json!(1.5), json!("1")] {
        refused(&nick.post(&at(ECHO, "run"), json!({"input": "x", "depth": depth})).await, 422);
    }
}

/// SC-45: the answers reach the agent in the order and with the numbers in which they were sent.
#[tokio::test]
async fn sc_45_answers_keep_their_bytes() {
    const ANSWERS: &str = r#"{"z":1.50,"a":0.1234567890123456789}"#;
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, &demo(&json!([{"wait_for_input": {"z": "A number", "a": "Another"}}]))).await;
    let path = at(ECHO, "run?wait=result");
    let body = format!(r#"{{"type":"ResumeWithInput","run_id":"{}","request_keys":{ANSWERS}}}"#, run.id);
    blackbox::eventually("the run waits", || async {
        (nick.post_raw(&path, body.as_bytes()).await.status < 300).then_some(())
    })
    .await;
    let events = whole(&nick, &run).await;
    assert!(events.iter().any(|event| event["content"] == ANSWERS), "{events:?}");
}
