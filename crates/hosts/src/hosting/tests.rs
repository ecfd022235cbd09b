//! Frames in, frames out, over real programs.

use plenary_kernel::{Stamp, TimestampMs};
use plenary_runs::{Card, Run, RunFuture, RunRequest};
use serde_json::{Value, json};

use super::*;
use crate::testing::{self, over};

fn shell(script: &str, runs_max: usize) -> AgentHost {
    AgentHost::new(Arc::new(testing::shell(script)), "tool", runs_max)
}

/// The ids of the `n`th run, on a thread of its own.
fn ids(n: u64) -> (RunId, ThreadId) {
    let stamp = Stamp::new(TimestampMs(n + 1), [0; 10]);
    (RunId::mint(&stamp, 0), ThreadId::mint(&stamp, 1))
}

fn request(n: u64) -> String {
    let (run, thread) = ids(n);
    json!({"type": "ChatRequest", "run_id": run, "thread_id": thread, "input": "x"}).to_string()
}

fn notice(n: u64, kind: &str, keys: &Value) -> String {
    json!({"type": kind, "run_id": ids(n).0, "thread_id": ids(n).1, "request_keys": keys}).to_string()
}

/// The next frame, or a description of another event.
async fn next(events: &mut mpsc::Receiver<HostEvent>) -> Value {
    match events.recv().await {
        None => json!("all is over"),
        Some(HostEvent::Frame(frame)) => serde_json::from_str(&frame).unwrap(),
        Some(HostEvent::Started(..)) => json!("started"),
        Some(HostEvent::Completed { finish_reason, .. }) => json!({ "completed": finish_reason }),
    }
}

/// Reads up to the end of a run; returns its end.
async fn end(events: &mut mpsc::Receiver<HostEvent>) -> Value {
    loop {
        let event = next(events).await;
        assert_ne!(event, "all is over");
        if event["type"] == "RunCompleted" {
            return event;
        }
    }
}

/// Reads up to an event of this type.
async fn until(events: &mut mpsc::Receiver<HostEvent>, kind: &str) -> Value {
    loop {
        let event = next(events).await;
        assert!(event != "all is over" && event["type"] != "RunCompleted", "{event}");
        if event["type"] == kind {
            return event;
        }
    }
}

/// A program that waits for input; its result tells which message it received.
const ASKING_PROGRAM: &str = r#"read -r request; echo '{"type":"WaitForInput","request_keys":{"a":"A?"}}'
    while read -r told; do case "$told" in
        *CancelRequest*) echo '{"type":"RunCompleted","finish_reason":"success","result":"told"}'; exit;;
        *) echo '{"type":"RunCompleted","finish_reason":"success","result":"answered"}'; exit;;
    esac; done"#;

#[tokio::test]
async fn sc_44_sc_45_sc_46_answers_and_cancels_reach_their_run() {
    let (connection, mut events) = {
        let host = shell(ASKING_PROGRAM, 2);
        host.open_connection()
    };
    connection.handle_frame(&request(0));
    until(&mut events, "WaitForInput").await;
    connection.handle_frame(&notice(0, "ResumeWithInput", &json!({"a": 1})));
    assert_eq!(end(&mut events).await["result"], "answered");
    connection.handle_frame(&request(1));
    until(&mut events, "WaitForInput").await;
    connection.handle_frame(&notice(1, "CancelRequest", &Value::Null));
    let end_frame = end(&mut events).await;
    assert_eq!((&end_frame["finish_reason"], &end_frame["result"]), (&json!("canceled"), &Value::Null));
    // Requests to a run that is over have no effect.
    connection.handle_frame(&notice(1, "CancelRequest", &Value::Null));
    connection.handle_frame(&notice(0, "ResumeWithInput", &json!({})));
}

#[tokio::test]
async fn what_is_past_the_runs_at_a_time_waits_and_past_that_is_refused() {
    let host = shell(ASKING_PROGRAM, 2);
    let (connection, mut events) = host.open_connection();
    for n in 0..2 {
        connection.handle_frame(&request(n));
        until(&mut events, "WaitForInput").await;
    }
    let waiting = 2..2 + RUNS_WAITING_MAX as u64;
    waiting.clone().for_each(|n| connection.handle_frame(&request(n)));
    connection.handle_frame(&request(waiting.end));
    let refused = end(&mut events).await;
    assert_eq!(refused["run_id"], json!(ids(waiting.end).0));
    assert!(refused["error"].as_str().unwrap().contains("2 at a time"), "{refused}");
    // A waiting run is canceled without ever having started.
    connection.handle_frame(&notice(2, "CancelRequest", &Value::Null));
    assert_eq!(end(&mut events).await["finish_reason"], "canceled");
    connection.handle_frame(&notice(1, "ResumeWithInput", &json!({"a": 1})));
    assert_eq!(end(&mut events).await["run_id"], json!(ids(1).0));
    let next = until(&mut events, "WaitForInput").await;
    assert_eq!(next["run_id"], json!(ids(3).0), "in their order");
}

