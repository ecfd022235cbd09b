//! The agent that is there to try things with: what every program must cope with, on request. SC-24, SC-29, SC-44 to
//! SC-47; threads, queues and crashes over it.

use serde_json::{Value, json};

use super::speak::{
    ECHO, Run, assert_whole, at, cancel, chat, chat_on, echoing, events_of, finish, known, post_run, refused,
    resume, running, said, status, status_becomes, tell, types, whole,
};
use super::sse::{Events, Heard};

fn demo(steps: &Value) -> String {
    json!({ "demo": steps }).to_string()
}

async fn acting(who: &blackbox::Caller, steps: &Value) -> Run {
    let run = chat(who, ECHO, &demo(steps)).await;
    running(who, &run).await;
    run
}

/// SC-24, SC-29, SC-47: every type of the document.
#[tokio::test]
async fn sc_29_sc_47_all_types_can_be_seen() {
    let (_server, nick) = echoing().await;
    let steps = json!(["tool_call", "tool_text", "tool_error", "completion_call", "artifact"]);
    for body in [json!({"input": demo(&steps)}), json!({"input": "x", "request_metadata": {"demo": steps}})] {
        let run = post_run(&nick, ECHO, body).await;
        let events = whole(&nick, &run).await;
        let kinds = types(&events);
        for kind in [
            "ToolCall",
            "ToolResult",
            "ToolTextOutput",
            "ToolError",
            "CompletionCall",
            "CompletionResult",
            "ArtifactGenerated",
            "TextOutput",
        ] {
            assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
        assert_eq!(finish(&events), "success");
    }
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
    assert!(!fetched.body.is_empty());
    refused(&other.get(path).await, 404);
    assert_eq!(server.stranger().get(path).await.status, 401);
    refused(&nick.get("/artifacts/00000000-0000-4000-8000-000000000000").await, 404);
    server.crash().await;
    assert_eq!(nick.get(path).await.body, fetched.body, "it is kept");
}

/// SC-44, SC-45.
#[tokio::test]
async fn sc_44_sc_45_it_asks_and_goes_on() {
    let (_server, nick) = echoing().await;
    let run = chat(&nick, ECHO, &demo(&json!(["wait_for_input"]))).await;
    status_becomes(&nick, &run, "waiting").await;
    let asked = known(&nick, &run).await;
    assert_eq!(types(&asked), ["RunStarted", "WaitForInput"]);
    let key =
        asked[1]["request_keys"].as_object().and_then(|keys| keys.keys().next().cloned()).expect("a key");
    resume(&nick, &run, json!({ key: "the answer" })).await;
    let events = whole(&nick, &run).await;
    assert!(said(&events)[0].contains("the answer"), "{events:?}");
    assert_eq!(finish(&events), "success");
}

/// SC-46, D.8: while it waits, while it runs, and in the queue; then nothing is left to cancel.
#[tokio::test]
async fn sc_46_it_is_canceled() {
    let (_server, nick) = echoing().await;
    let slow = acting(&nick, &json!(["slow"])).await;
    let waiting = chat(&nick, ECHO, &demo(&json!(["wait_for_input"]))).await;
    status_becomes(&nick, &waiting, "waiting").await;
    let queued = chat_on(&nick, &slow, "queued").await;
    let behind = chat_on(&nick, &slow, "behind").await;
    assert_eq!(status(&nick, &queued).await["status"], "queued");
    let response = tell(&nick, &slow, "ResumeWithInput", json!({"request_keys": {}})).await;
    assert_eq!(refused(&response, 409), "run_not_active");
    for run in [&queued, &waiting, &slow] {
        cancel(&nick, run).await;
        status_becomes(&nick, run, "canceled").await;
        let response = tell(&nick, run, "CancelRequest", json!({})).await;
        assert_eq!(refused(&response, 409), "run_not_active");
    }
    for run in [&waiting, &slow] {
        assert_eq!(finish(&whole(&nick, run).await), "canceled");
    }
    assert_eq!(said(&whole(&nick, &behind).await), ["behind"], "the thread goes on");
}

/// D.8: after a crash running and waiting ones end `error`, queued ones run.
#[tokio::test]
async fn sc_48_it_survives_crashes() {
    let (mut server, nick) = echoing().await;
    let slow = acting(&nick, &json!(["slow"])).await;
    let behind = chat_on(&nick, &slow, "behind").await;
    let waiting = chat(&nick, ECHO, &demo(&json!(["wait_for_input"]))).await;
    status_becomes(&nick, &waiting, "waiting").await;
    let before = known(&nick, &waiting).await;
    server.crash().await;
    for run in [&slow, &waiting] {
        assert_eq!(finish(&whole(&nick, run).await), "error");
    }
    assert!(known(&nick, &waiting).await.starts_with(&before), "what was told stays as it was");
    let events = whole(&nick, &behind).await;
    assert_eq!((said(&events), finish(&events)), (vec!["behind"], "success"));
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

/// Pieces that come while a text is made are not kept, and the text that follows is.
#[tokio::test]
async fn sc_37_pieces_are_not_kept() {
    let (_server, nick) = echoing().await;
    let body = json!({"input": "one two three", "request_metadata": {"demo": ["deltas"]}});
    let path = at(ECHO, "stream_request");
    let mut stream = Events::post(&nick, &path, &body).await;
    let mut events = Vec::new();
    let mut pieces = String::new();
    loop {
        match stream.heard().await {
            Heard::Event(event) => events.push(event),
            Heard::Delta(piece) => {
                assert_eq!(piece["run_id"], events[0]["run_id"], "{piece}");
                assert_eq!(piece["after"], events.last().expect("an event before it")["id"], "{piece}");
                pieces.push_str(piece["content"].as_str().expect("a text"));
            }
            Heard::Comment => {}
            Heard::End => break,
            Heard::Broken => panic!("the stream broke"),
        }
    }
    assert!(pieces.is_empty() || said(&events).concat().starts_with(&pieces), "{pieces}: {events:?}");
    let text = |member: &str| events[0][member].as_str().expect("a text").to_owned();
    let run = Run { agent: ECHO.to_owned(), id: text("run_id"), thread: text("thread_id") };
    assert_eq!(known(&nick, &run).await, events);
    let replayed = nick.get(&events_of(&run, "?stream=true")).await;
    assert!(!replayed.text().contains("TextDelta"), "{replayed}");
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

/// A retry under its key is the same run; another request under it is refused.
#[tokio::test]
async fn sc_11_a_retry_is_the_same_run() {
    let (mut server, nick) = echoing().await;
    let path = at(ECHO, "run");
    let key = [("Idempotency-Key", "k1")];
    let body = json!({"input": "once"});
    let first = nick.call("POST", &path, &key, Some(&body)).await;
    let run = super::speak::accepted(ECHO, &first);
    assert!(!first.replayed());
    whole(&nick, &run).await;
    for _ in 0..2 {
        let again = nick.call("POST", &path, &key, Some(&body)).await;
        assert_eq!(super::speak::accepted(ECHO, &again), run);
        assert!(again.replayed(), "{again}");
        server.crash().await;
    }
    let other = nick.call("POST", &path, &key, Some(&json!({"input": "other"}))).await;
    assert_eq!(refused(&other, 409), "idempotency_key_reused");
    assert_eq!(said(&whole(&nick, &run).await), ["once"]);
    let threads = super::speak::list(nick.get(&at(ECHO, "threads")).await.ok(200));
    assert_eq!(threads.len(), 1);
    // Keys are the caller's own.
    let sibling = server.agent("@nick.other").await;
    let own = sibling.call("POST", &path, &key, Some(&json!({"input": "other"}))).await;
    assert_ne!(super::speak::accepted(ECHO, &own), run);
}
