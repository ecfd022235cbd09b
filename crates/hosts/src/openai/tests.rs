//! A scripted model, over a real socket.

use plenary_room::async_trait;
use plenary_runs::{EventKind, RunReceiver};
use tokio::task::JoinHandle;

use super::*;
use crate::testing::{request, run, scripted};

/// A tool that repeats, and a tool that fails.
struct RepeatTool;

#[async_trait]
impl Toolbox for RepeatTool {
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String> {
        let tool = |name: &str| Tool { name: name.into(), description: String::new(), parameters: json!({}) };
        match sets {
            [] => Ok(Vec::new()),
            [set] if set == "demo" => Ok(vec![tool("repeat"), tool("fail")]),
            [set] if set == "large" => Ok(vec![tool("large")]),
            _ => Err("there is no such set".into()),
        }
    }

    async fn call(&self, _: &RunRequest, tool: &str, args: &Map<String, Value>) -> Result<String, String> {
        match tool {
            "repeat" => Ok(args["text"].to_string()),
            "large" => Ok("x".repeat(2 << 20)),
            _ => Err("it failed".into()),
        }
    }
}

async fn model(script: Vec<String>) -> (String, JoinHandle<Vec<Value>>) {
    let (origin, serving) = scripted(script).await;
    let questions =
        tokio::spawn(async move { serving.await.unwrap().into_iter().map(|request| request.body).collect() });
    (format!("{origin}/v1"), questions)
}

fn stream(pieces: &[Value]) -> String {
    let events: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}data: [DONE]\n\n"
    )
}

fn text(text: &str) -> Value {
    json!({"choices": [{"delta": {"content": text}, "finish_reason": null}]})
}

fn agent(url: &str, tools: &[&str]) -> Arc<OpenAi> {
    let settings = json!({"base_url": url, "model": "m", "system": "Be brief.", "tools": tools,
        "options": {"temperature": 0}, "rounds_max": 3});
    let settings = serde_json::from_value(settings).unwrap();
    Arc::new(OpenAi::new(settings, Arc::new(RepeatTool), |_| None).unwrap())
}

fn start(agent: Arc<OpenAi>) -> (JoinHandle<RunEnd>, RunReceiver) {
    let request = request(&json!({"input": "hi"}));
    let (run, receiver) = run(&request);
    (tokio::spawn(agent.run(request, run)), receiver)
}

async fn kinds(receiver: &mut RunReceiver) -> Vec<EventKind> {
    let mut kinds = Vec::new();
    while let Some(event) = receiver.event().await {
        kinds.push(event.kind);
    }
    kinds
}

use EventKind::{
    CompletionCall, CompletionResult, TextOutput, ToolCall, ToolError, ToolResult, WaitForInput,
};

#[tokio::test]
async fn an_answer_comes_in_pieces_and_is_kept_whole() {
    let (url, serving) = model(vec![stream(&[text("Hello "), text("there")])]).await;
    let (run, mut receiver) = start(agent(&url, &[]));
    assert_eq!(kinds(&mut receiver).await, [CompletionCall, CompletionResult, TextOutput]);
    assert_eq!(run.await.unwrap(), RunEnd::with("Hello there"));
    let deltas = [receiver.delta().await.unwrap().text, receiver.delta().await.unwrap().text];
    assert_eq!(deltas, ["Hello ", "there"]);
    let question = &serving.await.unwrap()[0];
    assert_eq!(
        question["messages"],
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}])
    );
    assert_eq!(
        (&question["model"], &question["stream"], &question["temperature"]),
        (&json!("m"), &json!(true), &json!(0))
    );
    assert_eq!(question.get("tools"), None);
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_kept_and_is_no_success() {
    for (reason, why) in [("length", "maximum number of tokens"), ("content_filter", "content filter")] {
        let end = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
        let (url, _serving) = model(vec![stream(&[text("Hello th"), end])]).await;
        let (run, mut receiver) = start(agent(&url, &[]));
        assert_eq!(kinds(&mut receiver).await, [CompletionCall, CompletionResult, TextOutput]);
        let run_end = run.await.unwrap();
        assert!(run_end.error.as_deref().is_some_and(|error| error.contains(why)), "{run_end:?}");
    }
}

