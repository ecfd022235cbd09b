//! The events of a thread's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: HTTP; the meaning of an agent's events.

use std::sync::Arc;

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use plenary_telemetry::TraceParent;
use serde::{Deserialize, Serialize};

use crate::{
    id::RunId,
    runner::{EventKind, FinishReason, Role},
};

/// An event of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadEvent {
    /// A caller requested a run; the first one opens the thread.
    RunQueued(RunQueued),
    /// A person released a held run: it starts or is queued.
    RunReleased(RunReleased),
    /// A process started to carry it out: the wire's RunStarted.
    RunStarted(RunStarted),
    /// The agent emitted an event.
    EventEmitted(EventEmitted),
    /// The caller answered a question of the agent.
    RunResumed(Interrupt),
    /// The caller asked the run to stop.
    CancelRequested(Interrupt),
    /// The run ended: the wire's RunCompleted.
    RunCompleted(RunCompleted),
    /// The run was canceled before it started: the wire's RunStarted and RunCompleted.
    QueuedRunCanceled(QueuedRunCanceled),
}

/// See [`ThreadEvent::RunQueued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunQueued {
    /// The run.
    pub run: RunId,
    /// The actor.
    pub by: Actor,
    /// The type of the request.
    pub request_type: Arc<str>,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// The owner whose share it uses, if that is not the caller's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<OwnerName>,
    /// For the first run: the opening of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<Opens>,
    /// The trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<RunTrace>>,
    /// Whether the run is held until a person of the agent's owner releases it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The request as it was sent.
    #[serde(skip)]
    pub request: Bytes,
}

/// See [`ThreadEvent::RunReleased`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReleased {
    /// The run.
    pub run: RunId,
}

/// The trace context of a run. No decision depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTrace {
    /// The parent span, as a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<str>>,
    /// The span of the message that the run answers, as a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Box<str>>,
    /// The session in which the run participates, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<str>>,
    /// The sender of the message that the run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<AgentHandle>,
}

impl RunQueued {
    /// The id of the trace of the run's span: that of its parent, or its own, which is the run's number (see
    /// [`plenary_telemetry::Spans::begin_as`]). `None` if no spans were recorded.
    pub(crate) fn trace_id(&self) -> Option<String> {
        let trace = self.trace.as_deref()?;
        match (&trace.parent, &trace.answers) {
            (Some(parent), _) => TraceParent::trace_of(parent),
            (None, Some(_)) => Some(format!("{:032x}", self.run.number())),
            (None, None) => None,
        }
    }
}

/// The opening of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opens {
    /// The name of the thread's agent.
    pub agent: Arc<str>,
    /// When; lists are ordered by it.
    pub created: TimestampMs,
    /// Its first request, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// See [`ThreadEvent::RunStarted`]. Its id is 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// The process that carries it out.
    pub node: Arc<str>,
}

/// See [`ThreadEvent::EventEmitted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventEmitted {
    /// The run.
    pub run: RunId,
    /// Its number in the run.
    pub id: u64,
    /// Its type.
    pub kind: EventKind,
    /// Its source.
    pub role: Role,
    /// Its depth in the chain of callers.
    pub depth: u32,
    /// For an artifact that the room stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// For a WaitForInput of a run that already waited: the version of the question that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Version>,
    /// Its own members: a JSON object on one line.
    #[serde(skip)]
    pub members: Bytes,
}

/// An artifact of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The media type.
    pub mime_type: String,
    /// The size in bytes.
    #[serde(rename = "octets")]
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal: the key of the blob.
    pub sha256: String,
}

/// See [`ThreadEvent::RunResumed`] and [`ThreadEvent::CancelRequested`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The run.
    pub run: RunId,
    /// The actor.
    pub by: Actor,
    /// For an answer: the version of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Version>,
    /// The request as it was sent.
    #[serde(skip)]
    pub request: Bytes,
}

/// See [`ThreadEvent::RunCompleted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCompleted {
    /// The run.
    pub run: RunId,
    /// The number of the run's last event.
    pub id: u64,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// The reason of the end.
    pub finish_reason: FinishReason,
    /// The error, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the run was lost with its process, so that its own end is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether the agent rejected the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// Whether there is a result.
    pub has_result: bool,
    /// What is left in the thread.
    pub leaves: Leaves,
    /// The result.
    #[serde(skip)]
    pub result: Bytes,
}

/// What a run leaves in its thread when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leaves {
    /// No run is queued.
    Idle,
    /// Runs are queued, and the next one has not started yet.
    Waiting,
    /// The next run starts together with this end.
    Next,
}

/// See [`ThreadEvent::QueuedRunCanceled`]. Its ids are 1 and 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedRunCanceled {
    /// The run.
    pub run: RunId,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// The actor.
    pub by: Actor,
    /// Whether no run is active or queued.
    pub idle: bool,
    /// Whether the run was held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl ThreadEvent {
    /// The run of the event.
    pub fn run(&self) -> RunId {
        match self {
            Self::RunQueued(event) => event.run,
            Self::RunReleased(event) => event.run,
            Self::RunStarted(event) => event.run,
            Self::EventEmitted(event) => event.run,
            Self::RunResumed(event) | Self::CancelRequested(event) => event.run,
            Self::RunCompleted(event) => event.run,
            Self::QueuedRunCanceled(event) => event.run,
        }
    }

    /// The version of the question that this event ends, if the event names it: an end of the run does not.
    pub fn ends_question(&self) -> Option<Version> {
        match self {
            Self::EventEmitted(event) => event.replaces,
            Self::RunResumed(event) => event.question,
            Self::RunQueued(_)
            | Self::RunReleased(_)
            | Self::RunStarted(_)
            | Self::CancelRequested(_)
            | Self::RunCompleted(_)
            | Self::QueuedRunCanceled(_) => None,
        }
    }
}

plenary_engine::stored_forms! {
    ThreadEvent: RunQueued + request, RunReleased, RunStarted, EventEmitted + members,
    RunResumed + request, CancelRequested + request, RunCompleted + result, QueuedRunCanceled
}
