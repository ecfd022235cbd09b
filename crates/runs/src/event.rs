//! The events of a thread's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: HTTP; the meaning of an agent's events.

use std::sync::Arc;

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use plenary_log::{Fault, NewEvent, StoredEvent};
use plenary_telemetry::TraceParent;
use serde::{Deserialize, Serialize};

use crate::{
    id::RunId,
    runner::{EventKind, FinishReason, Role},
};

/// An event of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadEvent {
    /// Somebody asked for a run; the first one opens the thread.
    RunQueued(RunQueued),
    /// A person released a run that was held: it begins, or waits for its turn.
    RunReleased(RunReleased),
    /// A process began to carry it out: the wire's RunStarted.
    RunStarted(RunStarted),
    /// The agent said something.
    EventEmitted(EventEmitted),
    /// The caller answered what the agent waited for.
    RunResumed(Interrupt),
    /// The caller wants it to stop.
    CancelRequested(Interrupt),
    /// It is over: the wire's RunCompleted.
    RunCompleted(RunCompleted),
    /// It was told to stop before it began: the wire's RunStarted and RunCompleted.
    QueuedRunCanceled(QueuedRunCanceled),
}

/// See [`ThreadEvent::RunQueued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunQueued {
    /// Which run.
    pub run: RunId,
    /// The actor.
    pub by: Actor,
    /// The type of the request.
    pub request_type: Arc<str>,
    /// How deep in a chain of callers.
    pub depth: u32,
    /// The owner whose share it uses, if that is not the caller's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<OwnerName>,
    /// Of the first run: what the thread is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<Opens>,
    /// What it has to do with in traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<RunTrace>>,
    /// Whether it waits until a person of the agent's owner releases it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The request as it was sent.
    #[serde(skip)]
    pub request: Bytes,
}

/// See [`ThreadEvent::RunReleased`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReleased {
    /// Which run.
    pub run: RunId,
}

/// What a run has to do with in the traces of those who asked for it. Nothing is decided by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTrace {
    /// The span that it belongs to, as a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<str>>,
    /// The span of the message that it answers, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Box<str>>,
    /// The session that it takes part in, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<str>>,
    /// Who sent the message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<AgentHandle>,
}

impl RunQueued {
    /// The id of the trace that its span is in: that of its parent, or one of its own, which is the run's number (as
    /// [`plenary_telemetry::Spans::begin_as`] has it). `None` where no spans were recorded.
    pub(crate) fn trace_id(&self) -> Option<String> {
        let trace = self.trace.as_deref()?;
        match (&trace.parent, &trace.answers) {
            (Some(parent), _) => TraceParent::trace_of(parent),
            (None, Some(_)) => Some(format!("{:032x}", self.run.number())),
            (None, None) => None,
        }
    }
}

/// A thread begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opens {
    /// The name of its agent.
    pub agent: Arc<str>,
    /// When; lists go by it.
    pub created: TimestampMs,
    /// Its first request, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// See [`ThreadEvent::RunStarted`]. Its id is 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Which run.
    pub run: RunId,
    /// How deep in a chain of callers.
    pub depth: u32,
    /// The process that carries it out.
    pub node: Arc<str>,
}

/// See [`ThreadEvent::EventEmitted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventEmitted {
    /// Of which run.
    pub run: RunId,
    /// Its number in the run.
    pub id: u64,
    /// Its type.
    pub kind: EventKind,
    /// Its source.
    pub role: Role,
    /// Its depth in the chain of callers.
    pub depth: u32,
    /// Of something that the agent made and the room keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Of a WaitForInput of a run that waited already: where the question stands that it takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Version>,
    /// Its own members: a JSON object on one line.
    #[serde(skip)]
    pub members: Bytes,
}

/// What an agent made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub mime_type: String,
    /// How many bytes it has.
    pub octets: u64,
    /// The SHA-256 of its bytes, in hexadecimal; it is kept under that.
    pub sha256: String,
}

/// See [`ThreadEvent::RunResumed`] and [`ThreadEvent::CancelRequested`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Which run.
    pub run: RunId,
    /// The actor.
    pub by: Actor,
    /// Of an answer: where the question stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Version>,
    /// The request as it was sent.
    #[serde(skip)]
    pub request: Bytes,
}

/// See [`ThreadEvent::RunCompleted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCompleted {
    /// Which run.
    pub run: RunId,
    /// Its number in the run, the last one.
    pub id: u64,
    /// How deep in a chain of callers.
    pub depth: u32,
    /// How.
    pub finish_reason: FinishReason,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether it was lost with its process: how the agent would have ended it nobody knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// Whether the agent did not take the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// Whether there is a result.
    pub has_result: bool,
    /// What becomes of the thread.
    pub leaves: Leaves,
    /// The result.
    #[serde(skip)]
    pub result: Bytes,
}

/// What a run leaves when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leaves {
    /// Nothing waits.
    Idle,
    /// Runs wait, and nobody has begun the next one yet.
    Waiting,
    /// The next one begins together with this end.
    Next,
}

/// See [`ThreadEvent::QueuedRunCanceled`]. Its ids are 1 and 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedRunCanceled {
    /// Which run.
    pub run: RunId,
    /// How deep in a chain of callers.
    pub depth: u32,
    /// The actor.
    pub by: Actor,
    /// Whether no run is active or waiting for its turn.
    pub idle: bool,
    /// Whether it was held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl ThreadEvent {
    /// The run that it is about.
    #[must_use]
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

    /// Where the question stands that waits no more because of this event, if the event says so: an end of the run does not.
    #[must_use]
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

    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::RunQueued(event) => written_with("RunQueued", event, event.request.clone()),
            Self::RunReleased(event) => written("RunReleased", event),
            Self::RunStarted(event) => written("RunStarted", event),
            Self::EventEmitted(event) => written_with("EventEmitted", event, event.members.clone()),
            Self::RunResumed(event) => written_with("RunResumed", event, event.request.clone()),
            Self::CancelRequested(event) => written_with("CancelRequested", event, event.request.clone()),
            Self::RunCompleted(event) => written_with("RunCompleted", event, event.result.clone()),
            Self::QueuedRunCanceled(event) => written("QueuedRunCanceled", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        let payload = stored.payload.clone();
        Ok(match &*stored.kind {
            "RunQueued" => Self::RunQueued(RunQueued { request: payload, ..read(stored)? }),
            "RunReleased" => Self::RunReleased(read(stored)?),
            "RunStarted" => Self::RunStarted(read(stored)?),
            "EventEmitted" => Self::EventEmitted(EventEmitted { members: payload, ..read(stored)? }),
            "RunResumed" => Self::RunResumed(Interrupt { request: payload, ..read(stored)? }),
            "CancelRequested" => Self::CancelRequested(Interrupt { request: payload, ..read(stored)? }),
            "RunCompleted" => Self::RunCompleted(RunCompleted { result: payload, ..read(stored)? }),
            "QueuedRunCanceled" => Self::QueuedRunCanceled(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
