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

/// Who asks, and whose agent it is about; the token is checked again inside the append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// In whose name.
    pub authority: Authority,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The agent's owner.
    pub owner: OwnerName,
    /// The agent's gate.
    pub gate: Gate,
    /// Whose message the agent asks itself about, in a session.
    pub on_behalf_of: Option<AgentHandle>,
}

/// Asks for a run (SC-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRun {
    /// Who asks.
    pub caller: Caller,
    /// The thread.
    pub thread: ThreadId,
    /// Whether the thread is a new one (SC-15); otherwise it must be there (SC-16).
    pub is_new: bool,
    /// What is asked.
    pub request: Request,
    /// The process that carries it out, if nothing else goes on in the thread.
    pub node: Arc<str>,
}

/// A request that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its type.
    pub request_type: Arc<str>,
    /// How deep in a chain of callers.
    pub depth: u32,
    /// What it says, in short.
    pub title: Option<String>,
    /// What it has to do with in traces, and when the message was sent that it answers.
    pub trace: Option<(Box<RunTrace>, TimestampMs)>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// What comes of [`StartRun`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run.
    pub run: RunId,
    /// Its thread.
    pub thread: ThreadId,
    /// Whether it runs; otherwise it is queued.
    pub started: bool,
    /// Whether it waits until a person of the agent's owner releases it.
    #[serde(default)]
    pub held: bool,
    /// How deep in a chain of callers.
    pub depth: u32,
}

/// Answers what a run waits for (SC-45).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeRun {
    /// Who answers.
    pub caller: Caller,
    /// Which run; the one that waits, when it is not said.
    pub run: Option<RunId>,
    /// The number of the WaitForInput that is answered; what the run waits for now, when it is not said.
    pub asked: Option<u64>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// Tells a run to stop (SC-46).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRun {
    /// Who wants it.
    pub caller: Caller,
    /// Which run; the one that goes on, when it is not said.
    pub run: Option<RunId>,
    /// The JSON object as it was sent.
    pub body: Bytes,
}

/// Tells everything of a thread to stop: decided by the server itself, whose agent takes no runs there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelAll {
    /// Who wants it.
    pub by: Actor,
}

/// How many runs were told to stop, or over at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanceledAll {
    /// How many.
    pub runs: usize,
}

/// Which run was resumed or canceled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptReceipt {
    /// Which.
    pub run: RunId,
}

/// What a person decided about a run that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleHeld {
    /// Which run.
    pub run: RunId,
    /// Whether it may begin; otherwise it is canceled.
    pub released: bool,
    /// The process that carries it out, if nothing else goes on in the thread.
    pub node: Arc<str>,
}

/// What a process has heard of the run that it carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Which run.
    pub run: RunId,
    /// The process.
    pub node: Arc<str>,
    /// The number of the first event: what was written already is not written again. An end alone needs none.
    pub first_id: u64,
    /// What its agent said, in order, and where the room keeps what was made.
    pub events: Vec<(Event, Option<Artifact>)>,
    /// How it ended.
    pub ended: Option<RunEnd>,
    /// Whether the next run of the thread begins here; not when the process is about to stop.
    pub goes_on: bool,
}

/// What comes of [`Progress`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressReceipt {
    /// Whether the run is over, here or elsewhere.
    pub over: bool,
    /// The run that began.
    pub started: Option<RunId>,
}

/// Ends the run of a process that is gone, and begins the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeOver {
    /// The process that is gone.
    pub gone: Arc<str>,
    /// The process that takes over.
    pub node: Arc<str>,
}
