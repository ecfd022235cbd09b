//! `POST /v1/responses`: a response is a run, and the next response continues its thread. A background response is
//! read later.
//! Must not know: how a run is carried out.

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use http::request::Parts;
use plenary_edge::JsonBody;
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Map, Value, json};

use super::{
    OpenAiError,
    id::{ResponseId, began_at},
    input::{check_supported, conversation, model, switch},
    rooms,
    run::{AgentQuestion, End, OutputText, Piece, RunOutput, Usage},
};
use crate::{
    A2a,
    repeats::client_key,
    rooms::{RoomClient, RoomRefusal, encoded},
    rpc::{json_response, replayed},
};

/// The members of a response's request that the run stores.
const STORED_MEMBERS: [&str; 6] =
    ["model", "input", "instructions", "metadata", "previous_response_id", "background"];

pub(super) async fn respond(State(a2a): State<A2a>, parts: Parts, body: Body) -> Response {
    let answered = async {
        let rooms = rooms(&a2a, &parts).await?;
        let key = client_key(&parts.headers).map_err(OpenAiError::invalid_key)?;
        let body: Value = JsonBody::read(&parts, body).await?.parse()?;
        let (is_stream, is_background) = (switch(&body, "stream")?, switch(&body, "background")?);
        let mut answer = begin(rooms, body, key).await?;
        let is_replayed = answer.output.is_replayed;
        let response = if is_stream {
            pieces(ResponseStream { answer, step: Step::Begin, number: 0 })
        } else if is_background {
            // The run continues without a reader.
            json_response(&answer.sheet.shape("in_progress"))
        } else {
            answer.output.followed().await;
            json_response(&answer.body())
        };
        Ok(replayed(response, is_replayed))
    };
    answered.await.unwrap_or_else(|wrong: OpenAiError| wrong.response())
}

/// A response that is being generated.
struct Answer {
    output: RunOutput,
    sheet: Sheet,
}

/// The constant part of a response.
pub(super) struct Sheet {
    pub(super) id: ResponseId,
    /// The request, as far as it is known.
    pub(super) body: Value,
}

async fn begin(rooms: RoomClient, body: Value, key: Option<&str>) -> Result<Answer, OpenAiError> {
    let model = model(&body)?.to_owned();
    check_supported(&body)?;
    let input = match (body["input"].as_str(), body["input"].as_array()) {
        (Some(text), _) => text.to_owned(),
        (_, Some(items)) => conversation(items, "input")?,
        _ => return Err(OpenAiError::param("input", "`input` must be text, or a list of messages.")),
    };
    for name in ["previous_response_id", "instructions"] {
        if !(body[name].is_null() || body[name].is_string()) {
            return Err(OpenAiError::param(name, format!("`{name}` must be a text.")));
        }
    }
    let before = match body["previous_response_id"].as_str() {
        Some(id) => Some(PreviousResponse::find(&rooms, &model, id).await?),
        None => None,
    };
    if let Some(PreviousResponse { run, question: Some(question), .. }) = &before {
        let output = RunOutput::resume(rooms, &model, (run, question), &input, key).await?;
        let id = ResponseId::new(&output.run, question.number, &model);
        return Ok(Answer { output, sheet: Sheet { id, body } });
    }
    let input = match body["instructions"].as_str() {
        Some(instructions) => format!("system: {instructions}\n\nuser: {input}"),
        None => input,
    };
    let stored = STORED_MEMBERS.map(|name| (name.to_owned(), body[name].clone()));
    let stored: Map<String, Value> = stored.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let request = json!({
        "type": "ChatRequest",
        "input": input,
        "thread_id": before.map(|before| before.thread),
        "request_metadata": {"openai": stored, "demo": body["metadata"]["demo"]},
    });
    let output = RunOutput::begin(rooms, &model, &request, key).await?;
    let id = ResponseId::new(&output.run, 0, &model);
    Ok(Answer { output, sheet: Sheet { id, body } })
}

