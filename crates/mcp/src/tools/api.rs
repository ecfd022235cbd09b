//! One caller's calls to the operations: writes paths and queries, reads replies, and gives refusals of all rooms one
//! form.
//! Must not know: any one operation.

use std::borrow::Cow;

use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_edge::OperationDoc;
use serde_json::{Map, Value};

use crate::{
    operations::{Caller, Operations, Reply},
    tool::{CallOutcome, ClientPerson},
};

/// The characters that need no encoding in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'@');

/// The refusal of a token that the request of the tool was admitted with: it is neither unknown nor revoked.
const WRONG_TOKEN: &str = "This token may not be used for this operation: speaking as an agent needs an agent's token, not \
                           an owner's or the operator's.";
/// The advice for a value that is too large for one call.
const TOO_LARGE_ADVICE: &str =
    " Send it in parts, or store it in a file that the others can read, and send the path.";

/// An operation by its method and its path, as the rooms serve it.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
}

/// A tool's refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The outcome of a tool.
pub(crate) type Answer = Result<Value, Refusal>;

/// The operations that a tool calls, on behalf of its caller.
#[derive(Clone)]
pub(crate) struct ToolApi {
    pub(crate) operations: Operations,
    pub(crate) caller: Caller,
    /// The person at the client who can be asked.
    pub(crate) person: Option<ClientPerson>,
    /// The peer whose operations are called, if not those of this network.
    pub(crate) peer: Option<String>,
    /// The offset of the requested part, if the result is read in parts.
    pub(crate) offset: Option<usize>,
}

pub(crate) const fn get(path: &'static str) -> Route {
    Route { method: Method::GET, path }
}

pub(crate) const fn post(path: &'static str) -> Route {
    Route { method: Method::POST, path }
}

pub(crate) const fn delete(path: &'static str) -> Route {
    Route { method: Method::DELETE, path }
}

impl Route {
    pub(crate) fn is(&self, doc: &OperationDoc) -> bool {
        self.method == *doc.method() && self.path == doc.path()
    }

    /// The path with these values for its parameters, in order, and this query.
    pub(crate) fn at(&self, values: &[&str], query: &[(&str, &str)]) -> String {
        let mut values = values.iter();
        let segment = |part: &str| match part.starts_with('{') {
            true => utf8_percent_encode(values.next().copied().unwrap_or_default(), SEGMENT).to_string(),
            false => part.to_owned(),
        };
        let mut path = self.path.split('/').map(segment).collect::<Vec<_>>().join("/");
        for (nth, (name, value)) in query.iter().enumerate() {
            path.push(if nth == 0 { '?' } else { '&' });
            path.push_str(name);
            path.push('=');
            path.extend(utf8_percent_encode(value, SEGMENT));
        }
        path
    }
}

impl Refusal {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// A refusal of invalid arguments.
    pub(crate) fn arguments(message: impl Into<String>) -> Self {
        Self::new("invalid_arguments", message)
    }

    /// The refusal in a reply, in whichever room's form.
    pub(crate) fn of(reply: &Reply) -> Self {
        let body = reply.value();
        let body = body.get("error").filter(|error| error.is_object()).unwrap_or(&body);
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let code = text("code").unwrap_or("refused").to_owned();
        let mut message =
            text("message").or(text("detail")).unwrap_or("The operation was refused.").to_owned();
        if let Some(field) = text("field").filter(|field| !message.contains(field)) {
            message = format!("{field}: {message}");
        }
        if code == "invalid_authorization" {
            WRONG_TOKEN.clone_into(&mut message);
        }
        if reply.status == StatusCode::PAYLOAD_TOO_LARGE {
            message.push_str(TOO_LARGE_ADVICE);
        }
        if let Some(after) = reply.headers.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok()) {
            message.push_str(&format!(" Try again in {after} s."));
        }
        Self { code, message }
    }
}

impl From<Refusal> for CallOutcome {
    fn from(Refusal { code, message }: Refusal) -> Self {
        Self::Refused { code, message }
    }
}

impl ToolApi {
    /// Whether the server has this operation.
    pub(crate) fn has(&self, route: &Route) -> bool {
        has(&self.operations, route)
    }

    /// The same caller, for the operations of a peer.
    pub(crate) fn at_peer(self, peer: Option<String>) -> Self {
        Self { peer, ..self }
    }

    /// The arguments of another call of the same tool, in the same network.
    pub(crate) fn again(&self, mut arguments: Value) -> Value {
        if let Some(peer) = &self.peer {
            arguments["peer"] = peer.as_str().into();
        }
        arguments
    }

    fn at<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let at_peer = |peer| format!("/peers/{}{path}", utf8_percent_encode(peer, SEGMENT)).into();
        self.peer.as_deref().map_or(Cow::Borrowed(path), at_peer)
    }

    /// Calls an operation; a refusal is an error.
    pub(crate) async fn reply(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Refusal> {
        let reply = self.operations.ask(&self.caller, method, &self.at(path), body).await;
        let reply =
            reply.map_err(|_| Refusal::new("broken_off", "The answer was interrupted; try again."))?;
        if reply.status.is_success() { Ok(reply) } else { Err(Refusal::of(&reply)) }
    }

    /// The answer of a reading operation.
    pub(crate) async fn read(&self, route: &Route, values: &[&str], query: &[(&str, &str)]) -> Answer {
        Ok(self.reply(route.method.clone(), &route.at(values, query), None).await?.value())
    }

    /// The answer of an operation with a body.
    pub(crate) async fn write(&self, route: &Route, values: &[&str], body: &Value) -> Answer {
        Ok(self.reply(route.method.clone(), &route.at(values, &[]), Some(body)).await?.value())
    }

    /// Opens the stream of an operation.
    pub(crate) async fn open(&self, path: &str) -> Result<Response<Body>, Refusal> {
        let response = self.operations.open(&self.caller, Method::GET, &self.at(path), None).await;
        if response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Err(Refusal::of(&Reply { status: parts.status, headers: parts.headers, body }))
    }

    /// The same caller without one of its headers.
    pub(crate) fn without(&self, name: &str) -> Self {
        Self { caller: self.caller.clone().without(name), ..self.clone() }
    }

    /// The same caller with one more header.
    pub(crate) fn with(&self, name: &'static str, value: &str) -> Result<Self, Refusal> {
        let value = HeaderValue::try_from(value)
            .map_err(|_| Refusal::arguments(format!("`{value}` is not valid in a header.")))?;
        let caller = self.caller.clone().with(HeaderName::from_static(name), value);
        Ok(Self { caller, ..self.clone() })
    }
}

/// Whether a server has this operation.
pub(crate) fn has(operations: &Operations, route: &Route) -> bool {
    operations.docs().iter().any(|doc| route.is(doc))
}

/// The arguments that a `Link` header with `rel="next"` adds for the next page.
pub(crate) fn next_of(headers: &HeaderMap) -> Option<Map<String, Value>> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let (url, rel) = link.split_once('>')?;
    let (_, query) = url.split_once('?')?;
    rel.contains("next").then(|| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let text = |value: &str| percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned();
        pairs.map(|(name, value)| (name.to_owned(), text(value).into())).collect()
    })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_call_is_to_the_same_network() {
        let operations = Operations::new(Router::new(), Vec::new());
        let api = ToolApi { operations, caller: Caller::default(), person: None, peer: None, offset: None };
        assert_eq!(api.again(json!({"id": "a"})), json!({"id": "a"}));
        let api = api.at_peer(Some("rose".to_owned()));
        assert_eq!(api.again(json!({"id": "a"})), json!({"id": "a", "peer": "rose"}));
    }
}
