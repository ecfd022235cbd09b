//! The runner's side: its output and input, and the parsing of a program's lines.

use std::{pin::Pin, sync::Arc};

use plenary_kernel::{Stamp, TimestampMs};
use plenary_log::Fault;
use plenary_room::async_trait;
use serde_json::{Map, Value, json};

use super::{
    Answers, EmitError, Event, EventKind, FinishReason, InvalidEvent, ProgramMessage, Recall, ReceivedOutput,
    Role, Run, RunEnd, RunReceiver, RunRequest, RunSignal, Turn, run_channel,
};
use crate::{
    id::{RunId, ThreadId},
    limits::{
        ANSWERS_WAITING_MAX, ARTIFACT_BYTES_MAX, DELTA_BYTES_MAX, DELTAS_WAITING_MAX, EVENT_BYTES_MAX,
        EVENTS_WAITING_MAX,
    },
};

struct NoTurns;

#[async_trait]
impl Recall for NoTurns {
    async fn turns(&self, _: ThreadId, _: RunId) -> Result<Vec<Turn>, Fault> {
        Ok(Vec::new())
    }
}

fn request(body: &str) -> RunRequest {
    let stamp = Stamp::new(TimestampMs(1), [0; 10]);
    RunRequest {
        agent: "echo".into(),
        run_id: RunId::mint(&stamp, 0),
        thread_id: ThreadId::mint(&stamp, 1),
        depth: 0,
        requester: "operator".into(),
        request_type: "ChatRequest".into(),
        input: Some("hi".into()),
        body: body.to_owned().into(),
        args: Arc::default(),
    }
}

