//! Real programs that implement as much of the protocol as a test needs.

use plenary_runs::{EventKind, RunReceiver};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::testing::{request, run};

/// A shell that performs the handshake as session `s` and answers each prompt with a turn of its own. `$id` is the id
/// of the prompt.
fn agent(turn: &str) -> Arc<Acp> {
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
        told() {{ say "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":$1}}}}"; }}
        text() {{ told "{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"$1\"}}}}"; }}
        stop() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{{\"stopReason\":\"$1\"}}}}"; }}
        read -r line; say '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1}}}}'
        read -r line; say '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s"}}}}'
        id=3; turns=1
        while read -r prompt; do {turn}
        id=$((id + 1)); turns=$((turns + 1)); done"#
    );
    let settings = json!({"command": ["sh", "-c", script]});
    Arc::new(Acp::new(serde_json::from_value(settings).unwrap(), &Launcher::none()).unwrap())
}

fn start(agent: &Arc<Acp>) -> (JoinHandle<RunEnd>, RunReceiver) {
    let request = request(&json!({"input": "hi"}));
    let (run, receiver) = run(&request);
    (tokio::spawn(agent.clone().run(request, run)), receiver)
}

async fn events(receiver: &mut RunReceiver) -> Vec<(EventKind, Value)> {
    let mut events = Vec::new();
    while let Some(event) = receiver.event().await {
        events.push((event.kind, event.members().into()));
    }
    events
}

#[tokio::test]
async fn sc_29_tools_are_told_and_garbage_is_ignored() {
    let turn = r#"text a; say garbage; say '{"id":99,"result":1}'; say '{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file"}'
        read -r refusal
        told '{"sessionUpdate":"tool_call","toolCallId":"c","title":"list","rawInput":{"of":1}}'
        told '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}'
        told '{"sessionUpdate":"tool_call","toolCallId":"d","title":"show","status":"completed","content":[{"type":"content","content":{"type":"text","text":"all"}}]}'
        case "$refusal" in *-32601*) text b;; esac; stop refusal"#;
    let (running, mut receiver) = start(&agent(turn));
    let expected = [
        (EventKind::TextOutput, json!({"content": "a"})),
        (EventKind::ToolCall, json!({"function_name": "list", "args": {"of": 1}})),
        (EventKind::ToolError, json!({"content": "list failed"})),
        (EventKind::ToolCall, json!({"function_name": "show", "args": {}})),
        (EventKind::ToolResult, json!({"function_name": "show", "text_result": "all"})),
        (EventKind::TextOutput, json!({"content": "b"})),
    ];
    assert_eq!(events(&mut receiver).await, expected);
    assert!(running.await.unwrap().error.unwrap().contains("refused"));
}

const ASKING_AGENT: &str = r#"say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"toolCall":{"title":"rm?"},"options":[{"optionId":"y","name":"Yes"},{"optionId":"n","name":"No","kind":"reject_once"}]}}'
    read -r answer
    case "$answer" in *'"optionId":"n"'*) text no;; *cancelled*) text canceled;; *) text other;; esac; stop end_turn"#;

#[tokio::test]
async fn sc_45_a_permission_is_a_question_and_an_odd_answer_is_none() {
    let (running, mut receiver) = start(&agent(ASKING_AGENT));
    for answer in [json!({"permission": "maybe"}), json!({"other": "y"}), json!({"permission": "No"})] {
        let question = receiver.event().await.unwrap();
        let text = question.members()["request_keys"]["permission"].as_str().unwrap().to_owned();
        assert_eq!(text, "rm? Answer with one of: y (Yes), n (No)");
        let no = json!({"id": "n", "name": "No", "kind": "reject_once"});
        assert_eq!(question.members()["options"]["permission"][1], no);
        receiver.resume(answer.as_object().cloned().unwrap());
    }
    assert_eq!(events(&mut receiver).await, [(EventKind::TextOutput, json!({"content": "no"}))]);
    assert_eq!(running.await.unwrap(), RunEnd::success());
}

