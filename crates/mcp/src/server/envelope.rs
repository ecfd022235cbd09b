//! The envelope of a message, looked at before anybody reads what is in it: whether it is JSON-RPC, and how a "no" looks
//! there.
//! Must not know: methods, or who asks.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

/// The octets are no JSON.
pub(super) const PARSE_ERROR: i64 = -32_700;
/// The JSON is no message.
pub(super) const INVALID_REQUEST: i64 = -32_600;
/// The query of the URL asks for what there is not.
pub(super) const INVALID_PARAMS: i64 = -32_602;
/// The request is well formed and refused: no or another's token, too many at once.
pub(super) const REFUSED: i64 = -32_000;

/// What is read of every message.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    jsonrpc: Option<Value>,
    /// Absent in a notification.
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Option<Value>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// The answer to what is no message.
    pub(super) fn read(octets: &'a [u8]) -> Result<Self, Box<Response>> {
        let bad = |code, text: &str| Box::new(refusal(StatusCode::BAD_REQUEST, None, code, text));
        if serde_json::from_slice::<&RawValue>(octets).is_err() {
            return Err(bad(PARSE_ERROR, "Parse error: the body is no JSON."));
        }
        let envelope: Self = serde_json::from_slice(octets).map_err(|_| {
            bad(
                INVALID_REQUEST,
                "Invalid request: send one JSON-RPC message, an object; batches are not taken.",
            )
        })?;
        let is_reply = envelope.result.is_some() || envelope.error.is_some();
        let is_known = envelope.method.as_ref().is_some_and(Value::is_string) || is_reply;
        let has_id = envelope.id.is_none_or(|id| is_id(id.get()));
        if envelope.jsonrpc.as_ref().is_none_or(|version| version != "2.0") || !is_known || !has_id {
            return Err(bad(
                INVALID_REQUEST,
                "Invalid request: a message has `jsonrpc` 2.0, a `method`, and an `id` of text or a whole number.",
            ));
        }
        Ok(envelope)
    }

    /// Whether it begins a session of the initialize era.
    pub(super) fn is_initialize(&self) -> bool {
        self.method.as_ref().is_some_and(|method| method == "initialize")
    }
}

fn is_id(raw: &str) -> bool {
    raw.starts_with('"') || raw.trim_start_matches('-').chars().all(|digit| digit.is_ascii_digit())
}

#[derive(Serialize)]
struct Error<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    error: Value,
}

/// A "no" with a status, as JSON-RPC has it.
pub(super) fn refusal(status: StatusCode, id: Option<&RawValue>, code: i64, message: &str) -> Response {
    let error = Error { jsonrpc: "2.0", id, error: json!({"code": code, "message": message}) };
    let body = serde_json::to_string(&error).unwrap_or_default();
    let json = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, json)], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_from_what_is_none() {
        for good in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#,
        ] {
            assert!(Envelope::read(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            "",
            "{",
            "[]",
            "1",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        ] {
            let refused = Envelope::read(bad.as_bytes()).err().map(|answer| answer.status());
            assert_eq!(refused, Some(StatusCode::BAD_REQUEST), "{bad}");
        }
    }
}
