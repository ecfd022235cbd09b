//! The server's own operations, called in process: the same router, the same checks, no socket.
//! Must not know: the purpose of the operations.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::{Allowance, CallerSpan, OperationDoc, Origin, OwnPage, Peer};

/// The operations of the rooms, and their router.
#[derive(Clone)]
pub struct Operations {
    router: Router,
    docs: Arc<[OperationDoc]>,
    origin: Option<Arc<Origin>>,
}

/// The identity under which an operation is called: the headers, and the listener's notes about the
/// connection.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    headers: HeaderMap,
    extensions: Extensions,
}

/// The response of an operation.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// The body of a response was interrupted.
#[derive(Debug, thiserror::Error)]
#[error("the answer of {path} broke off: {source}")]
pub struct BrokenOff {
    path: String,
    source: axum::Error,
}

/// Headers of one request, which do not describe the caller.
const OF_THE_REQUEST: [header::HeaderName; 9] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::ACCEPT,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::EXPECT,
    header::IF_NONE_MATCH,
    header::HeaderName::from_static("idempotency-key"),
    header::HeaderName::from_static("last-event-id"),
];

impl Operations {
    /// The operations of a router; `docs` describe them.
    pub fn new(router: Router, docs: Vec<OperationDoc>) -> Self {
        Self { router, docs: docs.into(), origin: None }
    }

    /// Sets the server's URL for clients.
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = Some(Arc::new(origin));
        self
    }

    /// The base URL for this caller, without a slash at its end; empty if it was not set.
    pub fn base_url(&self, caller: &Caller) -> String {
        let unknown = Peer(SocketAddr::from(([0; 4], 0)));
        let peer = caller.extensions.get().copied().unwrap_or(unknown);
        self.origin.as_ref().map(|origin| origin.base_url(peer.0, &caller.headers)).unwrap_or_default()
    }

    /// Their descriptions.
    pub fn docs(&self) -> &[OperationDoc] {
        &self.docs
    }

    /// Calls one: `path` with its query, percent-encoded; `body` as JSON.
    ///
    /// # Errors
    /// When the body of the response is interrupted.
    pub async fn ask(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, BrokenOff> {
        let (parts, body) = self.open(caller, method, path, body).await.into_parts();
        let collected = body.collect().await;
        let body = collected.map_err(|source| BrokenOff { path: path.to_owned(), source })?.to_bytes();
        Ok(Reply { status: parts.status, headers: parts.headers, body })
    }

    /// Calls one as [`Operations::ask`], and returns the response when it begins: for streams, which
    /// have no end.
    pub async fn open(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Response<Body> {
        let sent = body.map(|value| Body::from(value.to_string()));
        let mut request = Request::new(sent.unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap_or_default();
        if body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        self.carry(caller, request).await
    }

    /// Calls one with this method, path and body, and returns the response when it begins. The caller's headers join those of
    /// the request, which has precedence.
    pub async fn carry(&self, caller: &Caller, mut request: Request<Body>) -> Response<Body> {
        let own = std::mem::replace(request.headers_mut(), caller.headers.clone());
        request.headers_mut().extend(own);
        *request.extensions_mut() = caller.extensions.clone();
        // Its response is not the caller's, and has an allowance of its own.
        let allowance = caller.extensions.get::<Allowance>().map(Allowance::within);
        if let Some(allowance) = &allowance {
            request.extensions_mut().insert(allowance.clone());
        }
        let answered: Result<_, Infallible> = self.router.clone().oneshot(request).await;
        if let (Some(outer), Some(inner)) = (caller.extensions.get::<Allowance>(), &allowance) {
            outer.note_refusal_of(inner);
        }
        drop(allowance);
        let Ok(response) = answered;
        response
    }
}

impl Caller {
    /// The caller of this request.
    pub fn of(parts: &http::request::Parts) -> Self {
        let mut headers = parts.headers.clone();
        for name in OF_THE_REQUEST {
            headers.remove(name);
        }
        // Inner calls belong to the span of the request.
        let own = plenary_telemetry::current().and_then(|own| own.to_string().parse().ok());
        if let Some(own) = own {
            headers.insert("traceparent", own);
        }
        // The listener's notes about the connection; the router's notes about the request's path do not
        // apply to another request.
        let mut extensions = Extensions::new();
        copy::<Peer>(&parts.extensions, &mut extensions);
        copy::<OwnPage>(&parts.extensions, &mut extensions);
        copy::<Allowance>(&parts.extensions, &mut extensions);
        copy::<CallerSpan>(&parts.extensions, &mut extensions);
        Self { headers, extensions }
    }

    /// The same caller with another header, such as an `Idempotency-Key`.
    pub fn with(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same caller without one of its headers.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// The same caller without its headers, so without its credentials.
    pub fn without_headers(mut self) -> Self {
        self.headers.clear();
        self
    }

    /// Notes that the caller's request waits for something that may take long: until then it holds no budget for its answer.
    pub fn waits(&self) {
        if let Some(allowance) = self.extensions.get::<Allowance>() {
            allowance.release();
        }
    }

    /// A header of the caller.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The caller with a note, as the listener would add it; for callers within the process.
    pub fn known_as<T: Clone + Send + Sync + 'static>(mut self, what: T) -> Self {
        self.extensions.insert(what);
        self
    }
}

fn copy<T: Clone + Send + Sync + 'static>(from: &Extensions, to: &mut Extensions) {
    if let Some(what) = from.get::<T>() {
        to.insert(what.clone());
    }
}

impl Reply {
    /// The body as JSON; as text if it is not JSON.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&self.body).into_owned()))
    }
}
