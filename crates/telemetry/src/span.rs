//! A finished span, as a room describes it.
//! Must not know: ids, clocks, encodings.

use std::{borrow::Cow, time::Instant};

use opentelemetry::{Value, trace::SpanKind};

use crate::TraceParent;

/// Something that was done, from begin to end.
#[derive(Debug, Clone)]
pub struct FinishedSpan {
    /// What was done, in few distinct words: `session.create`, never an id.
    pub name: Cow<'static, str>,
    /// Which side of an exchange it was.
    pub kind: Kind,
    /// The span it belongs to; `None` begins a trace of its own.
    pub parent: Option<TraceParent>,
    /// Spans that it has to do with, and does not belong to.
    pub links: Vec<TraceParent>,
    /// When it began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
    /// What is worth knowing of it. No bodies and no tokens, unless a protocol asks for them.
    pub attributes: Vec<(&'static str, Value)>,
    /// How it ended.
    pub status: Status,
}

/// Which side of an exchange a span describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work within the server.
    Internal,
    /// The answer to a request.
    Server,
    /// A request to somebody else.
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

/// How a span ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// As it should; a refusal that the protocol foresees is no error of the server.
    Unset,
    /// With a fault or a bug; details stand in the log.
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
