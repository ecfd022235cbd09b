//! A client of foreign A2A agents: the card of an agent names its interfaces, JSON-RPC, HTTP+JSON or gRPC.
//! Must not know: runs.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_outward::{
    Pool, deepest,
    sse::{Item, Parser},
    within,
};
use plenary_runs::limits::ARTIFACT_BYTES_MAX;
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use super::{Http2, grpc};
use crate::{
    ConfigFault,
    config::{http2_of, pool_of},
    key::redacted_error,
};

/// The path of an agent's card below its URL.
const CARD: &str = "/.well-known/agent-card.json";
/// The supported version of A2A.
pub(super) const VERSION: &str = "1.0";
/// The characters of a path that must be encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');
/// The longest wait for the start of a response.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// The longest silence of a stream; servers send keepalives.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// Most bytes of a card or a refusal.
const CARD_BYTES_MAX: usize = 1 << 20;
/// Most bytes of one response or event: an artifact in base64.
pub(super) const ANSWER_BYTES_MAX: usize = 2 * ARTIFACT_BYTES_MAX;

/// Calls a foreign agent.
#[derive(Debug)]
pub(super) struct Client {
    pool: Pool,
    http2: Http2,
    /// The URL for gRPC, if the operator configured one.
    grpc: Option<Uri>,
    /// Without a trailing slash.
    url: String,
    token: Option<HeaderValue>,
}

/// The address and binding of an agent, from its card.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) url: Uri,
    binding: Binding,
    /// The agent, if the interface has several.
    tenant: Option<String>,
    /// Whether it supports streams; otherwise it refuses the streaming methods.
    pub(super) streams: bool,
}

/// How a call is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    /// Each call is a POST to the URL of the interface (section 9).
    JsonRpc,
    /// Each method has its path below that URL (section 11).
    HttpJson,
    /// Each method is one of the gRPC service (section 10).
    Grpc,
}

impl Binding {
    /// The binding with this name on a card.
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "JSONRPC" => Some(Self::JsonRpc),
            "HTTP+JSON" => Some(Self::HttpJson),
            "GRPC" => Some(Self::Grpc),
            _ => None,
        }
    }

    /// The HTTP method, the path below the interface, and the body of a call.
    fn request(self, method: &str, params: &Value) -> (Method, String, Option<Value>) {
        if self == Self::JsonRpc {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            return (Method::POST, String::new(), Some(body));
        }
        // The id comes from the other agent, so it is encoded.
        let task = utf8_percent_encode(params["id"].as_str().unwrap_or_default(), ENCODED);
        match method {
            "SendStreamingMessage" => (Method::POST, "/message:stream".into(), Some(params.clone())),
            "SubscribeToTask" => (Method::GET, format!("/tasks/{task}:subscribe"), None),
            "GetTask" => (Method::GET, format!("/tasks/{task}"), None),
            "CancelTask" => (Method::POST, format!("/tasks/{task}:cancel"), Some(json!({}))),
            _ => (Method::POST, "/message:send".into(), Some(params.clone())),
        }
    }
}

/// Why a call has no result, as text for people.
#[derive(Debug)]
pub(super) enum CallError {
    /// The agent was not reached, or its answer was lost: the call may be repeated.
    Unreachable(String),
    /// The agent refused, or its answer is not valid.
    Refused(String),
}

impl CallError {
    pub(super) fn text(self) -> String {
        match self {
            Self::Unreachable(text) | Self::Refused(text) => text,
        }
    }
}

/// The response to a call.
pub(super) enum Answer {
    /// One result.
    Whole(Value),
    /// A stream of results.
    Stream(Box<EventStream>),
}

impl Client {
    pub(super) fn new(
        url: &str,
        grpc: Option<&str>,
        token: Option<HeaderValue>,
    ) -> Result<Self, ConfigFault> {
        let (pool, url) = pool_of(url)?;
        let (http2, uri) = match grpc {
            Some(grpc) => http2_of("grpc", grpc)?,
            None => http2_of("url", &url)?,
        };
        Ok(Self { pool, http2, grpc: grpc.map(|_| uri), url, token })
    }

