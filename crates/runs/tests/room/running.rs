//! Starting runs: the responses, the events, and their order.

use serde_json::json;

use crate::house::{House, types};

#[tokio::test]
async fn sc_24_sc_29_sc_30_every_event_is_shown_on_request() {
    let house = House::new().await;
    let steps = ["tool_call", "tool_text", "tool_error", "completion_call", "nested", "unheard_of"];
    let body = json!({"input": "hi", "request_metadata": {"demo": steps}});
    let (run, _) = house.start_run(&body).await;
    let events = house.all_events("echo", &run).await;
    assert_eq!(
        types(&events),
        [
            "RunStarted",
            "ToolCall",
            "ToolResult",
            "ToolTextOutput",
            "ToolError",
            "CompletionCall",
            "CompletionResult",
            "TextOutput",
            "ToolError",
            "TextOutput",
            "RunCompleted"
        ]
    );
    assert_eq!((&events[1]["function_name"], &events[1]["args"]), (&json!("echo"), &json!({"text": "hi"})));
    assert_eq!(events[2]["text_result"], "hi");
    assert_eq!(events[7]["depth"], 1);
    let input = json!({"demo": ["tool_text"]}).to_string();
    let (run, _) = house.start_run(&json!({"input": input})).await;
    let events = house.all_events("echo", &run).await;
    assert_eq!(types(&events), ["RunStarted", "ToolTextOutput", "TextOutput", "RunCompleted"]);
    assert_eq!(events[3]["result"], input);
}

#[tokio::test]
async fn a_repeat_under_the_same_key_is_the_same_run() {
    let house = House::new().await;
    let ask = async |body: serde_json::Value, path: &str| {
        house.send(&house.acme, "POST", path, &[("Idempotency-Key", "k")], body.to_string()).await
    };
    let first = ask(json!({"input": "hi"}), "/agent/echo/run").await;
    let again = ask(json!({"input": "hi"}), "/agent/echo/run?wait=result").await;
    assert_eq!(first.header("x-run-id"), again.header("x-run-id"));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.ok(200)["result"], "hi");
    let streamed = ask(json!({"input": "hi"}), "/agent/echo/stream_request").await;
    assert_eq!(streamed.events().len(), 3);
    assert_eq!(streamed.header("x-run-id"), first.header("x-run-id"));
    ask(json!({"input": "ho"}), "/agent/echo/run").await.refused(409, "idempotency_key_reused");
    let other = house
        .send(&house.other, "POST", "/agent/echo/run", &[("Idempotency-Key", "k")], "{\"input\":\"hi\"}")
        .await;
    assert_ne!(other.header("x-run-id"), first.header("x-run-id"), "each has keys of its own");
}
