//! Runs of foreign agents against a scripted server.

use plenary_runs::FinishReason;

use super::*;
use crate::testing::{request, run, scripted};

fn answer(body: &Value) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{body}")
}

fn card(streams: bool) -> String {
    let interface = json!({"url": "{origin}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    answer(&json!({"supportedInterfaces": [interface], "capabilities": {"streaming": streams}}))
}

fn task(state: &str, text: &str) -> Value {
    let artifacts = json!([{"artifactId": "a", "parts": [{"text": text}]}]);
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}, "artifacts": artifacts})
}

fn result(result: &Value) -> String {
    answer(&json!({"jsonrpc": "2.0", "id": 1, "result": result}))
}

fn agent(url: &str) -> Arc<A2a> {
    let settings = serde_json::from_value(json!({"url": url})).unwrap();
    Arc::new(A2a::new(settings, |_| None).unwrap())
}

#[tokio::test]
async fn an_agent_without_streams_is_asked_and_looked_at() {
    let script = vec![
        card(false),
        result(&json!({"task": task("WORKING", "")})),
        result(&task("WORKING", "ab")),
        result(&task("COMPLETED", "abc")),
    ];
    let (origin, serving) = scripted(script).await;
    let request = request(&json!({"input": "hi"}));
    let (ours, mut receiver) = run(&request);
    let run_end = agent(&origin).run(request, ours).await;
    assert_eq!(run_end.finish_reason, FinishReason::Success, "{:?}", run_end.error);
    assert_eq!(receiver.event().await, Some(Event::text("abc")));
    let requests = serving.await.unwrap();
    let methods: Vec<_> = requests.iter().skip(1).map(|request| request.body["method"].clone()).collect();
    assert_eq!(methods, ["SendMessage", "GetTask", "GetTask"]);
    assert_eq!(requests[1].body["params"]["configuration"]["returnImmediately"], true);
}

#[tokio::test]
async fn an_agent_that_is_not_reached_for_a_while_is_asked_again() {
    let restarting = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let script = vec![
        card(false),
        result(&json!({"task": task("WORKING", "")})),
        // The connection closes without an answer.
        String::new(),
        restarting.to_owned(),
        result(&task("COMPLETED", "abc")),
    ];
    let (origin, _serving) = scripted(script).await;
    let request = request(&json!({"input": "hi"}));
    let (ours, mut receiver) = run(&request);
    let run_end = agent(&origin).run(request, ours).await;
    assert_eq!(run_end.finish_reason, FinishReason::Success, "{:?}", run_end.error);
    assert_eq!(receiver.event().await, Some(Event::text("abc")));
}

#[tokio::test]
async fn a_run_that_fails_cancels_the_task() {
    let long = "x".repeat(plenary_runs::limits::EVENT_BYTES_MAX + 1);
    let script =
        vec![card(false), result(&json!({"task": task("WORKING", &long)})), result(&task("CANCELED", ""))];
    let (origin, serving) = scripted(script).await;
    let request = request(&json!({"input": "hi"}));
    let (ours, _receiver) = run(&request);
    let run_end = agent(&origin).run(request, ours).await;
    assert_eq!(run_end.finish_reason, FinishReason::Error);
    let requests = serving.await.unwrap();
    assert_eq!(
        (&requests[2].body["method"], &requests[2].body["params"]["id"]),
        (&json!("CancelTask"), &json!("t"))
    );
}

#[test]
fn a_task_that_is_answered_for_is_waited_for_and_a_stream_that_breaks_is_not() {
    let mut patience = RetryPolicy::default();
    for _ in 0..1_000 {
        patience.note_answer(false);
        assert!(patience.pause().is_some_and(|pause| pause <= Duration::from_secs(5)));
    }
    let pauses = std::iter::from_fn(|| patience.pause()).count();
    assert!(pauses < ATTEMPTS_MAX as usize);
}