fn call(name: &str, args: &str) -> Value {
    json!({"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "c", "function": {"name": name, "arguments": args}}]}}]})
}

#[tokio::test]
async fn a_tool_result_that_is_too_large_is_an_error_of_the_tool() {
    let (url, serving) = model(vec![stream(&[call("large", "{}")]), stream(&[text("I see.")])]).await;
    let (run, mut receiver) = start(agent(&url, &["large"]));
    let round = [CompletionCall, CompletionResult, ToolCall, ToolError];
    let last = [CompletionCall, CompletionResult, TextOutput];
    assert_eq!(kinds(&mut receiver).await, [&round[..], &last[..]].concat());
    assert_eq!(run.await.unwrap().result.as_deref(), Some("I see."));
    let content = serving.await.unwrap()[1]["messages"][3]["content"].clone();
    assert_eq!(content, "error: the result of the tool `large` is too large");
}

#[tokio::test]
async fn sc_24_tools_are_called_and_their_answers_go_back() {
    let script = vec![
        stream(&[call("repeat", "{\"text\":\"again\"}")]),
        stream(&[call("fail", "{}")]),
        stream(&[call("unknown", "no json")]),
    ];
    let (url, serving) = model(script).await;
    let (run, mut receiver) = start(agent(&url, &["demo"]));
    let round = |last| [CompletionCall, CompletionResult, ToolCall, last];
    assert_eq!(kinds(&mut receiver).await, [round(ToolResult), round(ToolError), round(ToolError)].concat());
    assert!(run.await.unwrap().error.unwrap().contains("3 rounds"));
    let questions = serving.await.unwrap();
    assert_eq!(questions[0]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(
        questions[1]["messages"][3],
        json!({"role": "tool", "tool_call_id": "c", "content": "\"again\""})
    );
    assert_eq!(questions[2]["messages"][5]["content"], "error: it failed");
}

#[tokio::test]
async fn sc_44_sc_45_the_model_asks_its_caller() {
    let call = json!({"choices": [{"delta": {"tool_calls": [
        {"id": "c", "function": {"name": "ask_caller", "arguments": "{\"question\":\"Which?\"}"}}]}}]});
    let (url, serving) = model(vec![stream(&[call]), stream(&[text("Blue.")])]).await;
    let (run, mut receiver) = start(agent(&url, &["input"]));
    let question = loop {
        let event = receiver.event().await.unwrap();
        if event.kind == WaitForInput {
            break event.members();
        }
    };
    assert_eq!(Value::Object(question), json!({"request_keys": {"answer": "Which?"}}));
    assert!(receiver.resume(Map::from_iter([("answer".to_owned(), json!("blue"))])));
    kinds(&mut receiver).await;
    assert_eq!(run.await.unwrap(), RunEnd::with("Blue."));
    assert_eq!(serving.await.unwrap()[1]["messages"][3]["content"], "blue");
}

#[test]
fn settings_that_cannot_be_are_said() {
    let fault_of = |settings: Value, key: Option<&str>| {
        let settings = serde_json::from_value(settings).unwrap();
        OpenAi::new(settings, Arc::new(RepeatTool), |_| key.map(str::to_owned))
            .err()
            .map(|fault| fault.to_string())
    };
    let base = "http://127.0.0.1:1/v1";
    assert_eq!(fault_of(json!({"base_url": base, "model": "m", "api_key_env": "KEY"}), Some("k")), None);
    let wrong = fault_of(json!({"base_url": base, "model": "m", "api_key_env": "KEY"}), None).unwrap();
    assert!(wrong.contains("KEY, which is not set"), "{wrong}");
    assert!(fault_of(json!({"base_url": "ftp://x", "model": "m"}), None).unwrap().contains("base_url"));
    assert!(
        fault_of(json!({"base_url": base, "model": "m", "tools": ["magic"]}), None)
            .unwrap()
            .contains("tools")
    );
}
