//! The fold of a thread: its agent, its runs and their states. It does not contain the output. Pure.
//! Must not know: payloads, any time except that of events.

use std::sync::Arc;

use plenary_accounts::Actor;
use plenary_kernel::{OwnerName, TimestampMs, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::ThreadEvent,
    id::RunId,
    runner::{EventKind, FinishReason},
};

/// The state of a run (wire.md 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Another run of its thread is active, or it is held.
    Queued,
    /// It is active.
    Running,
    /// It waits for its caller.
    Waiting,
    /// It ended with success.
    Completed,
    /// It ended with an error.
    Error,
    /// It was canceled.
    Canceled,
}

impl RunStatus {
    /// Whether it is running or waits for its caller.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    /// Whether it is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Error | Self::Canceled)
    }
}

impl From<FinishReason> for RunStatus {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::Success => Self::Completed,
            FinishReason::Error => Self::Error,
            FinishReason::Canceled => Self::Canceled,
        }
    }
}

/// A thread. The default value belongs to an id without a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    /// How the thread was opened; `None` if it does not exist.
    pub opened: Option<ThreadStart>,
    /// Its runs, oldest first.
    pub runs: Vec<RunState>,
    /// The time of the last change.
    pub updated: TimestampMs,
}

/// The opening of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStart {
    /// The name of the thread's agent.
    pub agent: Arc<str>,
    /// The actor who opened the thread.
    pub by: Actor,
    /// When.
    pub at: TimestampMs,
    /// The first request, shortened.
    pub title: Option<String>,
}

/// A run of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// The id of the run.
    pub id: RunId,
    /// Its state.
    pub status: RunStatus,
    /// The depth in the chain of callers.
    pub depth: u32,
    /// The owner whose share the run uses; `None` is the operator's.
    pub payer: Option<OwnerName>,
    /// The version of its `RunQueued`.
    pub queued: Version,
    /// The id of its trace, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<str>>,
    /// Whether it is held until a person of the agent's owner releases it.
    pub held: bool,
    /// The version of its start; zero before it.
    pub started: Version,
    /// The version of its end; zero before it.
    pub ended: Version,
    /// The version of its last WaitForInput; zero without one.
    pub waits: Version,
    /// The number of that event; 0 without one.
    pub asks: u64,
    /// The version of the caller's last answer; zero without one.
    pub resumed: Version,
    /// The process that carries it out.
    pub node: Arc<str>,
    /// Whether it was told to stop.
    pub cancel_requested: bool,
    /// The number of its last event; 0 before it started.
    pub last_event_id: u64,
    /// When it was requested.
    pub created: TimestampMs,
    /// When it last changed.
    pub updated: TimestampMs,
}

impl ThreadState {
    /// A run of the thread.
    pub fn run(&self, id: RunId) -> Option<&RunState> {
        // The requested run is most often among the last.
        self.runs.iter().rev().find(|run| run.id == id)
    }

    /// The run that is running or waits for its caller; at most one.
    pub fn active(&self) -> Option<&RunState> {
        self.runs.iter().rev().find(|run| run.status.is_active())
    }

    /// The queued runs, in order.
    pub fn queued(&self) -> impl Iterator<Item = &RunState> {
        self.runs.iter().filter(|run| run.status == RunStatus::Queued)
    }

    /// The first queued run.
    pub fn next(&self) -> Option<&RunState> {
        self.queued().find(|run| !run.held)
    }

    /// Whether no run except this one is active or queued.
    pub fn is_idle_without(&self, run: Option<RunId>) -> bool {
        self.runs.iter().all(|other| Some(other.id) == run || other.status.is_over() || other.held)
    }

    /// Applies an event to the state. Pure.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &ThreadEvent) {
        self.updated = at;
        if let ThreadEvent::RunQueued(event) = event {
            if let Some(opens) = &event.opens {
                let (agent, by, title) = (opens.agent.clone(), event.by.clone(), opens.title.clone());
                self.opened = Some(ThreadStart { agent, by, at: opens.created, title });
            }
            self.runs.push(RunState {
                id: event.run,
                status: RunStatus::Queued,
                depth: event.depth,
                payer: event.payer.clone().or_else(|| event.by.owner()),
                queued: version,
                trace: event.trace_id().map(Arc::from),
                held: event.held,
                started: Version::ZERO,
                ended: Version::ZERO,
                waits: Version::ZERO,
                asks: 0,
                resumed: Version::ZERO,
                node: "".into(),
                cancel_requested: false,
                last_event_id: 0,
                created: at,
                updated: at,
            });
        } else if let Some(run) = self.runs.iter_mut().rev().find(|run| run.id == event.run()) {
            run.updated = at;
            run.evolve(version, event);
        }
    }
}

impl RunState {
    fn evolve(&mut self, version: Version, event: &ThreadEvent) {
        match event {
            ThreadEvent::RunQueued(_) => {}
            ThreadEvent::RunReleased(_) => self.held = false,
            ThreadEvent::RunStarted(event) => {
                (self.status, self.started, self.last_event_id) = (RunStatus::Running, version, 1);
                self.node = event.node.clone();
            }
            ThreadEvent::EventEmitted(event) => {
                self.last_event_id = event.id;
                if event.kind == EventKind::WaitForInput && !self.cancel_requested {
                    (self.status, self.waits, self.asks) = (RunStatus::Waiting, version, event.id);
                }
            }
            ThreadEvent::RunResumed(_) => (self.status, self.resumed) = (RunStatus::Running, version),
            // A run that was told to stop waits for no answer: it cannot continue.
            ThreadEvent::CancelRequested(_) => {
                (self.status, self.cancel_requested) = (RunStatus::Running, true);
            }
            ThreadEvent::RunCompleted(event) => {
                (self.status, self.ended) = (event.finish_reason.into(), version);
                self.last_event_id = event.id;
            }
            ThreadEvent::QueuedRunCanceled(_) => {
                (self.started, self.ended, self.last_event_id) = (version, version, 2);
                (self.status, self.cancel_requested, self.held) = (RunStatus::Canceled, true, false);
            }
        }
    }
}