#[tokio::test]
async fn the_runs_of_a_thread_go_on_one_after_the_other() {
    let host = shell(ASKING_PROGRAM, 4);
    let (connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    until(&mut events, "WaitForInput").await;
    let second = json!({"type": "ChatRequest", "run_id": ids(1).0, "thread_id": ids(0).1, "input": "x"});
    connection.handle_frame(&second.to_string());
    connection.handle_frame(&request(2));
    assert_eq!(until(&mut events, "WaitForInput").await["run_id"], json!(ids(2).0));
    connection.handle_frame(&notice(0, "ResumeWithInput", &json!({"a": 1})));
    assert_eq!(end(&mut events).await["run_id"], json!(ids(0).0));
    assert_eq!(until(&mut events, "WaitForInput").await["run_id"], json!(ids(1).0));
}

#[tokio::test]
async fn a_host_that_stops_says_so_of_what_goes_on_and_leaves_what_waits() {
    let host = shell(ASKING_PROGRAM, 1);
    let (mut connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    until(&mut events, "WaitForInput").await;
    connection.handle_frame(&request(1));
    connection.stop();
    connection.handle_frame(&request(2));
    let end_frame = end(&mut events).await;
    assert_eq!((&end_frame["run_id"], &end_frame["finish_reason"]), (&json!(ids(0).0), &json!("error")));
    assert!(end_frame["error"].as_str().unwrap().contains("was stopped"), "{end_frame}");
    assert_eq!(next(&mut events).await, json!({"completed": "error"}));
    assert_eq!(next(&mut events).await, "all is over");
}

#[tokio::test]
async fn a_lost_connection_takes_its_programs_with_it_and_the_next_one_serves() {
    let host = shell(
        r#"trap '' TERM; read -r line; echo "{\"type\":\"TextOutput\",\"content\":\"$$\"}"
        while :; do sleep 600; done"#,
        1,
    );
    let (connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    let pid: i32 = until(&mut events, "TextOutput").await["content"].as_str().unwrap().parse().unwrap();
    drop((connection, events));
    // The only place becomes free when its program is told to stop.
    let (connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    assert_eq!(next(&mut events).await, "started");
    over(pid).await;
    connection.handle_frame(&notice(0, "CancelRequest", &Value::Null));
}

#[tokio::test]
async fn what_can_t_be_read_is_passed_over_and_a_broken_request_is_refused() {
    let host = shell("exit 3", 1);
    let (connection, mut events) = host.open_connection();
    for garbage in
        ["", "hello", "[]", "{}", r#"{"type":"ChatRequest"}"#, r#"{"type":"ChatRequest","run_id":"x"}"#]
    {
        connection.handle_frame(garbage);
    }
    connection.handle_frame(&json!({"type": "ChatRequest", "run_id": ids(0).0, "thread_id": 7}).to_string());
    let refused = end(&mut events).await;
    assert!(refused["error"].as_str().unwrap().contains("cannot be read"), "{refused}");
    connection.handle_frame(&request(1));
    let crashed = end(&mut events).await;
    assert!(crashed["error"].as_str().unwrap().contains("exit code 3"), "{crashed}");
}

struct BrokenRunner;

impl Runner for BrokenRunner {
    fn card(&self) -> Card {
        Card::new("")
    }

    fn run(self: Arc<Self>, _: RunRequest, _: Run) -> RunFuture {
        Box::pin(async { panic!("a bug") })
    }
}

#[tokio::test]
async fn a_bug_ends_its_run_and_nothing_else() {
    let host = AgentHost::new(Arc::new(BrokenRunner), "tool", 1);
    let (connection, mut events) = host.open_connection();
    for n in 0..2 {
        connection.handle_frame(&request(n));
        assert_eq!(end(&mut events).await["finish_reason"], "error");
    }
}

/// A runner that asks nothing and reads no answers.
struct Deaf;

impl Runner for Deaf {
    fn card(&self) -> Card {
        Card::new("")
    }

    fn run(self: Arc<Self>, _: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move {
            let _run = run;
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_no_answers_ends_and_so_does_one_that_does_not_stop() {
    let host = AgentHost::new(Arc::new(Deaf), "tool", 1);
    let (connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    assert_eq!(next(&mut events).await, "started");
    for _ in 0..=2 * ANSWERS_WAITING_MAX {
        connection.handle_frame(&notice(0, "ResumeWithInput", &json!({})));
    }
    assert!(end(&mut events).await["error"].as_str().unwrap().contains("does not read the answers"));
    connection.handle_frame(&request(1));
    connection.handle_frame(&notice(1, "CancelRequest", &Value::Null));
    assert_eq!(end(&mut events).await["finish_reason"], "canceled");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stops_does_not_wait_for_whoever_does_not() {
    let host = AgentHost::new(Arc::new(Deaf), "tool", 1);
    let (mut connection, mut events) = host.open_connection();
    connection.handle_frame(&request(0));
    assert_eq!(next(&mut events).await, "started");
    let started_at = tokio::time::Instant::now();
    connection.stop();
    assert_eq!(end(&mut events).await["error"], "the host of the agent was stopped");
    assert_eq!(started_at.elapsed(), STOP_GRACE);
}

#[tokio::test]
async fn what_nobody_takes_waits() {
    const LINES: usize = 20 * HOST_EVENTS_WAITING_MAX;
    let script = format!(
        r#"seq {LINES} | sed 's/.*/{{"type":"TextOutput","content":"&"}}/'
        echo '{{"type":"RunCompleted","finish_reason":"success"}}'"#
    );
    let (connection, mut events) = shell(&script, 1).open_connection();
    connection.handle_frame(&request(0));
    while events.len() < HOST_EVENTS_WAITING_MAX {
        tokio::task::yield_now().await;
    }
    assert_eq!(next(&mut events).await, "started");
    for n in 1..=LINES {
        assert!(events.len() <= HOST_EVENTS_WAITING_MAX);
        assert_eq!(next(&mut events).await["content"], n.to_string());
    }
    assert_eq!(end(&mut events).await["finish_reason"], "success");
}
