//! A finished span, as a room describes it.
//! Must not know: ids, clocks, encodings.

use std::{borrow::Cow, time::Instant};

use opentelemetry::{Value, trace::SpanKind};

use crate::TraceParent;

/// A unit of work, from start to end.
#[derive(Debug, Clone)]
pub struct FinishedSpan {
    /// The operation, with few distinct values: `session.create`, never an id.
    pub name: Cow<'static, str>,
    /// Its side of an exchange.
    pub kind: Kind,
    /// Its parent; `None` begins a trace of its own.
    pub parent: Option<TraceParent>,
    /// Related spans that are not its parent.
    pub links: Vec<TraceParent>,
    /// Its start.
    pub start: Instant,
    /// Its end.
    pub end: Instant,
    /// Its attributes. No bodies and no tokens, unless a protocol requires them.
    pub attributes: Vec<(&'static str, Value)>,
    /// Its result.
    pub status: Status,
}

/// The side of an exchange that a span describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work within the server.
    Internal,
    /// The handling of a request.
    Server,
    /// A request to another server.
    Client,
}

impl From<Kind> for SpanKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Internal => Self::Internal,
            Kind::Server => Self::Server,
            Kind::Client => Self::Client,
        }
    }
}

impl From<SpanKind> for Kind {
    fn from(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Server | SpanKind::Consumer => Self::Server,
            SpanKind::Client | SpanKind::Producer => Self::Client,
            SpanKind::Internal => Self::Internal,
        }
    }
}

/// The result of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success; a refusal that the protocol provides for is not an error of the server.
    Unset,
    /// A fault or a bug; details are in the log.
    Error,
}

impl From<Status> for opentelemetry::trace::Status {
    fn from(status: Status) -> Self {
        match status {
            Status::Unset => Self::Unset,
            Status::Error => Self::error(""),
        }
    }
}
