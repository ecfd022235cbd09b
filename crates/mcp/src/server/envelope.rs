//! The envelope of a message, checked before its content: whether it is JSON-RPC, and the form of a refusal.
//! Must not know: methods, or the caller.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

/// The bytes are not JSON.
pub(super) const PARSE_ERROR: i64 = -32_700;
/// The JSON is not a message.
pub(super) const INVALID_REQUEST: i64 = -32_600;
/// The URL's query asks for something that does not exist.
pub(super) const INVALID_PARAMS: i64 = -32_602;
/// The request is well formed but refused: a missing or foreign token, too many at once.
pub(super) const REFUSED: i64 = -32_000;

/// The member of `_meta` in which a request without a session names its revision.
const REVISION: &str = "\"io.modelcontextprotocol/protocolVersion\"";

/// Longest name of a tool.
const TOOL_NAME_BYTES_MAX: usize = 64;

/// The members that are read of every message.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    jsonrpc: Option<Value>,
    /// Absent in a notification; null is not absent.
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Option<Value>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The required parameters of `initialize`.
#[derive(Debug, Deserialize)]
struct InitializeParams {
    #[serde(rename = "protocolVersion")]
    _protocol_version: String,
    #[serde(rename = "capabilities")]
    _capabilities: serde_json::Map<String, Value>,
    #[serde(rename = "clientInfo")]
    _client_info: Client,
}

#[derive(Debug, Deserialize)]
struct Client {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
}

/// The parameters that are read of a request for notices.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListenParams {
    notifications: NotificationFilter,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NotificationFilter {
    resource_subscriptions: Vec<String>,
}

impl<'a> Envelope<'a> {
    /// Parses a message.
    ///
    /// # Errors
    /// The answer to bytes that are not a message.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Box<Response>> {
        let bad = |code, text: &str| Box::new(refusal(StatusCode::BAD_REQUEST, None, code, text));
        // The same strict check as of every other body: of two members with one name, a tool would take the last.
        if let Err(fault) = plenary_kernel::json::check(bytes) {
            return Err(bad(PARSE_ERROR, &format!("Parse error: the body is not strict JSON: {fault}.")));
        }
        let envelope: Self = serde_json::from_slice(bytes).map_err(|_| {
            bad(
                INVALID_REQUEST,
                "Invalid request: send one JSON-RPC message, an object; batches are not accepted.",
            )
        })?;
        let is_reply = envelope.result.is_some() || envelope.error.is_some();
        let is_known = envelope.method.as_ref().is_some_and(Value::is_string) || is_reply;
        // A client's error reply to an unreadable message has a null id.
        let has_id = envelope.id.is_none_or(|id| is_id(id.get()) || is_reply && id.get() == "null");
        if envelope.jsonrpc.as_ref().is_none_or(|version| version != "2.0") || !is_known || !has_id {
            return Err(bad(
                INVALID_REQUEST,
                "Invalid request: a message has `jsonrpc` 2.0, a `method`, and an `id` of text or a whole number.",
            ));
        }
        if envelope.params.is_some_and(|params| !params.get().starts_with('{')) {
            return Err(bad(INVALID_REQUEST, "Invalid request: `params` must be an object."));
        }
        Ok(envelope)
    }

    /// The id of a request; a notification and a reply have none of this kind.
    pub(super) fn request_id(&self) -> Option<&'a RawValue> {
        self.id.filter(|_| self.method.is_some())
    }

    /// The called tool, if any; cut to the maximum length of a name.
    pub(super) fn tool(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let is_call = self.method.as_ref().is_some_and(|method| method == "tools/call");
        let named: Named = serde_json::from_str(self.params.filter(|_| is_call)?.get()).ok()?;
        (named.name.len() <= TOOL_NAME_BYTES_MAX).then_some(named.name)
    }

    /// The resources for which a request without a session wants notices, if it is such a request: their marks must be
    /// taken before it is acknowledged.
    pub(super) fn subscribed(&self) -> Option<Vec<String>> {
        self.method.as_ref().filter(|method| *method == "subscriptions/listen")?;
        let params = self.params.map(RawValue::get).unwrap_or("{}");
        let params: ListenParams = serde_json::from_str(params).unwrap_or_default();
        Some(params.notifications.resource_subscriptions)
    }

    /// Whether it starts a session.
    ///
    /// # Errors
    /// The answer to an invalid `initialize`.
    pub(super) fn starts_session(&self) -> Result<bool, Box<Response>> {
        if !self.is_initialize() {
            return Ok(false);
        }
        let params = self.params.map_or("{}", RawValue::get);
        match serde_json::from_str::<InitializeParams>(params) {
            Ok(_) => Ok(true),
            // The revision that it names has no such method; the handler refuses it.
            Err(_) if params.contains(REVISION) => Ok(true),
            Err(error) => {
                let text = format!(
                    "Invalid params for initialize: it takes `protocolVersion`, `capabilities`, and `clientInfo` with \
                     `name` and `version` ({}).",
                    plainly(&error)
                );
                Err(Box::new(refusal(StatusCode::BAD_REQUEST, self.id, INVALID_PARAMS, &text)))
            }
        }
    }

    /// Whether it asks for the list of tools.
    pub(super) fn lists_tools(&self) -> bool {
        self.method.as_ref().is_some_and(|method| method == "tools/list")
    }

    /// Whether it is an `initialize`.
    pub(super) fn is_initialize(&self) -> bool {
        self.method.as_ref().is_some_and(|method| method == "initialize")
    }
}

fn is_id(raw: &str) -> bool {
    raw.starts_with('"') || raw.trim_start_matches('-').chars().all(|digit| digit.is_ascii_digit())
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(reader: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(reader).map(Some)
}

/// A JSON parser's error without its position: the message is one line.
fn plainly(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Largest refusal in bytes that is converted to JSON-RPC.
const REFUSAL_BYTES_MAX: usize = 4 << 10;

/// A plain text refusal in the form of JSON-RPC; any other answer unchanged.
pub(super) async fn with_error_body(answer: Response, id: Option<&RawValue>) -> Response {
    let status = answer.status();
    let is_json = answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !(status.is_client_error() || status.is_server_error()) || is_json {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let limited = http_body_util::Limited::new(body, REFUSAL_BYTES_MAX);
    let text = limited.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let code = if status == StatusCode::BAD_REQUEST { INVALID_REQUEST } else { REFUSED };
    let mut refused = refusal(status, id, code, text.trim());
    for (name, value) in parts.headers {
        if let Some(name) = name.filter(|name| ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name))
        {
            refused.headers_mut().insert(name, value);
        }
    }
    refused.map(Body::new)
}

#[derive(Serialize)]
struct Error<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    error: Value,
}

/// A refusal outside a stream.
#[derive(JsonSchema)]
#[schemars(rename = "JsonRpcError")]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct ErrorBody {
    /// Always `2.0`.
    jsonrpc: String,
    /// The id of the refused request; null if it is unknown.
    id: Option<Value>,
    /// The error.
    error: ErrorDetail,
}

/// The error.
#[derive(JsonSchema)]
#[schemars(rename = "JsonRpcErrorDetail")]
#[expect(dead_code, reason = "only its schema is used")]
struct ErrorDetail {
    /// The error code of JSON-RPC.
    code: i64,
    /// The text for people.
    message: String,
}

/// A refusal with a status, in the form of JSON-RPC.
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
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
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
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        ] {
            let refused = Envelope::read(bad.as_bytes()).err().map(|answer| answer.status());
            assert_eq!(refused, Some(StatusCode::BAD_REQUEST), "{bad}");
        }
    }
}
