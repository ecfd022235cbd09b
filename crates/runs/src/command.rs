//! The commands on a thread. Pure.
//! Must not know: HTTP.

use std::sync::Arc;

use bytes::Bytes;
use plenary_accounts::{Actor, Authority};
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{
    access::Gate,
    event::{Artifact, RunTrace},
    id::{RunId, ThreadId},
    runner::{Event, RunEnd},
};

/// The caller and the agent that it addresses. The token is checked again inside the append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The authority of the caller.
    pub authority: Authority,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The agent's owner.
    pub owner: OwnerName,
    /// The agent's gate.
    pub gate: Gate,
    /// In a session: the sender of the message on whose behalf the agent starts its own run.
    pub on_behalf_of: Option<AgentHandle>,
}

/// Requests a run (SC-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRun {
    /// The caller.
    pub caller: Caller,
    /// The thread.
    pub thread: ThreadId,
    /// Whether the thread is new (SC-15); otherwise it must exist (SC-16).
    pub is_new: bool,
    /// The request.
    pub request: Request,
    /// Whether the agent is stopped.
    pub is_stopped: bool,
    /// The process that carries the run out if no other run of the thread is active.
    pub node: Arc<str>,
}

/// A parsed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The type of the request.
    pub request_type: Arc<str>,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// A short title for the request.
    pub title: Option<String>,
    /// The trace context, and when the message that the run answers was sent.
    pub trace: Option<(Box<RunTrace>, TimestampMs)>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// The result of [`StartRun`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run.
    pub run: RunId,
    /// Its thread.
    pub thread: ThreadId,
    /// Whether it started; otherwise it is queued.
    pub started: bool,
    /// Whether it is held until a person of the agent's owner releases it.
    #[serde(default)]
    pub held: bool,
    /// The depth in the chain of callers.
    pub depth: u32,
}

/// Answers a waiting run (SC-45).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeRun {
    /// The caller.
    pub caller: Caller,
    /// The run; the thread's active run if absent.
    pub run: Option<RunId>,
    /// The number of the WaitForInput to answer; if absent, the current one.
    pub question: Option<u64>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// Tells a run to stop (SC-46).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRun {
    /// The caller.
    pub caller: Caller,
    /// The run; the thread's active run if absent.
    pub run: Option<RunId>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// Cancels all runs of a thread. The server itself decides this, when its agent no longer accepts runs there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelAll {
    /// The actor on whose behalf it happens.
    pub by: Actor,
}

/// The result of [`CancelAll`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanceledAll {
    /// The number of runs that were told to stop or ended at once.
    pub runs: usize,
}

/// The run that was resumed or canceled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptReceipt {
    /// The run.
    pub run: RunId,
}

/// A person's decision about a held run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleHeld {
    /// The run.
    pub run: RunId,
    /// Whether it may start; otherwise it is canceled.
    pub is_released: bool,
    /// The process that carries the run out if no other run of the thread is active.
    pub node: Arc<str>,
}

/// The output of a run, reported by the process that carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The run.
    pub run: RunId,
    /// The process.
    pub node: Arc<str>,
    /// The number of the first event; events that are already written are skipped. An end without events needs no
    /// number.
    pub first_id: u64,
    /// The events of the agent in order, each with its stored artifact.
    pub events: Vec<(Event, Option<Artifact>)>,
    /// How the run ended.
    pub end: Option<RunEnd>,
    /// Whether this process starts the thread's next run. False if it is about to stop.
    pub starts_next: bool,
}

/// The result of [`Progress`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressReceipt {
    /// Whether the run is over, here or elsewhere.
    pub over: bool,
    /// The run that started next.
    pub started: Option<RunId>,
}

/// Ends the run of a dead process and starts the thread's next run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeOver {
    /// The dead process.
    pub dead_node: Arc<str>,
    /// The process that takes over.
    pub node: Arc<str>,
}
