//! One server span for each request of an operation, below the caller's span.
//! Must not know: the operation, or where its spans go.

use std::{sync::Arc, time::Instant};

use axum::extract::{FromRequestParts, Request};
use http::{Method, StatusCode, request::Parts};
use plenary_telemetry::{FinishedSpan, Kind, OpenSpan, SpanScope, Spans, Status, TraceParent};
use std::convert::Infallible;

/// The parent span of a request, from its `traceparent`; `None` without one, and when no spans are
/// recorded.
#[derive(Debug, Clone, Default)]
pub struct CallerSpan(pub Option<TraceParent>);

impl<S: Sync> FromRequestParts<S> for CallerSpan {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// The common parts of one operation's spans.
pub(crate) struct TracedOperation {
    spans: Spans,
    id: &'static str,
    route: Option<&'static str>,
}

/// A request with an open span.
pub(crate) struct TracedRequest {
    open: OpenSpan,
    method: &'static str,
    /// The scope that the handler runs under, with its notes. Log lines of the handler carry its trace.
    pub(crate) scope: Arc<SpanScope>,
}

impl TracedOperation {
    /// `route` is in axum's syntax; `None` for requests without an operation.
    pub(crate) fn new(spans: Spans, id: &'static str, route: Option<&'static str>) -> Self {
        Self { spans, id, route }
    }

    /// Begins the span of a request and stores its parent for [`CallerSpan`]. Reads nothing if no spans
    /// are recorded.
    pub(crate) fn begin(&self, request: &mut Request, now: Instant) -> Option<Box<TracedRequest>> {
        if !self.spans.is_on() {
            return None;
        }
        let caller = TraceParent::from_headers(request.headers());
        let open = self.spans.begin(caller.clone(), now)?;
        request.extensions_mut().insert(CallerSpan(caller));
        let scope = SpanScope::new(open.own.clone(), self.id);
        Some(Box::new(TracedRequest { open, method: known(request.method()), scope }))
    }

    /// Ends the span with the head of the reply, like the metrics.
    pub(crate) fn end(&self, traced: TracedRequest, status: StatusCode) {
        let mut attributes = vec![
            ("http.request.method", traced.method.into()),
            ("http.response.status_code", i64::from(status.as_u16()).into()),
        ];
        attributes.extend(self.route.map(|route| ("http.route", route.into())));
        attributes.extend(traced.scope.take());
        if status.is_server_error() {
            attributes.push(("error.type", status.as_str().to_owned().into()));
        }
        let span = FinishedSpan {
            name: self.id.into(),
            kind: Kind::Server,
            parent: None,
            links: Vec::new(),
            start: traced.open.start,
            end: Instant::now(),
            attributes,
            status: if status.is_server_error() { Status::Error } else { Status::Unset },
        };
        self.spans.end(traced.open, span);
    }
}

/// The method, if it is a known one: the number of labels must not depend on clients.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    KNOWN.into_iter().find(|name| *name == method.as_str()).unwrap_or("_OTHER")
}
