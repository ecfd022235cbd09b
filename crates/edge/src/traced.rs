//! One server span for each request of an operation, below the caller's span.
//! Must not know: the operation, or where its spans go.

use std::time::Instant;

use axum::extract::{FromRequestParts, Request};
use http::{Method, StatusCode, request::Parts};
use plenary_telemetry::{FinishedSpan, Kind, OpenSpan, Spans, Status, TraceParent};
use std::convert::Infallible;

/// The span that a request belongs to, as its `traceparent` says; `None` when it says nothing, and when no spans are
/// recorded.
#[derive(Debug, Clone, Default)]
pub struct CallerSpan(pub Option<TraceParent>);

impl<S: Sync> FromRequestParts<S> for CallerSpan {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}

/// What the spans of one operation have in common.
pub(crate) struct TracedOperation {
    spans: Spans,
    id: &'static str,
    route: Option<&'static str>,
}

/// A request that is being answered under a span.
pub(crate) struct TracedRequest {
    begun: OpenSpan,
    method: &'static str,
    /// Log lines written while the handler runs carry the trace.
    pub(crate) log: tracing::Span,
}

impl TracedOperation {
    /// `route` in axum's syntax; none for what no operation serves.
    pub(crate) fn new(spans: Spans, id: &'static str, route: Option<&'static str>) -> Self {
        Self { spans, id, route }
    }

    /// Begins the span of a request and leaves its caller's where [`CallerSpan`] finds it. Nothing is looked at when
    /// no spans are recorded.
    pub(crate) fn begin(&self, request: &mut Request, now: Instant) -> Option<Box<TracedRequest>> {
        if !self.spans.is_on() {
            return None;
        }
        let caller = TraceParent::from_headers(request.headers());
        let begun = self.spans.begin(caller.clone(), now)?;
        request.extensions_mut().insert(CallerSpan(caller));
        // At the level of errors, so that no filter that lets a line through takes its trace away.
        let log = tracing::error_span!("request", operation = self.id, trace_id = %begun.own.trace_id());
        Some(Box::new(TracedRequest { begun, method: known(request.method()), log }))
    }

    /// Ends the span with the head of the reply, as the metrics do.
    pub(crate) fn end(&self, traced: TracedRequest, status: StatusCode) {
        let mut attributes = vec![
            ("http.request.method", traced.method.into()),
            ("http.response.status_code", i64::from(status.as_u16()).into()),
        ];
        attributes.extend(self.route.map(|route| ("http.route", route.into())));
        if status.is_server_error() {
            attributes.push(("error.type", status.as_str().to_owned().into()));
        }
        let span = FinishedSpan {
            name: self.id.into(),
            kind: Kind::Server,
            parent: None,
            start: traced.begun.start,
            end: Instant::now(),
            attributes,
            status: if status.is_server_error() { Status::Error } else { Status::Unset },
        };
        self.spans.end(traced.begun, span);
    }
}

/// The method, if it is a known one: the labels of requests must not grow with what strangers send.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    KNOWN.into_iter().find(|name| *name == method.as_str()).unwrap_or("_OTHER")
}