    /// The endpoint of the agent, from its card.
    pub(super) async fn endpoint(&self) -> Result<Endpoint, String> {
        let uri: Uri = format!("{}{CARD}", self.url).parse().map_err(|_| self.error("its URL is none"))?;
        let card = self.accepted(self.ask(Method::GET, uri.clone(), None).await).await;
        let card = card.map_err(CallError::text)?;
        let card = timeout(ANSWER_TIME, within(card.into_body(), CARD_BYTES_MAX)).await;
        let card = card
            .map_err(|_| self.error("its card did not come in time"))?
            .map_err(|error| self.error(&error))?;
        let card: Value = serde_json::from_slice(&card).map_err(|_| self.error("its card is not JSON"))?;
        // The agent lists them by preference.
        let mut interfaces = card["supportedInterfaces"].as_array().into_iter().flatten();
        let interface_url = interfaces.find_map(|interface| {
            let is_supported = interface["protocolVersion"].as_str()?.starts_with("1.");
            let binding =
                Binding::from_name(interface["protocolBinding"].as_str()?).filter(|_| is_supported)?;
            let is_usable = self.grpc.is_none() || binding == Binding::Grpc;
            Some((binding, interface["url"].as_str()?, interface["tenant"].as_str())).filter(|_| is_usable)
        });
        let no_interface = if self.grpc.is_some() {
            "its card names no interface of A2A 1.x over gRPC"
        } else {
            "its card names no interface of A2A 1.x over JSON-RPC, HTTP+JSON or gRPC"
        };
        let (binding, interface_url, tenant) = interface_url.ok_or_else(|| self.error(no_interface))?;
        let tenant = tenant.filter(|tenant| !tenant.is_empty()).map(str::to_owned);
        let streams = card["capabilities"]["streaming"] == true;
        if let Some(grpc) = &self.grpc {
            return Ok(Endpoint { url: grpc.clone(), binding, tenant, streams });
        }
        // Addresses in gRPC's own form have no scheme.
        let absolute = match (interface_url.contains("://"), uri.scheme_str()) {
            (false, Some(scheme)) => format!("{scheme}://{interface_url}"),
            _ => interface_url.to_owned(),
        };
        let endpoint: Uri =
            absolute.parse().map_err(|_| self.error("its card names an interface that is no URL"))?;
        // The operator trusts one server. If a card could name another one, this server would send requests, token
        // included, to any address that it can reach.
        if origin(&endpoint) != origin(&uri) {
            return Err(self.error("its card names an interface at another server than `url`"));
        }
        Ok(Endpoint { url: endpoint, binding, tenant, streams })
    }

