//! How `POST …/run` answers: SC-11, SC-14, SC-18, SC-28, SC-35; D.4, D.8.

use serde_json::{Value, json};

use super::speak::{
    ECHO, Gates, PUPPET, Run, assert_events, assert_whole, at, chat, chat_on, echoing, finish, known,
    playing, poll, resume, running, said, status_becomes, tell, thread, types, whole,
};

/// A run as one of its events names it.
fn run_of(event: &Value) -> Run {
    let text = |member: &str| event[member].as_str().expect("a text").to_owned();
    Run { agent: text("agent"), id: text("run_id"), thread: text("thread_id") }
}

/// SC-18, SC-35: with `wait=true` the RunStarted event, as the document's own spelling asks for it too.
#[tokio::test]
async fn sc_18_sc_35_wait_true_gives_run_started() {
    let (_server, nick) = echoing().await;
    for path in ["run?wait=true", "run?wait=True"] {
        let event = nick.post(&at(ECHO, path), json!({"type": "ChatRequest", "input": "hi"})).await.ok(200);
        assert_eq!(event["type"], "RunStarted", "{event}");
        let run = run_of(&event);
        assert_events(&run, std::slice::from_ref(&event));
        let events = whole(&nick, &run).await;
        assert_eq!(events[0], event, "the event that is in the run");
    }
}

/// D.8: at once, while the run goes on; and the event stays in the queue.
#[tokio::test]
async fn sc_35_wait_true_does_not_wait_for_the_end() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let body = json!({"type": "ChatRequest", "input": format!("{}text done", gates.gate("go"))});
    let event = nick.post(&at(PUPPET, "run?wait=true"), body).await.ok(200);
    assert_eq!(event["type"], "RunStarted");
    let run = run_of(&event);
    assert_eq!(poll(&nick, &run).await, [event], "a RunStarted that was answered stays in the queue");
    gates.open("go");
    assert_eq!(said(&whole(&nick, &run).await), ["done"]);
}

/// D.4: `wait=result` gives RunCompleted, with the one result (SC-14, 4.4 no. 5).
#[tokio::test]
async fn sc_14_sc_28_sc_35_wait_result_gives_the_end() {
    let (_server, nick) = echoing().await;
    let event = nick.post(&at(ECHO, "run?wait=result"), json!({"input": "a b\nc"})).await.ok(200);
    assert_eq!(event["type"], "RunCompleted", "{event}");
    assert_eq!((&event["finish_reason"], &event["result"]), (&json!("success"), &json!("a b\nc")), "{event}");
    let run = run_of(&event);
    let events = known(&nick, &run).await;
    assert_whole(&run, &events);
    assert_eq!(*events.last().expect("an end"), event);
    assert_eq!(types(&events)[0], "RunStarted", "SC-28");
    assert!(types(&events).contains(&"TextOutput"), "SC-14: {events:?}");
    assert_eq!(said(&events).concat(), "a b\nc");
}

/// D.8: `wait=result` returns at WaitForInput too.
#[tokio::test]
async fn sc_44_wait_result_returns_where_input_is_asked() {
    let (_server, nick) = playing().await;
    let body = json!({"input": "text a\nask name=Your name?\nanswer"});
    let event = nick.post(&at(PUPPET, "run?wait=result"), body).await.ok(200);
    assert_eq!(
        (&event["type"], &event["request_keys"]),
        (&json!("WaitForInput"), &json!({"name": "Your name?"}))
    );
    let run = run_of(&event);
    status_becomes(&nick, &run, "waiting").await;
    resume(&nick, &run, json!({"name": "Ann"})).await;
    assert_eq!(said(&whole(&nick, &run).await), ["a", "{\"name\":\"Ann\"}"]);
}

/// `wait=result` on a run that is canceled meanwhile, or that is queued behind others, gives its end.
#[tokio::test]
async fn sc_35_wait_result_gives_any_end() {
    let (_server, nick) = playing().await;
    let gates = Gates::new();
    let first = chat(&nick, PUPPET, &gates.gate("go")).await;
    running(&nick, &first).await;
    let path = format!("{}&thread_id={}", at(PUPPET, "run?wait=result"), first.thread);
    let queued = nick.post(&path, json!({"type": "ChatRequest", "input": "finish error"}));
    let (event, ()) = tokio::join!(queued, async {
        let second = || async {
            let thread = thread(&nick, &first).await?;
            thread["runs"].as_array()?.get(1).cloned()
        };
        blackbox::eventually("the second is in the thread", second).await;
        gates.open("go");
    });
    let event = event.ok(200);
    assert_eq!(
        (&event["type"], &event["finish_reason"]),
        (&json!("RunCompleted"), &json!("error")),
        "{event}"
    );
    let hanging = chat(&nick, PUPPET, "hang").await;
    running(&nick, &hanging).await;
    let queued = chat_on(&nick, &hanging, "text never").await;
    let response = tell(&nick, &hanging, "CancelRequest", json!({})).await;
    assert_eq!(response.status, 202);
    assert_eq!(finish(&whole(&nick, &hanging).await), "canceled");
    assert_eq!(finish(&whole(&nick, &queued).await), "success", "the next one has its turn");
}
