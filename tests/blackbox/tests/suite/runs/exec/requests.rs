//! What a program is told, and what becomes of what it tells: SC-17, SC-23, SC-24, SC-27, SC-29, SC-47; D.8.

use serde_json::{Value, json};

use crate::runs::speak::{
    PUPPET, accepted, assert_whole, at, chat, finish, outcome, playing, said, types, whole,
};

/// D.8: type, input, run_id, thread_id, and every other member unchanged.
#[tokio::test]
async fn sc_17_sc_23_the_request_reaches_the_program_unchanged() {
    let (_server, nick) = playing().await;
    let more = json!({
        "logging_level": "debug",
        "request_metadata": {"user_id": "u", "n": 9_007_199_254_740_991_u64, "d": 0.1, "nested": {"": [null, true]}},
        "run_context": {"user_context": {"name": "Ann"}},
        "x-own": ["\u{1f600}", "a\nb", "\u{2028}"],
        "model": null,
    });
    let mut body = json!({"type": "ChatRequest", "input": "request"});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let run = accepted(PUPPET, &nick.post(&at(PUPPET, "run"), body).await);
    let events = whole(&nick, &run).await;
    let line: Value = serde_json::from_str(said(&events)[0]).expect("one JSON object a line");
    assert_eq!(line["type"], "ChatRequest");
    assert_eq!(line["input"], "request");
    assert_eq!((&line["run_id"], &line["thread_id"]), (&json!(run.id), &json!(run.thread)), "{line}");
    for (name, value) in more.as_object().expect("an object") {
        assert_eq!(&line[name], value, "{name}: {line}");
    }
}

/// The same where the type was told by its members, and members that the server sets are not the caller's to set.
#[tokio::test]
async fn sc_27_the_type_is_told_to_the_program() {
    let (_server, nick) = playing().await;
    let body = json!({"input": "request", "agent": "x", "id": 7, "depth": 0});
    let run = accepted(PUPPET, &nick.post(&at(PUPPET, "run"), body).await);
    let line: Value = serde_json::from_str(said(&whole(&nick, &run).await)[0]).expect("JSON");
    assert_eq!((&line["type"], &line["run_id"]), (&json!("ChatRequest"), &json!(run.id)), "{line}");
}

/// Numbers are handed on as they were written.
#[tokio::test]
async fn sc_23_numbers_keep_their_digits() {
    let (_server, nick) = playing().await;
    let body =
        br#"{"input":"request","request_metadata":{"a":1.50,"b":1e2,"c":-0,"d":12345678901234567890.0}}"#;
    let run = accepted(PUPPET, &nick.post_raw(&at(PUPPET, "run"), body).await);
    let events = whole(&nick, &run).await;
    for literal in ["1.50", "1e2", "-0", "12345678901234567890.0"] {
        assert!(said(&events)[0].contains(literal), "{literal}: {}", said(&events)[0]);
    }
}

/// SC-24, SC-29, SC-30, SC-47: each type of the document comes through with its members.
#[tokio::test]
async fn sc_24_sc_29_sc_30_sc_47_every_type_comes_through() {
    let (_server, nick) = playing().await;
    let told = [
        json!({"type": "TextOutput", "content": "text"}),
        json!({"type": "ToolCall", "function_name": "f", "args": {"a": [1, {"b": null}]}}),
        json!({"type": "ToolTextOutput", "content": "partly"}),
        json!({"type": "ToolResult", "function_name": "f", "text_result": "done"}),
        json!({"type": "ToolError", "content": "no"}),
        json!({"type": "CompletionCall"}),
        json!({"type": "CompletionResult"}),
    ];
    let script: String = told.iter().map(|event| format!("event {event}\n")).collect();
    let events = outcome(&nick, PUPPET, &format!("{script}done all")).await;
    assert_eq!(events.len(), told.len() + 2, "{:?}", types(&events));
    for (event, wanted) in events[1..].iter().zip(&told) {
        for (member, value) in wanted.as_object().expect("an object") {
            assert_eq!(&event[member], value, "{event}");
        }
    }
    assert_eq!(events.last().expect("an end")["result"], "all");
}

/// SC-47: an artifact keeps its own id beside the event's (4.4 no. 8).
#[tokio::test]
async fn sc_47_artifacts_are_told() {
    let (_server, nick) = playing().await;
    let artifact = json!({"type": "ArtifactGenerated", "name": "a.pdf", "id": "art-1",
        "url": "https://files.example/a.pdf", "mime_type": "application/pdf"});
    let events = outcome(&nick, PUPPET, &format!("event {artifact}\ndone x")).await;
    let event = &events[1];
    assert_eq!(event["type"], "ArtifactGenerated", "{events:?}");
    assert_eq!(event["id"], 2, "the event's own id is a number: {event}");
    for member in ["name", "url", "mime_type"] {
        assert_eq!(event[member], artifact[member], "{event}");
    }
    assert_eq!(
        (&event["artifact_id"], &event["artifact"]["id"]),
        (&json!("art-1"), &json!("art-1")),
        "{event}"
    );
}

/// D.8: the server writes RunStarted and the base members, whatever the program claims.
#[tokio::test]
async fn sc_22_the_base_members_are_the_servers() {
    let (_server, nick) = playing().await;
    let claims = json!({"type": "TextOutput", "content": "x", "id": 99, "agent": "other",
        "thread_id": "00000000-0000-4000-8000-000000000000"});
    let started = json!({"type": "RunStarted", "run_id": "00000000-0000-4000-8000-000000000000"});
    let run = chat(&nick, PUPPET, &format!("event {started}\nevent {claims}\nevent {claims}\ndone x")).await;
    let events = whole(&nick, &run).await;
    assert_whole(&run, &events);
    assert_eq!(types(&events).iter().filter(|kind| **kind == "RunStarted").count(), 1);
    assert!(events.iter().all(|event| event["id"].as_u64() < Some(10)), "{events:?}");
}

/// SC-14, SC-26: the three ways to finish, and the result.
#[tokio::test]
async fn sc_26_the_program_says_how_it_ended() {
    let (_server, nick) = playing().await;
    for reason in ["success", "error"] {
        assert_eq!(finish(&outcome(&nick, PUPPET, &format!("text a\nfinish {reason}")).await), reason);
    }
    let events = outcome(&nick, PUPPET, "text a\ntext b\ndone the \u{1f600} result").await;
    assert_eq!(events.last().expect("an end")["result"], "the \u{1f600} result");
    // SC-14: one string result, also where the program names none.
    let events = outcome(&nick, PUPPET, "text a\ntext b\nfinish success").await;
    assert!(events.last().expect("an end")["result"].is_string(), "{events:?}");
}

/// D.8: no shell stands between, and the arguments are the configured ones.
#[tokio::test]
async fn sc_1_no_shell_stands_between() {
    use crate::runs::speak::{hosted, puppet, serving};
    let odd = ["lines", "$HOME", "`id`", "a b", ";exit 1", "*", "\"q\"", "ü"];
    let server = serving(&[hosted(PUPPET, &puppet(&odd))]).await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(said(&outcome(&nick, PUPPET, "args").await), [odd.join(" ")]);
}
