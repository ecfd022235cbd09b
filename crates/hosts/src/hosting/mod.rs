//! An agent of this process for a server elsewhere: requests arrive as frames, runs are executed here, and their
//! output is sent as frames (the other side of `connected`).
//! Must not know: sockets, or the kind of the agent.

mod connection;
mod run_task;
mod slots;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use plenary_log::Fault;
use plenary_room::async_trait;
use plenary_runs::{
    FinishReason, Recall, RunEnd, Runner, Turn,
    id::{RunId, ThreadId},
};
use tokio::sync::mpsc;

pub use connection::HostedConnection;

use self::slots::RunSlots;

/// The default limit of concurrent runs.
pub const RUNS_MAX: usize = 16;
/// Most waiting runs; a further run ends with an error that says so.
pub const RUNS_WAITING_MAX: usize = 64;
/// Most host events that wait for the receiver; beyond it runs wait.
pub const HOST_EVENTS_WAITING_MAX: usize = 64;
/// Most answers that a run has not read; beyond it the run ends with an error.
pub const ANSWERS_WAITING_MAX: usize = 16;
/// How long a run may take to end after a cancel or the loss of its server; then its runner is dropped.
pub const CANCEL_GRACE: Duration = Duration::from_secs(6);
/// How long a run may take to end after the host stops.
pub const STOP_GRACE: Duration = Duration::from_secs(3);

/// An agent that is hosted here. Cheap to clone.
#[derive(Clone)]
pub struct AgentHost(Arc<Inner>);

struct Inner {
    runner: Arc<dyn Runner>,
    /// The name of the agent, for logs.
    agent: Arc<str>,
    slots: RunSlots,
    runs_max: usize,
}

/// An event of the runs of one connection.
#[derive(Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A text frame for the server.
    Frame(String),
    /// A run started.
    Started(RunId, ThreadId),
    /// A run is over.
    Completed {
        /// The run.
        run: RunId,
        /// The reason.
        finish_reason: FinishReason,
        /// For an error: what went wrong.
        error: Option<String>,
    },
}

impl HostEvent {
    fn completed(run: RunId, run_end: &RunEnd) -> Self {
        Self::Completed { run, finish_reason: run_end.finish_reason, error: run_end.error.clone() }
    }
}

impl AgentHost {
    /// A host for the agent of `runner`, with at most `runs_max` concurrent runs.
    pub fn new(runner: Arc<dyn Runner>, agent: &str, runs_max: usize) -> Self {
        let slots = RunSlots::new(runs_max);
        Self(Arc::new(Inner { runner, agent: agent.into(), slots, runs_max }))
    }

    /// Registers a connection to the server: runs arrive over it, and their output goes into the returned queue.
    /// Dropping the connection cancels its runs. Must be called inside a tokio runtime.
    pub fn open_connection(&self) -> (HostedConnection, mpsc::Receiver<HostEvent>) {
        let (sender, events) = mpsc::channel(HOST_EVENTS_WAITING_MAX);
        (HostedConnection::new(self.0.clone(), sender), events)
    }
}

impl std::fmt::Debug for AgentHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentHost").field("agent", &self.0.agent).finish_non_exhaustive()
    }
}

/// The earlier runs of a thread are known to the server only; an agent that needs them keeps its own memory.
pub(crate) struct NoRecall;

#[async_trait]
impl Recall for NoRecall {
    async fn turns(&self, _: ThreadId, _: RunId) -> Result<Vec<Turn>, Fault> {
        Ok(Vec::new())
    }
}