    /// Calls a method.
    pub(super) async fn call(
        &self,
        endpoint: &Endpoint,
        method: &str,
        params: &Value,
    ) -> Result<Answer, CallError> {
        let mut params = params.clone();
        // With HTTP+JSON the tenant is in the path.
        if let Some(tenant) = endpoint.tenant.as_ref().filter(|_| endpoint.binding != Binding::HttpJson) {
            params["tenant"] = tenant.as_str().into();
        }
        if endpoint.binding == Binding::Grpc {
            return self.call_grpc(endpoint, method, params).await;
        }
        let (verb, mut path, body) = endpoint.binding.request(method, &params);
        if let Some(tenant) = endpoint.tenant.as_ref().filter(|_| endpoint.binding == Binding::HttpJson) {
            path = format!("/{}{path}", utf8_percent_encode(tenant, ENCODED));
        }
        let uri = below(&endpoint.url, &path)
            .ok_or_else(|| CallError::Refused(self.error("its card names an odd interface")))?;
        let answer = self.accepted(self.ask(verb, uri, body.as_ref()).await).await?;
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let parser = Parser::holding(ANSWER_BYTES_MAX);
            let (body, binding) = (answer.into_body(), endpoint.binding);
            let results = HttpEvents { binding, body, parser, waiting: VecDeque::new() };
            return Ok(Answer::Stream(Box::new(EventStream::Http(Box::new(results)))));
        }
        let body = timeout(ANSWER_TIME, within(answer.into_body(), ANSWER_BYTES_MAX)).await;
        let body = body
            .map_err(|_| CallError::Unreachable(self.error("its answer did not come in time")))?
            .map_err(|error| CallError::Unreachable(self.error(&error)))?;
        self.result(endpoint.binding, &body).map(Answer::Whole).map_err(CallError::Refused)
    }

    async fn call_grpc(&self, endpoint: &Endpoint, method: &str, params: Value) -> Result<Answer, CallError> {
        let timed_out = || CallError::Unreachable(self.error("it did not answer in time"));
        let opening = grpc::open(&self.http2, &endpoint.url, method, params, self.token.as_ref());
        let response = timeout(ANSWER_TIME, opening).await.map_err(|_| timed_out())?;
        let mut results = response.map_err(|status| self.call_error(&status))?;
        if grpc::is_stream(method) {
            return Ok(Answer::Stream(Box::new(EventStream::Grpc(Box::new(results)))));
        }
        let result = timeout(ANSWER_TIME, results.message()).await.map_err(|_| timed_out())?;
        let result = result.map_err(|status| self.call_error(&status))?;
        result.map(Answer::Whole).ok_or_else(|| CallError::Refused(self.error("its answer is empty")))
    }

    fn call_error(&self, status: &Status) -> CallError {
        let text = self.refusal_text(status);
        if is_broken(status.code()) { CallError::Unreachable(text) } else { CallError::Refused(text) }
    }

    fn refusal_text(&self, status: &Status) -> String {
        let reason = redacted_error(&json!({"message": status.message()}), self.token.as_ref());
        self.error(&format!("it answered {:?}: {reason}", status.code()))
    }

    /// The result or error of a response.
    fn result(&self, binding: Binding, body: &[u8]) -> Result<Value, String> {
        let mut answer: Value =
            serde_json::from_slice(body).map_err(|_| self.error("its answer is not JSON"))?;
        if answer["error"].is_object() {
            return Err(self.error(&redacted_error(&answer, self.token.as_ref())));
        }
        Ok(if binding == Binding::JsonRpc { answer["result"].take() } else { answer })
    }

    async fn ask(
        &self,
        method: Method,
        uri: Uri,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, CallError> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        (*request.method_mut(), *request.uri_mut()) = (method, uri);
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("a2a-version", HeaderValue::from_static(VERSION));
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.clone());
        }
        let answer = match timeout(ANSWER_TIME, self.pool.send(request)).await {
            Ok(answer) => answer.map_err(|error| self.error(&deepest(&error))),
            Err(_) => Err(self.error("it did not answer in time")),
        };
        answer.map_err(CallError::Unreachable)
    }

    async fn accepted(
        &self,
        answer: Result<Response<Incoming>, CallError>,
    ) -> Result<Response<Incoming>, CallError> {
        let answer = answer?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = timeout(ANSWER_TIME, within(answer.into_body(), CARD_BYTES_MAX)).await;
        let body = body.unwrap_or_else(|_| Ok(Bytes::new())).unwrap_or_default();
        let detail = serde_json::from_slice(&body)
            .map_or(String::new(), |error| format!(": {}", redacted_error(&error, self.token.as_ref())));
        let text = self.error(&format!("it answered {status}{detail}"));
        // What a proxy answers while the agent's server restarts.
        let is_passing = matches!(
            status,
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
        );
        Err(if is_passing { CallError::Unreachable(text) } else { CallError::Refused(text) })
    }

    pub(super) fn error(&self, problem: &str) -> String {
        format!("the agent at {} could not be asked: {problem}", self.url)
    }
}

