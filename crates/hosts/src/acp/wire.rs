//! Messages of the Agent Client Protocol in both directions: JSON-RPC 2.0, one object per line. Pure.
//! Must not know: the reading side, or the transport of lines.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::key::error_text;

/// The supported version of the protocol.
pub const VERSION: u64 = 1;
/// The notification by which either side cancels a request of its own.
pub const CANCEL_REQUEST: &str = "$/cancel_request";

/// The `code` of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The line is not JSON.
    Parse,
    /// It is JSON but not a message.
    InvalidRequest,
    /// Unknown method.
    MethodNotFound,
    /// Invalid parameters.
    InvalidParams,
    /// The request failed.
    Internal,
    /// The client has to authenticate first.
    AuthRequired,
    /// Unknown session.
    NotFound,
    /// The peer has canceled the request.
    Canceled,
}

impl ErrorCode {
    const fn number(self) -> i64 {
        match self {
            Self::Parse => -32_700,
            Self::InvalidRequest => -32_600,
            Self::MethodNotFound => -32_601,
            Self::InvalidParams => -32_602,
            Self::Internal => -32_603,
            Self::AuthRequired => -32_000,
            Self::NotFound => -32_002,
            Self::Canceled => -32_800,
        }
    }
}

/// A message from the peer.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// A notification.
    Notice {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A request, to be answered under this id.
    Request {
        /// The id.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// The response to the request with this number: a result or an error.
    Answer {
        /// The number.
        id: u64,
        /// The result.
        result: Result<Value, String>,
    },
}

#[derive(Deserialize)]
struct IncomingMessage {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

/// Parses a line as a message.
///
/// # Errors
/// What is wrong with the line.
pub fn read(line: &[u8]) -> Result<Message, &'static str> {
    // Serde would read a list as the members in order; the protocol has no batches.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("it is not a JSON-RPC message");
    }
    let message: IncomingMessage =
        serde_json::from_slice(line).map_err(|_| "it is not a JSON-RPC message")?;
    match (message.method, message.id) {
        (Some(method), Some(id)) => Ok(Message::Request { id, method, params: message.params }),
        (Some(method), None) => Ok(Message::Notice { method, params: message.params }),
        (None, id) => {
            let id = id.as_ref().and_then(Value::as_u64).ok_or("it is neither a request nor an answer")?;
            let result = match message.error {
                Some(error) => Err(reason(&error)),
                None => Ok(message.result.unwrap_or_default()),
            };
            Ok(Message::Answer { id, result })
        }
    }
}

/// Why a request failed, as text for people. Many programs say so only in `data`, below a message like "Internal error".
fn reason(error: &Value) -> String {
    let (text, data) = (error_text(error), &error["data"]);
    let detail = [data, &data["details"], &data["message"]].into_iter().find(|value| value.is_string());
    match detail.map(error_text).filter(|detail| !detail.trim().is_empty() && !text.contains(detail)) {
        Some(detail) => format!("{text}: {detail}"),
        None => text,
    }
}

/// A request with this number.
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification.
pub fn notice(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// The response to a request.
pub fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The error response to a request.
pub fn refusal(id: &Value, code: ErrorCode, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.number(), "message": message}})
}

/// Text as a content block.
pub fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notice_an_answer_or_none_of_them() {
        let (method, params) = ("m".to_owned(), json!({"a": 1}));
        for message in [request(7, "m", &params), notice("m", &params)] {
            let expected = match message["id"].is_null() {
                true => Message::Notice { method: method.clone(), params: params.clone() },
                false => Message::Request { id: json!(7), method: method.clone(), params: params.clone() },
            };
            assert_eq!(read(message.to_string().as_bytes()), Ok(expected));
        }
        let result = answer(&json!(7), &json!(true)).to_string();
        assert_eq!(read(result.as_bytes()), Ok(Message::Answer { id: 7, result: Ok(json!(true)) }));
        let refused = refusal(&json!(7), ErrorCode::NotFound, "none").to_string();
        assert_eq!(read(refused.as_bytes()), Ok(Message::Answer { id: 7, result: Err("none".to_owned()) }));
        for (data, text) in [
            (json!({"details": "no key"}), "Internal error: no key"),
            (json!("no key"), "Internal error: no key"),
            (json!({"message": "Internal error"}), "Internal error"),
            (json!({"code": 7}), "Internal error"),
        ] {
            let failed =
                json!({"id": 7, "error": {"code": -32_603, "message": "Internal error", "data": data}});
            let expected = Message::Answer { id: 7, result: Err(text.to_owned()) };
            assert_eq!(read(failed.to_string().as_bytes()), Ok(expected));
        }
        for odd in ["", "x", "[]", r#"[1,"m",{}]"#, r#"{"id":"a"}"#, "{}"] {
            assert!(read(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
