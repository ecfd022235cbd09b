//! The messages of OpenAI's chat completions: requests, and streamed pieces of one response message.
//! Must not know: connections, runs.

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{key::redacted_error, tools::Tool};

/// Most bytes of one message of the model, with its tool calls; beyond it the response is abandoned.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Most tool calls in one message; beyond it the response is abandoned.
pub(super) const CALLS_MAX: usize = 64;

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Message {
    pub(super) role: &'static str,
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
}

impl Message {
    pub(super) fn with_role(role: &'static str, content: impl Into<String>) -> Self {
        Self { role, content: Some(content.into()), tool_calls: Vec::new(), tool_call_id: None }
    }

    pub(super) fn answer(call: &Call, content: String) -> Self {
        Self { tool_call_id: Some(call.id.clone()), ..Self::with_role("tool", content) }
    }
}

/// A tool call in a message of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Call {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: Function,
    pub(super) function: ToolCall,
}

/// The only type of tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Function {
    #[default]
    Function,
}

/// The name and arguments of a call; the arguments are JSON text of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Call {
    /// The arguments as an object; the error is text for the model.
    pub(super) fn args(&self) -> Result<Map<String, Value>, String> {
        let text = self.function.arguments.trim();
        if text.is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(text).map_err(|error| format!("the arguments are not a JSON object: {error}"))
    }
}

/// The body of a request.
pub(super) fn question(
    model: &str,
    messages: &[Message],
    tools: &[Tool],
    options: &Map<String, Value>,
) -> Vec<u8> {
    let mut body = options.clone();
    body.insert("model".into(), model.into());
    body.insert("stream".into(), true.into());
    body.insert("messages".into(), serde_json::to_value(messages).unwrap_or_default());
    if !tools.is_empty() {
        let tools = tools.iter().map(|tool| {
            serde_json::json!({"type": "function", "function":
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters}})
        });
        body.insert("tools".into(), tools.collect());
    }
    Value::Object(body).to_string().into_bytes()
}

/// One piece of a streamed response.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Piece {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    /// `message` in a response that is not streamed.
    #[serde(default, alias = "message")]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: Option<usize>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<CalledPiece>,
}

#[derive(Debug, Deserialize)]
struct CalledPiece {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

/// A response as it accumulates.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) content: String,
    pub(super) calls: Vec<Call>,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Value>,
    /// Whether any part of a message arrived.
    has_message: bool,
    bytes: usize,
}

