//! One line of the client: a message, its HTTP headers, and the errors that this command itself returns.
//! Must not know: connections.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue};
use plenary_client::{Error, FaultKind, RawReply};
use plenary_mcp::server::LocalAnswers;
use serde_json::{Map, Value, json};

use crate::cli::whole_pairs::with_whole_pairs;

/// The member in which a request names its protocol revision.
const VERSION_OF_REQUEST: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header with the coding agent's session whose model asks.
pub(super) const CODING_SESSION: HeaderName = HeaderName::from_static("plenary-coding-session");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The error code for failures without a code in the protocol: the server refused, or is away.
const REFUSED: i64 = -32_000;
const PARSE_ERROR: i64 = -32_700;
const METHOD_NOT_FOUND: i64 = -32_601;

pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// The line, without its line break.
    pub(super) text: String,
    /// Absent in a notification.
    pub(super) id: Option<Value>,
    /// Empty in a reply to the server.
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl Message {
    /// Parses a line; an error is the reply to the client.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let wrong = |id: &Value, text: &str| error(id, PARSE_ERROR, text, Value::Null);
        let value: Value = serde_json::from_str(line).map_err(|fault| {
            // A program that cuts text sends half a surrogate pair; its call ends only with an answer to its id.
            let mended = serde_json::from_str::<Value>(&with_whole_pairs(line)).unwrap_or_default();
            wrong(&mended["id"], &format!("Parse error: this line is not JSON: {fault}."))
        })?;
        let Value::Object(mut members) = value else {
            return Err(wrong(&Value::Null, "Parse error: a line must be one JSON-RPC message, an object."));
        };
        let params = match members.remove("params") {
            Some(Value::Object(params)) => params,
            Some(_) | None => Map::new(),
        };
        let method = members.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { text: line.to_owned(), id: members.remove("id"), method, params })
    }

    /// Whether it waits for a reply.
    pub(super) fn is_request(&self) -> bool {
        self.id.is_some() && !self.method.is_empty()
    }

    /// Whether the server may receive it twice: every message except a call only reads, or sets a value again.
    pub(super) fn is_repeatable(&self) -> bool {
        self.method != "tools/call"
    }

    /// Whether every server of this version answers it alike.
    pub(super) fn has_equal_answers(&self) -> bool {
        self.is_request() && LocalAnswers::knows(&self.method)
    }

    /// Its protocol revision, if it needs no session.
    pub(super) fn version_without_session(&self) -> Option<&str> {
        self.params.get("_meta")?.get(VERSION_OF_REQUEST)?.as_str()
    }

    /// The request that it cancels.
    pub(super) fn cancels(&self) -> Option<&Value> {
        (self.method == "notifications/cancelled").then(|| self.params.get("requestId"))?
    }

    /// The headers of a request without a session, which repeat some of its members.
    pub(super) fn headers(&self, version: &str) -> Headers {
        let mut headers = vec![(VERSION, value(version)), (METHOD, value(&self.method))];
        let name = match self.method.as_str() {
            "tools/call" | "prompts/get" => self.params.get("name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => self.params.get("uri"),
            _ => None,
        };
        if let Some(name) = name.and_then(Value::as_str) {
            headers.push((NAME, value(name)));
        }
        headers
    }

    /// The answer to an unknown method.
    pub(super) fn unknown(&self) -> String {
        let text = format!("Method not found: {}", self.method);
        error(self.id.as_ref().unwrap_or(&Value::Null), METHOD_NOT_FOUND, &text, Value::Null)
    }

    /// The error for the client if the message was not answered.
    pub(super) fn failed(&self, failed: &Error, server: &str) -> String {
        let (text, kind) = match failed {
            Error::Network(fault) if fault.kind == FaultKind::Lost && self.method == "tools/call" => (
                format!("{failed}; the server may have carried out the call, so check before you repeat it"),
                "lost",
            ),
            Error::Network(fault) if fault.kind == FaultKind::Lost => (failed.to_string(), "lost"),
            Error::Network(fault) if fault.kind == FaultKind::Unproved => (
                format!(
                    "{failed}; `plenary doctor` shows what is wrong, and `plenary connect` in this directory saves a token for the \
                     server"
                ),
                "unproved",
            ),
            // It does not refuse connections, so it may run.
            Error::Network(fault) if fault.kind == FaultKind::Unreachable => (
                format!("{failed}; `plenary status` shows whether it runs, and `plenary serve` starts it"),
                "unreachable",
            ),
            Error::Network(_) => {
                (format!("{failed}; is it running? `plenary serve` starts it"), "unreachable")
            }
            Error::Refused(_) | Error::Unreadable(_) | Error::Invalid(_) => (failed.to_string(), "failed"),
        };
        let data = json!({"server": server, "reason": kind});
        error(self.id.as_ref().unwrap_or(&Value::Null), REFUSED, &text, data)
    }

    /// The error for the client if there is no server to send the message to.
    pub(super) fn unreachable(&self, text: &str) -> String {
        error(self.id.as_ref().unwrap_or(&Value::Null), REFUSED, text, json!({"reason": "unreachable"}))
    }

    /// The reply to the client for an answer that is not a stream; `None` for a notification.
    pub(super) fn answer_line(&self, reply: &RawReply) -> Option<String> {
        let id = self.id.as_ref()?;
        if let Ok(mut message) = serde_json::from_slice::<Value>(&reply.body)
            && message["jsonrpc"] == "2.0"
        {
            if message["id"].is_null() {
                message["id"] = id.clone();
            }
            if reply.status == 401 {
                let text = message["error"]["message"].as_str().unwrap_or_default();
                message["error"]["message"] = json!(format!(
                    "The server does not accept this token: {text} `plenary token list` shows the saved ones, and \
                     `plenary connect` in this directory or `plenary agent rotate-token` makes a new one."
                ));
            }
            return Some(message.to_string());
        }
        let text = String::from_utf8_lossy(&reply.body);
        let text = format!("The server answered {}: {}", reply.status, text.trim());
        Some(error(id, REFUSED, &text, json!({"status": reply.status})))
    }
}

