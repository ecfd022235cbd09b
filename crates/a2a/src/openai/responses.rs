//! `POST /v1/responses`: a response is a run, and the next response continues its thread.
//! Must not know: how a run is carried out.

use axum::{extract::State, response::Response};
use bytes::Bytes;
use chrono::Utc;
use http::request::Parts;
use plenary_edge::JsonBody;
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Value, json};

use super::{
    Wrong,
    input::{check_supported, conversation, model, switch},
    rooms,
    run::{End, Piece, RunOutput, Usage},
};
use crate::{
    A2a,
    rooms::{RoomClient, RoomRefusal, encoded},
    rpc::json_response,
};

pub(super) async fn respond(State(a2a): State<A2a>, parts: Parts, JsonBody(body): JsonBody) -> Response {
    let answered = async {
        let rooms = rooms(&a2a, &parts).await?;
        let body: Value = body?.parse()?;
        let is_stream = switch(&body, "stream")?;
        let mut answer = begin(rooms, body).await?;
        if is_stream {
            return Ok(pieces(ResponseStream { answer, step: Step::Begins, number: 0 }));
        }
        while answer.output.next().await.is_some() {}
        Ok(json_response(&answer.body()))
    };
    answered.await.unwrap_or_else(|wrong: Wrong| wrong.response())
}

/// A response that is being made.
struct Answer {
    output: RunOutput,
    created: i64,
    id: String,
    body: Value,
}

async fn begin(rooms: RoomClient, body: Value) -> Result<Answer, Wrong> {
    let model = model(&body)?.to_owned();
    check_supported(&body)?;
    let input = match (body["input"].as_str(), body["input"].as_array()) {
        (Some(text), _) => text.to_owned(),
        (_, Some(items)) => conversation(items, "input")?,
        _ => return Err(Wrong::param("input", "`input` must be text, or a list of messages.")),
    };
    let before = match body["previous_response_id"].as_str() {
        Some(id) => Some(report(&rooms, &model, id).await?),
        None => None,
    };
    let created = Utc::now().timestamp();
    if let Some(report) = before.as_ref().filter(|report| report["status"] == "waiting") {
        let number = report["last_event_id"].as_u64().unwrap_or_default();
        let output = RunOutput::resume(rooms, &model, report, &input).await?;
        let id = format!("resp_{}.{number}", output.run);
        return Ok(Answer { output, created, id, body });
    }
    let input = match body["instructions"].as_str() {
        Some(instructions) => format!("system: {instructions}\n\nuser: {input}"),
        None => input,
    };
    let request = json!({
        "type": "ChatRequest",
        "input": input,
        "thread_id": before.map(|report| report["thread_id"].clone()),
        "request_metadata": {"openai": {"input": body["input"], "metadata": body["metadata"]}, "demo": body["metadata"]["demo"]},
    });
    let output = RunOutput::begin(rooms, &model, &request).await?;
    let id = format!("resp_{}", output.run);
    Ok(Answer { output, created, id, body })
}

/// The run of an earlier response.
async fn report(rooms: &RoomClient, model: &str, id: &str) -> Result<Value, Wrong> {
    let unknown = || Wrong::param("previous_response_id", "There is no such response of this model.");
    let run = id.strip_prefix("resp_").ok_or_else(unknown)?;
    // `.7` is which of a run's responses it was.
    let run = run.split_once('.').map_or(run, |(run, _)| run);
    let path = format!("/agent/{}/runs/{}", encoded(model), encoded(run));
    match rooms.get(&path).await {
        Ok(yes) => Ok(yes.value),
        Err(RoomRefusal { code, .. }) if code == "run_not_found" => Err(unknown()),
        Err(no) => Err(no.into()),
    }
}