impl Answer {
    /// Why the server ended the message before the model did, if so.
    pub(super) fn cut(&self) -> Option<&'static str> {
        match self.finish_reason.as_deref()? {
            "length" => Some("the model reached its maximum number of tokens"),
            "content_filter" => Some("the content filter of the model's server ended the answer"),
            _ => None,
        }
    }

    /// The response, if there was one.
    pub(super) fn finish(self) -> Result<Self, String> {
        if self.has_message { Ok(self) } else { Err("the model's answer has no message".into()) }
    }

    /// Adds a piece; returns the text that it adds, or an error without the API key.
    pub(super) fn take(&mut self, json: &[u8], key: Option<&HeaderValue>) -> Result<String, String> {
        let piece: Piece = serde_json::from_slice(json)
            .map_err(|error| format!("the model's answer is not readable: {error}"))?;
        if let Some(error) = piece.error {
            return Err(format!("the model's server said: {}", redacted_error(&error, key)));
        }
        self.usage = piece.usage.or(self.usage.take());
        let mut added = String::new();
        // The request asks for one choice only.
        let Some(choice) = piece.choices.into_iter().flatten().next() else { return Ok(added) };
        self.has_message = true;
        self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        let delta = choice.delta.unwrap_or_default();
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            added.push_str(&text);
        }
        self.grow(added.len())?;
        self.content.push_str(&added);
        for (ordinal, call) in delta.tool_calls.into_iter().flatten().enumerate() {
            self.take_call(ordinal, call)?;
        }
        Ok(added)
    }

    /// The pieces of a call carry its index; without one, a piece with a name starts a new call.
    fn take_call(&mut self, ordinal: usize, piece: CallPiece) -> Result<(), String> {
        let is_new = piece.function.as_ref().is_some_and(|function| function.name.is_some());
        let index = piece.index.unwrap_or(if is_new {
            self.calls.len().max(ordinal)
        } else {
            self.calls.len().saturating_sub(1)
        });
        if index >= CALLS_MAX {
            return Err(format!("the model called more than {CALLS_MAX} tools at once"));
        }
        if index >= self.calls.len() {
            self.calls.resize_with(index + 1, Call::default);
        }
        let call = &mut self.calls[index];
        let function = piece.function.map(|function| (function.name, function.arguments));
        let (name, arguments) = function.unwrap_or_default();
        let mut bytes = 0;
        for (to, from) in [
            (&mut call.id, piece.id),
            (&mut call.function.name, name),
            (&mut call.function.arguments, arguments),
        ] {
            let from = from.unwrap_or_default();
            bytes += from.len();
            to.push_str(&from);
        }
        self.grow(bytes)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes += bytes;
        if self.bytes > MESSAGE_BYTES_MAX {
            return Err(format!("the model's answer is longer than {} KiB", MESSAGE_BYTES_MAX >> 10));
        }
        Ok(())
    }

    /// The message for the conversation. Calls without an id get one, for their results.
    pub(super) fn message(&mut self) -> Message {
        for (ordinal, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("call_{ordinal}");
        }
        let content = (!self.content.is_empty() || self.calls.is_empty()).then(|| self.content.clone());
        Message { role: "assistant", content, tool_calls: self.calls.clone(), tool_call_id: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer_of(pieces: &[Value]) -> Answer {
        let mut answer = Answer::default();
        for piece in pieces {
            answer.take(piece.to_string().as_bytes(), None).unwrap();
        }
        answer
    }

    #[test]
    fn pieces_join_to_text_and_calls() {
        let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
        let mut answer = answer_of(&[
            delta(json!({"role": "assistant", "content": "Let "})),
            delta(json!({"content": "me see"})),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
            ),
            delta(
                json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":"}}]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            json!({"choices": null, "usage": {"total_tokens": 7}}),
        ]);
        assert_eq!(
            (answer.content.as_str(), answer.finish_reason.as_deref()),
            ("Let me see", Some("tool_calls"))
        );
        assert_eq!(answer.calls[0].args().unwrap()["x"], 1);
        assert_eq!((answer.calls[1].id.as_str(), answer.calls[1].function.name.as_str()), ("b", "g"));
        assert_eq!(answer.usage, Some(json!({"total_tokens": 7})));
        let message = serde_json::to_value(answer.message()).unwrap();
        assert_eq!(
            message["tool_calls"][0],
            json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}})
        );
    }

    #[test]
    fn a_whole_answer_and_calls_without_index_or_id_are_taken_too() {
        let mut answer = answer_of(&[json!({"choices": [{"message": {"content": null, "tool_calls": [
            {"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "g", "arguments": ""}}]}, "finish_reason": "tool_calls"}]})]);
        let message = answer.message();
        assert_eq!(message.content, None);
        let calls: Vec<_> =
            message.tool_calls.iter().map(|call| (call.id.as_str(), call.function.name.as_str())).collect();
        assert_eq!(calls, [("call_0", "f"), ("call_1", "g")]);
        assert_eq!(answer.calls[1].args(), Ok(Map::new()));
    }

    #[test]
    fn what_is_too_long_or_wrong_is_said() {
        let mut answer = Answer::default();
        let long = json!({"choices": [{"delta": {"content": "x".repeat(MESSAGE_BYTES_MAX)}}]}).to_string();
        answer.take(long.as_bytes(), None).unwrap();
        assert!(
            answer.take(br#"{"choices":[{"delta":{"content":"x"}}]}"#, None).unwrap_err().contains("longer")
        );
        let far = json!({"choices": [{"delta": {"tool_calls": [{"index": CALLS_MAX}]}}]}).to_string();
        assert!(Answer::default().take(far.as_bytes(), None).unwrap_err().contains("more than 64"));
        let error = Answer::default().take(br#"{"error":{"message":"no credit"}}"#, None).unwrap_err();
        assert_eq!(error, "the model's server said: no credit");
        assert!(Answer::default().take(b"[", None).is_err());
    }
}