#[tokio::test]
async fn a_question_that_the_agent_withdraws_is_answered_and_asked_no_more() {
    let turn = r#"ask() { say "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"session/request_permission\",\"params\":{\"toolCall\":{\"title\":\"$1?\"},\"options\":[{\"optionId\":\"y\"}]}}"; }
        drop() { say "{\"jsonrpc\":\"2.0\",\"method\":\"\$/cancel_request\",\"params\":{\"requestId\":\"$1\"}}"; read -r answer; }
        ask a; ask b; ask c; drop b; case "$answer" in *-32800*'"id":"b"'*) r=b;; esac
        drop a; case "$answer" in *-32800*'"id":"a"'*) r=${r}a;; esac
        read -r answer; case "$answer" in *'"id":"c"'*) r=${r}c;; esac; text $r; stop end_turn"#;
    let (running, mut receiver) = start(&agent(turn));
    let mut seen = Vec::new();
    while let Some(event) = receiver.event().await {
        let members = event.members();
        let text = members.get("content").unwrap_or_else(|| &members["request_keys"]["permission"]);
        let text = text.as_str().unwrap().to_owned();
        if text.starts_with("c?") {
            receiver.resume(json!({"permission": "y"}).as_object().cloned().unwrap());
        }
        seen.push(text.replace(" Answer with one of: y ()", ""));
    }
    assert_eq!(seen, ["a?", "The agent has withdrawn its question.", "c?", "bac"]);
    assert_eq!(running.await.unwrap(), RunEnd::success());
}

#[tokio::test]
async fn a_permission_without_options_is_refused() {
    let turn = r#"say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"toolCall":{"title":"rm?"},"options":[]}}'
        read -r answer
        case "$answer" in *-32602*) text refused;; esac; stop end_turn"#;
    let (running, mut receiver) = start(&agent(turn));
    assert_eq!(events(&mut receiver).await, [(EventKind::TextOutput, json!({"content": "refused"}))]);
    assert_eq!(running.await.unwrap(), RunEnd::success());
    let (running, _receiver) = start(&agent("stop odd"));
    assert!(running.await.unwrap().error.unwrap().ends_with("odd"), "the reason is told as it is");
}

#[tokio::test]
async fn sc_46_who_is_canceled_and_does_not_listen_is_killed_and_the_thread_begins_anew() {
    let agent = agent(r#"text $turns; case $turns in 1) trap '' TERM; sleep 600;; esac; stop end_turn"#);
    for _ in 0..2 {
        let (running, mut receiver) = start(&agent);
        receiver.delta().await.unwrap();
        receiver.cancel();
        let output = events(&mut receiver).await;
        assert_eq!(output, [(EventKind::TextOutput, json!({"content": "1"}))], "a session of its own");
        assert_eq!(running.await.unwrap(), RunEnd::canceled());
    }
}

#[tokio::test]
async fn sc_26_a_program_that_ends_says_how() {
    let (running, mut receiver) = start(&agent("text a; echo no more >&2; exit 3"));
    assert_eq!(events(&mut receiver).await, [(EventKind::TextOutput, json!({"content": "a"}))]);
    let error = running.await.unwrap().error.unwrap();
    assert!(error.contains("exit code 3") && error.contains("no more"), "{error}");
    let settings = json!({"command": ["true"]});
    let agent = Arc::new(Acp::new(serde_json::from_value(settings).unwrap(), &Launcher::none()).unwrap());
    let (running, _receiver) = start(&agent);
    assert!(running.await.unwrap().error.unwrap().contains("exit code 0"));
    let settings = json!({"command": []});
    assert!(Acp::new(serde_json::from_value(settings).unwrap(), &Launcher::none()).is_err());
}

#[tokio::test]
async fn past_its_limit_the_session_that_rested_longest_ends() {
    let agent = agent("text $turns; stop end_turn");
    let mut first = None;
    for n in 0..=RESTING_MAX as u64 {
        let mut request = request(&json!({"input": "hi"}));
        let stamp = plenary_kernel::Stamp::new(plenary_kernel::TimestampMs(100 + n), [0; 10]);
        request.thread_id = plenary_runs::id::ThreadId::mint(&stamp, 0);
        first.get_or_insert_with(|| request.clone());
        let (agent_run, _receiver) = run(&request);
        assert_eq!(agent.clone().run(request, agent_run).await, RunEnd::success());
    }
    let request = first.unwrap();
    let (agent_run, mut receiver) = run(&request);
    assert_eq!(agent.clone().run(request, agent_run).await, RunEnd::success());
    assert_eq!(events(&mut receiver).await, [(EventKind::TextOutput, json!({"content": "1"}))], "anew");
}
