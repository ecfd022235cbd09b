//! `POST /v1/chat/completions`: each request is a run in a new thread.
//! Must not know: how a run is carried out.

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use http::request::Parts;
use plenary_edge::JsonBody;
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Value, json};

use super::{
    OpenAiError,
    id::began_at,
    input::{check_supported, conversation, model, switch},
    rooms,
    run::{End, Piece, RunOutput, Usage},
};
use crate::{
    A2a,
    repeats::client_key,
    rpc::{json_response, replayed},
};

pub(super) async fn complete(State(a2a): State<A2a>, parts: Parts, body: Body) -> Response {
    let answered = async {
        let rooms = rooms(&a2a, &parts).await?;
        let key = client_key(&parts.headers).map_err(OpenAiError::invalid_key)?;
        let body: Value = JsonBody::read(&parts, body).await?.parse()?;
        let model = model(&body)?.to_owned();
        check_supported(&body)?;
        let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let input = conversation(messages, "messages")?;
        let (is_stream, reports_usage) =
            (switch(&body, "stream")?, switch(&body["stream_options"], "include_usage")?);
        let request = json!({
            "type": "ChatRequest",
            "input": input,
            "request_metadata": {"openai": {"messages": messages}, "demo": body["metadata"]["demo"]},
        });
        let output = RunOutput::begin(rooms, &model, &request, key).await?;
        let is_replayed = output.is_replayed;
        let chat = Chat { model, output };
        let response = if is_stream {
            pieces(ChatStream { chat, reports_usage, step: Step::Role })
        } else {
            chat.whole().await?
        };
        Ok(replayed(response, is_replayed))
    };
    answered.await.unwrap_or_else(|wrong: OpenAiError| wrong.response())
}

struct Chat {
    output: RunOutput,
    model: String,
}

impl Chat {
    async fn whole(mut self) -> Result<Response, OpenAiError> {
        self.output.followed().await;
        if let Some(why) = self.over().await.trouble() {
            return Err(OpenAiError::run_failed(why));
        }
        let message = json!({"role": "assistant", "content": self.output.text(), "refusal": null});
        let choice =
            json!({"index": 0, "message": message, "finish_reason": self.finish_reason(), "logprobs": null});
        let mut body = self.body("chat.completion");
        body["choices"] = json!([choice]);
        body["usage"] = usage(self.output.usage());
        Ok(json_response(&body))
    }

    /// The end of the run. A run that asks a question is canceled: without a thread, the client answers in its next
    /// conversation.
    async fn over(&mut self) -> End {
        let end = self.output.end();
        if end == End::Waits {
            self.output.give_up().await;
        }
        end
    }

    /// The finish reason of a successful answer.
    fn finish_reason(&self) -> &'static str {
        if self.output.is_cut() { "length" } else { "stop" }
    }

    fn body(&self, object: &str) -> Value {
        let id = format!("chatcmpl-{}", self.output.run);
        let created = began_at(&self.output.run);
        json!({"id": id, "object": object, "created": created, "model": self.model, "system_fingerprint": null})
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let mut body = self.body("chat.completion.chunk");
        body["choices"] =
            json!([{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": null}]);
        format!("data: {body}\n\n")
    }
}

fn usage(usage: Usage) -> Value {
    let Usage { input, output } = usage;
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

struct ChatStream {
    chat: Chat,
    reports_usage: bool,
    step: Step,
}

/// The next step of a stream.
enum Step {
    Role,
    Text,
    Over,
}

impl Pieces for ChatStream {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let text = match self.step {
            Step::Role => {
                self.step = Step::Text;
                self.chat.chunk(&json!({"role": "assistant", "content": ""}), None)
            }
            Step::Text => match self.chat.output.next().await {
                Some(Piece::Text(text)) => self.chat.chunk(&json!({"content": text}), None),
                Some(Piece::Alive) => KEEPALIVE.to_owned(),
                None => {
                    self.step = Step::Over;
                    self.last().await
                }
            },
            Step::Over => return Ok(None),
        };
        Ok(Some(text.into()))
    }
}

impl ChatStream {
    async fn last(&mut self) -> String {
        if let Some(why) = self.chat.over().await.trouble() {
            return format!("data: {}\n\n", json!({"error": OpenAiError::run_failed(why).error()}));
        }
        let mut text = self.chat.chunk(&json!({}), Some(self.chat.finish_reason()));
        if self.reports_usage {
            let mut body = self.chat.body("chat.completion.chunk");
            body["choices"] = json!([]);
            body["usage"] = usage(self.chat.output.usage());
            text.push_str(&format!("data: {body}\n\n"));
        }
        text.push_str("data: [DONE]\n\n");
        text
    }
}
