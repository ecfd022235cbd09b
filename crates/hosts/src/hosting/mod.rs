//! An agent of this process for a server elsewhere: requests arrive as frames, runs are executed here, and their
//! output is sent as frames (the other side of `connected`).
//! Must not know: sockets, or the kind of the agent.

mod attached;
mod carrying;
#[cfg(test)]
mod tests;
mod turns;

use std::{pin::Pin, sync::Arc, time::Duration};

use plenary_log::Fault;
use plenary_runs::{
    FinishReason, Recall, RunEnd, Runner, Turn,
    id::{RunId, ThreadId},
};
use tokio::sync::mpsc;

pub use attached::HostedConnection;

use self::turns::Turns;

/// How many runs go on at a time unless it is said.
pub const RUNS_MAX: usize = 16;
/// Most runs that wait for their turn; past it a run ends with an error that says so.
pub const RUNS_WAITING_MAX: usize = 64;
/// Most happenings that wait to be taken; past it runs wait.
pub const HAPPENINGS_WAITING_MAX: usize = 64;
/// Most answers that a run has not taken; past it the run ends with an error.
pub const ANSWERS_WAITING_MAX: usize = 16;
/// How long a run that was told to stop may take, or whose server is lost; past it its runner is dropped.
pub const CANCEL_GRACE: Duration = Duration::from_secs(6);
/// The same when the host stops.
pub const STOP_GRACE: Duration = Duration::from_secs(3);

/// An agent that is hosted here. Cheap to clone.
#[derive(Clone)]
pub struct AgentHost(Arc<Inner>);

struct Inner {
    runner: Arc<dyn Runner>,
    /// The agent's name, for logs.
    agent: Arc<str>,
    turns: Turns,
    runs_max: usize,
}

/// What comes of the runs of one connection.
#[derive(Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A text frame for the server.
    Frame(String),
    /// A run had its turn.
    Started(RunId, ThreadId),
    /// A run is over.
    Completed {
        /// Which.
        run: RunId,
        /// How.
        finish_reason: FinishReason,
        /// Of an error: what went wrong.
        why: Option<String>,
    },
}

impl HostEvent {
    fn completed(run: RunId, ended: &RunEnd) -> Self {
        Self::Completed { run, finish_reason: ended.finish_reason, why: ended.why.clone() }
    }
}

impl AgentHost {
    /// Hosts what `runner` carries out, at most `runs_max` runs at a time.
    #[must_use]
    pub fn new(runner: Arc<dyn Runner>, agent: &str, runs_max: usize) -> Self {
        let turns = Turns::new(runs_max);
        Self(Arc::new(Inner { runner, agent: agent.into(), turns, runs_max }))
    }

    /// A connection to the server stands: from now on runs come over it, and what comes of them goes into the queue.
    /// Dropped, its runs are canceled. Must be called inside a tokio runtime.
    #[must_use]
    pub fn attached(&self) -> (HostedConnection, mpsc::Receiver<HostEvent>) {
        let (tell, happenings) = mpsc::channel(HAPPENINGS_WAITING_MAX);
        (HostedConnection::new(self.0.clone(), tell), happenings)
    }
}

impl std::fmt::Debug for AgentHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosting").field("agent", &self.0.agent).finish_non_exhaustive()
    }
}

/// What came before a run is the server's to know: whoever needs it keeps it itself.
pub(crate) struct NoRecall;

impl Recall for NoRecall {
    fn turns(
        &self,
        _: ThreadId,
        _: RunId,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<Turn>, Fault>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