impl Answer {
    /// The response as it is.
    fn body(&self) -> Value {
        let (status, error) = match self.output.end() {
            End::Success | End::Waits if self.output.is_cut() => ("incomplete", Value::Null),
            End::Success | End::Waits => ("completed", Value::Null),
            End::Failed(why) => ("failed", json!({"code": "server_error", "message": why})),
        };
        let mut body = self.shape(status);
        body["error"] = error;
        if status != "failed" {
            body["output"] = json!([self.item(status, self.output.said())]);
        }
        if status == "incomplete" {
            body["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        let Usage { input, output } = self.output.usage();
        body["usage"] = json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        });
        body
    }

    fn shape(&self, status: &str) -> Value {
        let as_sent = |name: &str| self.body[name].clone();
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "error": null,
            "incomplete_details": null, "instructions": as_sent("instructions"), "max_output_tokens": null,
            "metadata": if self.body["metadata"].is_object() { as_sent("metadata") } else { json!({}) },
            "model": as_sent("model"), "output": [], "parallel_tool_calls": true,
            "previous_response_id": as_sent("previous_response_id"), "store": true, "temperature": null,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": null,
            "truncation": "disabled", "usage": null,
        })
    }

    fn item_id(&self) -> String {
        format!("msg_{}", self.id.trim_start_matches("resp_"))
    }

    fn item(&self, status: &str, text: &str) -> Value {
        let content = if status == "in_progress" { json!([]) } else { json!([part(text)]) };
        json!({"type": "message", "id": self.item_id(), "status": status, "role": "assistant", "content": content})
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

struct ResponseStream {
    answer: Answer,
    step: Step,
    number: u64,
}

/// What comes next of a stream.
enum Step {
    Begins,
    Text,
    Over,
}

impl ResponseStream {
    fn event(&mut self, kind: &str, members: Value) -> String {
        let mut event = json!({"type": kind, "sequence_number": self.number});
        if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
            event.extend(members);
        }
        self.number += 1;
        format!("event: {kind}\ndata: {event}\n\n")
    }

    /// An event about the one part of the one item.
    fn of_part(&mut self, kind: &str, mut members: Value) -> String {
        members["item_id"] = self.answer.item_id().into();
        members["output_index"] = 0.into();
        members["content_index"] = 0.into();
        self.event(kind, members)
    }

    fn begins(&mut self) -> String {
        let response = self.answer.shape("in_progress");
        let item = self.answer.item("in_progress", "");
        [
            self.event("response.created", json!({"response": response})),
            self.event("response.in_progress", json!({"response": response})),
            self.event("response.output_item.added", json!({"output_index": 0, "item": item})),
            self.of_part("response.content_part.added", json!({"part": part("")})),
        ]
        .concat()
    }

    fn ends(&mut self) -> String {
        let response = self.answer.body();
        if response["status"] == "failed" {
            return self.event("response.failed", json!({"response": response}));
        }
        let text = self.answer.output.said().to_owned();
        let (status, last) = match response["status"].as_str() {
            Some("incomplete") => ("incomplete", "response.incomplete"),
            _ => ("completed", "response.completed"),
        };
        let item = self.answer.item(status, &text);
        [
            self.of_part("response.output_text.done", json!({"text": text, "logprobs": []})),
            self.of_part("response.content_part.done", json!({"part": part(&text)})),
            self.event("response.output_item.done", json!({"output_index": 0, "item": item})),
            self.event(last, json!({"response": response})),
        ]
        .concat()
    }
}

impl Pieces for ResponseStream {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let text = match self.step {
            Step::Begins => {
                self.step = Step::Text;
                self.begins()
            }
            Step::Text => match self.answer.output.next().await {
                Some(Piece::Text(text)) => {
                    self.of_part("response.output_text.delta", json!({"delta": text, "logprobs": []}))
                }
                Some(Piece::Alive) => KEEPALIVE.to_owned(),
                None => {
                    self.step = Step::Over;
                    self.ends()
                }
            },
            Step::Over => return Ok(None),
        };
        Ok(Some(text.into()))
    }
}