/// A header's value, with the encoding of revision 2026-07-28 for text that is not allowed in a header.
fn value(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let written = if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    HeaderValue::from_str(&written).unwrap_or_else(|_| HeaderValue::from_static(""))
}

fn error(id: &Value, code: i64, message: &str, data: Value) -> String {
    let mut error = json!({"code": code, "message": message});
    if !data.is_null() {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    fn read(text: &str) -> Message {
        Message::read(text).unwrap()
    }

    #[test]
    fn lines_that_are_not_messages_get_a_parse_error() {
        for line in ["", "{", "[]", "7", "hello"] {
            let error: Value = serde_json::from_str(&Message::read(line).unwrap_err()).unwrap();
            assert_eq!(
                (&error["id"], &error["error"]["code"]),
                (&Value::Null, &json!(PARSE_ERROR)),
                "{line}"
            );
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_with_the_id_of_its_request() {
        let call = |text: &str| {
            let line =
                format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"a":"{text}"}},"id":7}}"#);
            Message::read(&line)
        };
        for broken in [r"a\ud83d", r"\udc00 \\ud83d", r"\ud83d\u0041", r"ä\ud83dä"] {
            let error: Value = serde_json::from_str(&call(broken).unwrap_err()).unwrap();
            assert_eq!((&error["id"], &error["error"]["code"]), (&json!(7), &json!(PARSE_ERROR)), "{broken}");
        }
        for whole in [r"\ud83d\ude00", r"\\ud83d", r"\u00e4\n"] {
            call(whole).unwrap();
        }
    }

    #[test]
    fn a_request_without_a_session_is_repeated_in_headers() {
        let meta = json!({VERSION_OF_REQUEST: "2026-07-28"});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "send", "_meta": meta}});
        let call = read(&call.to_string());
        let headers: Vec<_> = call.headers(call.version_without_session().unwrap());
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let expected =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "send")];
        assert_eq!(headers, expected);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).version_without_session(), None);
    }

    #[test]
    fn text_that_no_header_can_contain_is_encoded() {
        assert_eq!(value("plenary://sessions/a b"), "plenary://sessions/a b");
        assert_eq!(value("ä"), "=?base64?w6Q=?=");
        assert_eq!(value(" a"), "=?base64?IGE=?=");
        assert_eq!(value("=?base64?YQ==?="), "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }

    #[test]
    fn a_refusal_answers_the_request_that_it_refuses() {
        let reply = |status, body: &'static str| RawReply {
            status,
            headers: HeaderMap::new(),
            body: Bytes::from_static(body.as_bytes()),
        };
        let ping = read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        let refused = reply(401, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No."}}"#);
        let error: Value = serde_json::from_str(&ping.answer_line(&refused).unwrap()).unwrap();
        assert_eq!(error["id"], "a");
        assert!(error["error"]["message"].as_str().unwrap().contains("does not accept this token: No."));
        let error: Value =
            serde_json::from_str(&ping.answer_line(&reply(502, "bad gateway")).unwrap()).unwrap();
        assert_eq!(error["error"]["message"], "The server answered 502: bad gateway");
        let notice = read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(notice.answer_line(&refused), None);
    }
}