/// An earlier response, which the new one continues.
struct PreviousResponse {
    run: String,
    thread: Value,
    /// The question with which it ended; `None` if the run ended without an answer to it, too.
    question: Option<AgentQuestion>,
}

impl PreviousResponse {
    async fn find(rooms: &RoomClient, model: &str, id: &str) -> Result<Self, OpenAiError> {
        let unknown =
            || OpenAiError::param("previous_response_id", "There is no such response of this model.");
        let ResponseId { run, number, .. } = ResponseId::read(id).ok_or_else(unknown)?;
        let refused = |no: RoomRefusal| if no.code == "run_not_found" { unknown() } else { no.into() };
        let path = format!("/agent/{}/runs/{}", encoded(model), encoded(&run));
        let report = rooms.get(&path).await.map_err(refused)?.value;
        let text = OutputText::read(rooms, model, &run, number).await.map_err(refused)?;
        // The run of a question that nobody answered ends with the next event, and no success.
        let is_given_up = |question: &AgentQuestion| {
            let is_over = matches!(report["status"].as_str(), Some("canceled" | "error"));
            is_over && report["last_event_id"].as_u64() == Some(question.number + 1)
        };
        let question = text.question.filter(|question| !is_given_up(question));
        Ok(Self { run, thread: report["thread_id"].clone(), question })
    }
}

impl Answer {
    /// The complete response.
    fn body(&self) -> Value {
        self.sheet.filled(self.output.output(), &self.output.end())
    }
}

impl Sheet {
    /// The response of a run that ended or asks a question.
    pub(super) fn filled(&self, text: &OutputText, end: &End) -> Value {
        let status = match end {
            End::Success | End::Waits if text.is_cut => "incomplete",
            End::Success | End::Waits => "completed",
            End::Canceled => "cancelled",
            End::Failed(_) => "failed",
        };
        let mut body = self.shape(status);
        match end {
            End::Failed(why) => body["error"] = json!({"code": "server_error", "message": why}),
            End::Success | End::Waits => body["output"] = json!([self.item(status, &text.text)]),
            End::Canceled => {}
        }
        if status == "incomplete" {
            body["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        let Usage { input, output } = text.usage;
        body["usage"] = json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        });
        body
    }

    /// The response without output.
    pub(super) fn shape(&self, status: &str) -> Value {
        let as_sent = |name: &str| self.body[name].clone();
        json!({
            "id": self.id.to_string(), "object": "response", "created_at": began_at(&self.id.run),
            "status": status, "error": null, "background": self.body["background"] == true, "incomplete_details": null,
            "instructions": as_sent("instructions"), "max_output_tokens": null,
            "metadata": if self.body["metadata"].is_object() { as_sent("metadata") } else { json!({}) },
            "model": as_sent("model"), "output": [], "parallel_tool_calls": true,
            "previous_response_id": as_sent("previous_response_id"), "store": true, "temperature": null,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": null,
            "truncation": "disabled", "usage": null,
        })
    }

    fn item_id(&self) -> String {
        format!("msg_{}", self.id.to_string().trim_start_matches("resp_"))
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

/// The next step of a stream.
enum Step {
    Begin,
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

    /// An event about the only part of the only item.
    fn of_part(&mut self, kind: &str, mut members: Value) -> String {
        members["item_id"] = self.answer.sheet.item_id().into();
        members["output_index"] = 0.into();
        members["content_index"] = 0.into();
        self.event(kind, members)
    }

    fn begin(&mut self) -> String {
        let response = self.answer.sheet.shape("in_progress");
        let item = self.answer.sheet.item("in_progress", "");
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
        // The stream has no event for a canceled response.
        if matches!(response["status"].as_str(), Some("failed" | "cancelled")) {
            return self.event("response.failed", json!({"response": response}));
        }
        let text = self.answer.output.text().to_owned();
        let (status, last) = match response["status"].as_str() {
            Some("incomplete") => ("incomplete", "response.incomplete"),
            _ => ("completed", "response.completed"),
        };
        let item = self.answer.sheet.item(status, &text);
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
            Step::Begin => {
                self.step = Step::Text;
                self.begin()
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
