//! The built-in agent: it repeats its input, and shows every kind of event on request (wire.md D.8).
//! Must not know: the log, or HTTP.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use crate::runner::{
    Card, EmitError, Event, EventKind, Run, RunEnd, RunFuture, RunRequest, RunSignal, Runner,
};

/// Most bytes of text in one event.
const PIECE_BYTES: usize = 64 << 10;

/// An agent of kind `echo`.
#[derive(Debug, Clone)]
pub struct Echo {
    purpose: String,
}

impl Default for Echo {
    fn default() -> Self {
        Self { purpose: "Says what it is told, and shows every kind of event on request.".into() }
    }
}

impl Echo {
    /// An echo agent with another purpose on its card.
    pub fn with_purpose(purpose: impl Into<String>) -> Self {
        Self { purpose: purpose.into() }
    }
}

impl Runner for Echo {
    fn card(&self) -> Card {
        Card { tools: vec!["echo".into()], ..Card::new(self.purpose.clone()) }
    }

    fn run(self: Arc<Self>, request: RunRequest, mut run: Run) -> RunFuture {
        Box::pin(async move {
            let input = request.input.clone().unwrap_or_default();
            for step in steps(&request) {
                match show(&step, &input, &mut run).await {
                    Ok(None) => {}
                    Ok(Some(ended)) => return ended,
                    Err(_) => return RunEnd::canceled(),
                }
            }
            match say(&input, &run).await {
                Ok(()) => RunEnd::with(input),
                Err(_) => RunEnd::canceled(),
            }
        })
    }
}

/// The steps to show: `request_metadata.demo`, or `demo` of an input that is a JSON object.
fn steps(request: &RunRequest) -> Vec<Value> {
    let metadata = request.members().remove("request_metadata").unwrap_or_default();
    let input = || serde_json::from_str::<Value>(request.input.as_deref()?.trim()).ok();
    let of = |value: &Value| value.get("demo").and_then(|steps| steps.as_array().cloned());
    of(&metadata).or_else(|| of(&input()?)).unwrap_or_default()
}

/// Emits a text, split into as many events as necessary.
async fn say(text: &str, run: &Run) -> Result<(), EmitError> {
    let mut rest = text;
    loop {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        run.emit(Event::text(piece)).await?;
        if more.is_empty() {
            return Ok(());
        }
        rest = more;
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn completion(kind: EventKind, members: Value) -> Event {
    Event::new(kind, &object(members)).expect("a completion needs no member")
}

/// Shows one step: its name, or an object with its name and parameters.
async fn show(step: &Value, input: &str, run: &mut Run) -> Result<Option<RunEnd>, EmitError> {
    let (name, takes) = match step {
        Value::String(name) => (name.as_str(), &Value::Null),
        Value::Object(members) => {
            members.iter().next().map_or(("", &Value::Null), |(name, takes)| (name, takes))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => ("", &Value::Null),
    };
    match name {
        "tool_call" => {
            run.emit(Event::tool_call("echo", &object(json!({"text": input})))).await?;
            run.emit(Event::tool_result("echo", input)).await?;
        }
        "tool_text" => run.emit(Event::tool_text("the tool is at work")).await?,
        "tool_error" => run.emit(Event::tool_error("the tool failed, as it was asked to")).await?,
        "completion_call" => {
            run.emit(completion(EventKind::CompletionCall, json!({"model": "echo", "prompt": input})))
                .await?;
            run.emit(completion(EventKind::CompletionResult, json!({"model": "echo", "content": input})))
                .await?;
        }
        "nested" => run.emit(Event::text("from an agent that the agent called").deeper(1)).await?,
        "artifact" => {
            let content = bytes::Bytes::from(input.to_owned());
            run.emit(Event::artifact("echo.txt", "text/plain; charset=utf-8", content)).await?;
        }
        "deltas" => input.split_inclusive(' ').for_each(|word| run.emit_delta(word)),
        "wait_for_input" => {
            let keys = takes.as_object().cloned();
            let keys = keys.unwrap_or_else(|| object(json!({"reply": "what the agent is to say next"})));
            match run.await_input(&keys).await? {
                RunSignal::Resume(answer) => say(answer.text().get(), run).await?,
                RunSignal::Cancel => return Ok(Some(RunEnd::canceled())),
            }
        }
        "slow" => {
            let asleep = async {
                // Clients of Agent2Agent keep numbers as protobuf does, and send 300.0 for 300.
                let seconds = takes.as_f64().map(|ms| ms / 1000.0);
                match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = asleep => {}
                _ = run.wait() => return Ok(Some(RunEnd::canceled())),
            }
        }
        // Shows what happens to an agent that ignores its input.
        "deaf" => std::future::pending().await,
        "fail" => return Ok(Some(RunEnd::error(takes.as_str().unwrap_or("it was asked to fail")))),
        "panic" => panic!("it was asked to panic"),
        unknown => run.emit(Event::tool_error(&format!("there is no step {unknown:?}"))).await?,
    }
    Ok(None)
}
