//! Starting runs: the responses, the events, and their order.

use serde_json::json;

use crate::house::{House, OPERATOR, types};

#[tokio::test]
async fn sc_1_sc_9_sc_31_sc_33_sc_34_agents_are_listed_with_their_paths() {
    let house = House::new().await;
    assert_eq!(house.get(&house.acme, "/").await.ok(200), json!([["echo", "/agent/echo"]]));
    assert_eq!(house.get(&house.acme, "/_discovery").await.ok(200), json!(["/agent/echo"]));
    house.get("", "/").await.refused(401, "missing_authorization");
    let described = house.get(&house.acme, "/agent/echo/describe").await.ok(200);
    assert_eq!(described["name"], "echo");
    house.get(&house.acme, "/agent/nobody/describe").await.refused(404, "agent_not_found");
}

#[tokio::test]
async fn sc_18_sc_35_without_waiting_the_answer_is_the_status_alone() {
    let house = House::new().await;
    let answer = house.post(&house.acme, "/agent/echo/run", &json!({"input": "hi"})).await;
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (202, ""));
    let run = answer.header("x-run-id");
    assert_eq!(answer.header("location"), format!("/agent/echo/runs/{run}"));
    assert_eq!(house.all_events("echo", &run).await.len(), 3);
}

#[tokio::test]
async fn sc_35_waiting_gives_the_start_or_the_result() {
    let house = House::new().await;
    let started = house.post(&house.acme, "/agent/echo/run?wait=true", &json!({"input": "hi"})).await;
    let event = started.ok(200);
    assert_eq!((&event["type"], &event["id"]), (&json!("RunStarted"), &json!(1)));
    assert_eq!(event["run_id"], started.header("x-run-id"));
    assert_eq!(event["thread_id"], started.header("x-thread-id"));
    let result = house.post(&house.acme, "/agent/echo/run?wait=result", &json!({"input": "a\nb"})).await;
    let event = result.ok(200);
    assert_eq!((&event["type"], &event["result"]), (&json!("RunCompleted"), &json!("a\nb")));
    assert_eq!(event["finish_reason"], "success");
}

#[tokio::test]
async fn sc_13_sc_14_sc_28_the_echo_agent_says_what_it_is_told() {
    let house = House::new().await;
    for input in ["", "hi", "é\u{1F600}\"\\\n", &"long ".repeat(40_000)] {
        let (run, _) = house.start_run(&json!({"input": input})).await;
        let events = house.all_events("echo", &run).await;
        let output: String =
            events.iter().filter_map(|event| event["content"].as_str()).collect::<Vec<_>>().concat();
        assert_eq!(output, input);
        let last = events.last().unwrap();
        assert_eq!((&last["finish_reason"], &last["result"]), (&json!("success"), &json!(input)));
        let ids: Vec<u64> = events.iter().map(|event| event["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>(), "SC-22");
    }
}

#[tokio::test]
async fn sc_37_sc_39_a_request_is_streamed_in_one_call() {
    let house = House::new().await;
    let body = json!({"type": "ChatRequest", "input": "hi", "depth": 2});
    let answer = house.post(&house.acme, "/agent/echo/stream_request", &body).await;
    let events = answer.events();
    let kinds: Vec<_> = events.iter().map(|event| event.event.as_str()).collect();
    assert_eq!(kinds, ["RunStarted", "TextOutput", "RunCompleted"], "SC-19");
    let ids: Vec<_> = events.iter().map(|event| event.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    for event in &events {
        assert_eq!(event.data["run_id"], answer.header("x-run-id"));
        assert_eq!((&event.data["agent"], &event.data["depth"]), (&json!("echo"), &json!(2)));
        assert_eq!(event.data["type"], event.event);
    }
}

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
async fn sc_3_sc_11_sc_16_runs_of_a_thread_follow_each_other() {
    let house = House::new().await;
    let slow = json!({"input": "a", "request_metadata": {"demo": ["slow"]}});
    let (first, thread) = house.start_run(&slow).await;
    let (second, same) = house.start_run(&json!({"input": "b", "thread_id": thread})).await;
    let (third, _) = house.start_run(&json!({"input": "c", "thread_id": thread})).await;
    assert_eq!(thread, same);
    assert_eq!(house.status("echo", &first).await["status"], "running");
    let queued = house.status("echo", &second).await;
    assert_eq!((&queued["status"], &queued["last_event_id"]), (&json!("queued"), &json!(0)));
    let waiting = format!("/agent/echo/run?wait=true&thread_id={thread}");
    let body = json!({"input": "d"});
    let fourth = house.post(&house.acme, &waiting, &body);
    let cancel = async {
        let body = json!({"run_id": first});
        house.post(&house.acme, "/agent/echo/run", &body).await.ok(202);
    };
    let (fourth, ()) = tokio::join!(fourth, cancel);
    assert_eq!(fourth.ok(200)["type"], "RunStarted", "it waited for its turn");
    for run in [&second, &third, &fourth.header("x-run-id")] {
        assert_eq!(house.all_events("echo", run).await.last().unwrap()["finish_reason"], "success");
    }
    let threads = house.get(&house.acme, "/agent/echo/threads").await.ok(200);
    assert_eq!(threads[0]["runs"], json!([first, second, third, fourth.header("x-run-id")]), "SC-41");
    assert_eq!((&threads[0]["thread_id"], &threads[0]["title"]), (&json!(thread), &json!("a")));
}

#[tokio::test]
async fn sc_16_threads_of_others_and_of_nobody_are_not_there() {
    let house = House::new().await;
    let (run, thread) = house.start_run(&json!({"input": "hi"})).await;
    house.all_events("echo", &run).await;
    for (token, thread) in [
        (&house.acme, "00000000-0007-7000-8000-000000000000"),
        (&house.acme, "nobody's"),
        (&house.acme, run.as_str()),
        (&house.other, thread.as_str()),
    ] {
        let body = json!({"input": "hi", "thread_id": thread});
        house.post(token, "/agent/echo/run", &body).await.refused(404, "thread_not_found");
    }
    for token in [&house.acme, &house.owner, &OPERATOR.to_owned()] {
        house.post(token, "/agent/echo/run", &json!({"input": "hi", "thread_id": thread})).await.ok(202);
    }
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

#[tokio::test]
async fn what_is_malformed_is_said() {
    let house = House::new().await;
    let post =
        async |path: &str, body: &str| house.send(&house.acme, "POST", path, &[], body.to_owned()).await;
    post("/agent/echo/run", "{").await.refused(400, "invalid_json");
    post("/agent/echo/run", "{\"input\":\"\",\"input\":\"\"}").await.refused(400, "invalid_json");
    post("/agent/echo/run", " ").await.refused(400, "invalid_json");
    post("/agent/echo/run", "[1]").await.refused(422, "invalid_body");
    post("/agent/echo/run?wait=later", "{\"input\":\"\"}").await.refused(422, "invalid_wait");
    let message = post("/agent/echo/run", "{\"type\":\"Sing\"}").await.refused(422, "unknown_request_type");
    assert!(message.contains("ChatRequest"), "{message}");
    post("/agent/echo/stream_request", "{\"args\":{}}").await.refused(422, "invalid_type");
    post("/agent/nobody/run", "{").await.refused(404, "agent_not_found");
}