/// A path below an interface, whose URL may end with a slash or have a query.
fn below(interface: &Uri, path: &str) -> Option<Uri> {
    if path.is_empty() {
        return Some(interface.clone());
    }
    let query = interface.query().map(|query| format!("?{query}")).unwrap_or_default();
    let absolute = format!("{}{path}{query}", interface.path().trim_end_matches('/'));
    let mut parts = interface.clone().into_parts();
    parts.path_and_query = Some(absolute.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> (Option<&str>, Option<String>, Option<u16>) {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let port = uri.authority().map(|authority| authority.port_u16().unwrap_or(usual));
    (uri.scheme_str(), uri.host().map(str::to_ascii_lowercase), port)
}

/// The results of a stream.
pub(super) enum EventStream {
    Http(Box<HttpEvents>),
    Grpc(Box<Streaming<Value>>),
}

/// The results of server-sent events.
pub(super) struct HttpEvents {
    binding: Binding,
    body: Incoming,
    parser: Parser,
    waiting: VecDeque<Item>,
}

impl EventStream {
    /// The next result; `None` once the stream has ended for any reason. Cancel-safe.
    pub(super) async fn next(&mut self, client: &Client) -> Result<Option<Value>, String> {
        match self {
            Self::Http(events) => events.next(client).await,
            Self::Grpc(results) => match timeout(SILENCE_MAX, results.message()).await {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(status)) if !is_broken(status.code()) => Err(client.refusal_text(&status)),
                Ok(Err(_)) | Err(_) => Ok(None),
            },
        }
    }
}

/// Whether the stream ended because of the connection between the two servers.
const fn is_broken(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
    )
}

impl HttpEvents {
    async fn next(&mut self, client: &Client) -> Result<Option<Value>, String> {
        loop {
            while let Some(item) = self.waiting.pop_front() {
                if let Item::Event(event) = item {
                    return client.result(self.binding, event.data.as_bytes()).map(Some);
                }
            }
            let Ok(Some(Ok(part))) = timeout(SILENCE_MAX, self.body.frame()).await else { return Ok(None) };
            let Some(bytes) = part.data_ref() else { continue };
            let mut items = Vec::new();
            self.parser.feed(bytes, &mut items).map_err(|error| client.error(&error.to_string()))?;
            self.waiting.extend(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted;

    fn card(interface: &str) -> String {
        let interface = json!({"url": interface, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let body = json!({"supportedInterfaces": [interface]}).to_string();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    #[tokio::test]
    async fn a_card_names_an_interface_at_its_own_server_alone() {
        for other in ["http://127.0.0.1:1/rpc", "http://169.254.169.254/latest", "https://agents.example/rpc"]
        {
            let (origin, serving) = scripted(vec![card(other)]).await;
            let refused = Client::new(&origin, None, None).unwrap().endpoint().await.expect_err("refused");
            assert!(refused.contains("another server"), "{refused}");
            serving.await.unwrap();
        }
    }

    #[test]
    fn a_call_has_its_path_below_the_interface() {
        let written = |interface: &str, method: &str| {
            let params = json!({"id": "a/../b?c", "message": {}});
            let (verb, path, body) = Binding::HttpJson.request(method, &params);
            let uri = below(&interface.parse().unwrap(), &path).unwrap();
            (verb, uri.to_string(), body.is_some_and(|body| body == params))
        };
        let base = "https://h/a2a";
        assert_eq!(
            written("https://h", "SendMessage"),
            (Method::POST, "https://h/message:send".into(), true)
        );
        assert_eq!(
            written("https://h/a2a/?k=v", "SendStreamingMessage"),
            (Method::POST, "https://h/a2a/message:stream?k=v".into(), true)
        );
        let task = format!("{base}/tasks/a%2F%2E%2E%2Fb%3Fc");
        assert_eq!(written(base, "GetTask"), (Method::GET, task.clone(), false));
        assert_eq!(written(base, "SubscribeToTask"), (Method::GET, format!("{task}:subscribe"), false));
        assert_eq!(written(base, "CancelTask"), (Method::POST, format!("{task}:cancel"), false));
        let (verb, path, body) = Binding::JsonRpc.request("GetTask", &json!({"id": "t"}));
        assert_eq!((verb, path.as_str()), (Method::POST, ""));
        assert_eq!(body.unwrap()["params"]["id"], "t");
    }

    #[test]
    fn a_port_that_is_the_usual_one_may_be_left_out() {
        let origin_of = |text: &str| {
            let uri: Uri = text.parse().unwrap();
            let (scheme, host, port) = origin(&uri);
            (scheme.map(str::to_owned), host, port)
        };
        assert_eq!(origin_of("https://Agents.example/a"), origin_of("https://agents.example:443/b"));
        assert_ne!(origin_of("https://agents.example/a"), origin_of("http://agents.example:443/a"));
        assert_ne!(origin_of("http://agents.example/a"), origin_of("http://agents.example:8080/a"));
    }
}