fn both() -> (Run, RunReceiver) {
    run_channel(Arc::new(request("{}")), Arc::new(NoTurns))
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn a_program_gets_every_member_of_the_request_on_one_line() {
    let request =
        request("{\"input\":\"hi\",\n\"type\":\"x\",\"run_context\":{\"user\":1.0e2},\"run_id\":null}");
    let line = request.line();
    assert_eq!(
        line,
        "{\"type\":\"ChatRequest\",\"run_id\":\"00000000-0001-7000-8000-000000000000\",\
         \"thread_id\":\"00000000-0001-7000-8000-000000000001\",\"input\":\"hi\",\"run_context\":{\"user\":1.0e2}}"
    );
}

#[test]
fn sc_24_events_have_the_members_of_their_type_and_keep_further_ones() {
    let read_message = |json: Value| ProgramMessage::read(json.to_string().as_bytes());
    let ProgramMessage::Event(event) =
        read_message(json!({"type": "ToolCall", "id": 7, "run_id": "x", "depth": 3, "role": "tool",
        "function_name": "f", "args": {"a": 1}, "tool_call_id": "c"}))
        .unwrap()
    else {
        panic!("an event")
    };
    assert_eq!((event.kind, event.role, event.deeper), (EventKind::ToolCall, Role::Tool, 0));
    assert_eq!(
        event.members(),
        object(&json!({"function_name": "f", "args": {"a": 1}, "tool_call_id": "c"}))
    );
    for (json, error) in [
        (json!({"type": "TextOutput"}), InvalidEvent::Member("content")),
        (json!({"type": "TextOutput", "content": 1}), InvalidEvent::Member("content")),
        (json!({"type": "ToolCall", "function_name": "f", "args": "x"}), InvalidEvent::Member("args")),
        (json!({"type": "WaitForInput"}), InvalidEvent::Member("request_keys")),
        (json!({"type": "Made-up"}), InvalidEvent::UnknownType),
        (json!({"content": "x"}), InvalidEvent::UnknownType),
        (json!([1]), InvalidEvent::NotAnObject),
    ] {
        assert_eq!(read_message(json.clone()), Err(error), "{json}");
    }
    let message = read_message(json!({"type": "RunCompleted", "finish_reason": "error", "error": "no"}));
    assert_eq!(message, Ok(ProgramMessage::Ended(RunEnd::error("no"))));
    let message = read_message(json!({"type": "RunCompleted", "finish_reason": "rejected", "error": "no"}));
    assert_eq!(message, Ok(ProgramMessage::Ended(RunEnd::rejected("no"))));
    for (reason, text) in [(json!("done"), "finish_reason \"done\""), (json!(null), "no finish_reason")] {
        let Ok(ProgramMessage::Ended(end)) =
            read_message(json!({"type": "RunCompleted", "finish_reason": reason, "result": "r"}))
        else {
            panic!("it ended")
        };
        assert_eq!((end.finish_reason, end.result.as_deref()), (FinishReason::Error, Some("r")));
        assert!(end.error.unwrap().contains(text));
    }
    for (result, text) in [(json!(7), "7"), (json!({"a": [1]}), r#"{"a":[1]}"#), (json!("x"), "x")] {
        let message =
            read_message(json!({"type": "RunCompleted", "finish_reason": "success", "result": result}));
        assert_eq!(message, Ok(ProgramMessage::Ended(RunEnd::with(text))));
    }
    assert_eq!(read_message(json!({"type": "RunStarted"})), Ok(ProgramMessage::Started));
    assert_eq!(Event::text("a \"b\"").content().as_deref(), Some("a \"b\""));
}

#[test]
fn an_event_past_its_limit_is_none() {
    let long = "x".repeat(EVENT_BYTES_MAX);
    let members = object(&json!({"content": long}));
    assert!(matches!(Event::new(EventKind::TextOutput, &members), Err(InvalidEvent::TooLarge(_))));
}

#[tokio::test]
async fn events_arrive_in_order_and_past_the_limit_the_runner_waits() {
    let (run, mut receiver) = both();
    for n in 0..EVENTS_WAITING_MAX {
        run.emit(Event::text(&n.to_string())).await.unwrap();
    }
    let mut one_more = Box::pin(run.emit(Event::text("more")));
    assert!(futures_pending(&mut one_more).await);
    assert_eq!(receiver.event().await.unwrap().content().as_deref(), Some("0"));
    one_more.await.unwrap();
    drop(receiver);
    assert_eq!(run.emit(Event::text("x")).await, Err(EmitError::Over));
}

#[tokio::test]
async fn sc_47_an_artifact_past_its_limit_is_not_taken() {
    let (run, mut receiver) = both();
    let artifact = |bytes| Event::artifact("a.pdf", "application/pdf", vec![0; bytes].into());
    run.emit(artifact(ARTIFACT_BYTES_MAX)).await.unwrap();
    assert_eq!(run.emit(artifact(ARTIFACT_BYTES_MAX + 1)).await, Err(EmitError::TooLarge));
    let event = receiver.event().await.unwrap();
    assert_eq!(event.members(), object(&json!({"name": "a.pdf", "mime_type": "application/pdf"})));
}

/// Whether a future is pending after one poll.
async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
}

#[tokio::test]
async fn deltas_are_lost_past_their_limit_and_never_wait() {
    let (run, mut receiver) = both();
    run.emit_delta("a");
    run.emit(Event::text("a")).await.unwrap();
    run.emit_delta(&"é".repeat(DELTA_BYTES_MAX));
    for _ in 0..2 * DELTAS_WAITING_MAX {
        run.emit_delta("x");
    }
    assert_eq!(receiver.delta().await.map(|delta| delta.after), Some(0));
    let delta = receiver.delta().await.unwrap();
    assert_eq!((delta.after, delta.text.len()), (1, DELTA_BYTES_MAX));
    drop(run);
    let mut left = 0;
    while receiver.delta().await.is_some() {
        left += 1;
    }
    assert_eq!(left, DELTAS_WAITING_MAX - 2);
}

#[tokio::test]
async fn text_in_the_making_is_heard_where_it_was_said() {
    let (run, mut receiver) = both();
    run.emit_delta("a");
    run.emit(Event::text("ab")).await.unwrap();
    run.emit_delta("c");
    run.emit(Event::tool_text("x")).await.unwrap();
    run.emit_delta("d");
    drop(run);
    let mut outputs = Vec::new();
    while let Some(next) = receiver.next().await {
        outputs.push(match next {
            ReceivedOutput::Event(event) => event.json().to_owned(),
            ReceivedOutput::Piece(text) => text,
        });
    }
    assert_eq!(outputs, ["a", r#"{"content":"ab"}"#, "c", r#"{"content":"x"}"#, "d"]);
}

#[test]
fn answers_keep_their_order_and_their_numbers() {
    let answers = Answers::read("{\"z\": 1.50,\n\"a\":0.1234567890123456789}");
    assert_eq!(answers.text().get(), r#"{"z": 1.50, "a":0.1234567890123456789}"#);
    assert_eq!(answers.get("z"), Some(&json!(1.5)));
    assert_eq!(Answers::read("5").text().get(), "{}");
}

#[tokio::test]
async fn sc_32_sc_44_sc_45_sc_46_without_http_a_run_waits_for_input_and_is_told_to_cancel() {
    let (mut run, receiver) = both();
    let keys = object(&json!({"name": "Your name"}));
    assert!(receiver.resume(object(&json!({"name": "Nick"}))));
    let signal = run.await_input(&keys).await.unwrap();
    assert_eq!(signal, RunSignal::Resume(object(&json!({"name": "Nick"})).into()));
    for n in 0..=ANSWERS_WAITING_MAX {
        assert_eq!(receiver.resume(Map::new()), n < ANSWERS_WAITING_MAX);
    }
    assert!(!run.input.is_canceled());
    receiver.cancel();
    assert_eq!((run.wait().await, run.wait().await), (RunSignal::Cancel, RunSignal::Cancel));
    assert!(run.input.is_canceled());
}
