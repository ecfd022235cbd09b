//! The thread as a room of the engine: its streams, its indexes, and its commands with their facts.
//! Must not know: HTTP.

use plenary_accounts::Accounts;
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, IndexOp};
use serde::{Deserialize, Serialize};

use crate::{
    access::{admits, is_blocked_between, is_held},
    command::{
        Caller, CancelAll, CancelRun, CanceledAll, InterruptReceipt, Progress, ProgressReceipt, ResumeRun,
        RunStart, SettleHeld, StartRun, TakeOver,
    },
    decide::{self, CallerStanding, Rejection, RunDecision},
    event::{Artifact, Leaves, ThreadEvent},
    id::{RunId, ThreadId},
    state::ThreadState,
};

/// Threads of an agent by opening time, `<agent>/<opened, ms>/<thread>`.
pub(crate) const THREADS: &str = "runs.threads";
/// The same by opener, `<who>/<agent>/<opened, ms>/<thread>`.
pub(crate) const OPENED: &str = "runs.opened";
/// The thread of a run, by the run.
pub(crate) const RUNS: &str = "runs.runs";
/// Threads with an active or queued run, each with the process that carries it out; empty if none is active.
pub(crate) const BUSY: &str = "runs.busy";
/// Held runs, `<thread>/<run>`.
pub(crate) const HELD: &str = "runs.held";
/// The place of an artifact, by its id.
pub(crate) const ARTIFACTS: &str = "runs.artifacts";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArtifactPlace {
    pub(crate) thread: ThreadId,
    pub(crate) artifact: Artifact,
}

fn no_longer_busy(id: &str) -> IndexOp {
    IndexOp::delete(BUSY, id.to_owned())
}

fn held_key(id: &str, run: RunId) -> String {
    format!("{id}/{run}")
}

fn no_longer_held(id: &str, run: RunId) -> IndexOp {
    IndexOp::delete(HELD, held_key(id, run))
}

/// Threads as a room of the engine.
#[derive(Debug)]
pub(crate) struct ThreadRoom;

impl Room for ThreadRoom {
    type State = ThreadState;
    type Event = ThreadEvent;
    const CATEGORY: &'static str = "runs.thread";
    const SNAPSHOT_FORM: u16 = 4;

    fn evolve(state: &mut ThreadState, version: Version, at: TimestampMs, event: &ThreadEvent) {
        state.evolve(version, at, event);
    }
    /// The events of a run count towards the quota of the thread's owner.
    fn payer(_: &str, state: &ThreadState, event: &ThreadEvent) -> Option<OwnerName> {
        match event {
            ThreadEvent::RunQueued(event) => event.by.owner(),
            ThreadEvent::RunResumed(event) => event.by.owner(),
            ThreadEvent::EventEmitted(_) | ThreadEvent::RunCompleted(_) => {
                state.opened.as_ref().and_then(|opened| opened.by.owner())
            }
            ThreadEvent::RunReleased(_)
            | ThreadEvent::RunStarted(_)
            | ThreadEvent::CancelRequested(_)
            | ThreadEvent::QueuedRunCanceled(_) => None,
        }
    }
    fn content_bytes(event: &ThreadEvent) -> u64 {
        match event {
            ThreadEvent::EventEmitted(event) => event.artifact.as_ref().map_or(0, |artifact| artifact.bytes),
            ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::RunStarted(_)
            | ThreadEvent::RunResumed(_)
            | ThreadEvent::CancelRequested(_)
            | ThreadEvent::RunCompleted(_)
            | ThreadEvent::QueuedRunCanceled(_) => 0,
        }
    }
    fn index(id: &str, event: &ThreadEvent) -> Vec<IndexOp> {
        match event {
            ThreadEvent::RunQueued(event) => {
                let mut rows = vec![IndexOp::put_value(RUNS, event.run.to_string(), id.to_owned())];
                if event.held {
                    rows.push(IndexOp::put(HELD, held_key(id, event.run)));
                }
                if let Some(opens) = &event.opens {
                    let key = format!("{}/{:014}/{id}", opens.agent, opens.created.0);
                    rows.push(IndexOp::put(OPENED, format!("{}/{key}", event.by)));
                    rows.push(IndexOp::put(THREADS, key));
                }
                rows
            }
            ThreadEvent::RunStarted(event) => {
                vec![IndexOp::put_value(BUSY, id.to_owned(), event.node.to_string())]
            }
            ThreadEvent::EventEmitted(event) => {
                let Some(artifact) = &event.artifact else { return Vec::new() };
                let Ok(thread) = id.parse() else { return Vec::new() };
                let kept = ArtifactPlace { thread, artifact: artifact.clone() };
                let value = serde_json::to_vec(&kept).expect("strings and numbers can be written");
                vec![IndexOp::put_value(ARTIFACTS, artifact.id.clone(), value)]
            }
            ThreadEvent::RunCompleted(event) => match event.leaves {
                Leaves::Idle => vec![no_longer_busy(id)],
                Leaves::Waiting => vec![IndexOp::put(BUSY, id.to_owned())],
                Leaves::Next => Vec::new(),
            },
            ThreadEvent::QueuedRunCanceled(event) => {
                let idle = event.idle.then(|| no_longer_busy(id));
                let held = event.held.then(|| no_longer_held(id, event.run));
                idle.into_iter().chain(held).collect()
            }
            ThreadEvent::RunReleased(event) => vec![no_longer_held(id, event.run)],
            ThreadEvent::RunResumed(_) | ThreadEvent::CancelRequested(_) => Vec::new(),
        }
    }
}

/// A command with the room, which provides the caller's standing.
pub(crate) struct CommandContext<C> {
    pub(crate) accounts: Accounts,
    pub(crate) command: C,
}

/// A command of this room.
pub(crate) trait Decides: Send + Sync {
    const NAME: &'static str;
    type Reply: Serialize + serde::de::DeserializeOwned + Send + Sync;

    /// The caller; `None` for a command of the room itself.
    fn caller(&self) -> Option<&Caller>;
    fn decide(
        &self,
        state: &ThreadState,
        standing: CallerStanding,
        stamp: &Stamp,
    ) -> RunDecision<Self::Reply>;
}

impl<C: Decides> Command<ThreadRoom> for CommandContext<C> {
    const NAME: &'static str = C::NAME;
    type Reply = C::Reply;
    type Rejection = Rejection;
    type Facts = CallerStanding;

    /// The standing of the caller, as a condition of the append.
    async fn facts(&self, _: &ThreadState, conditions: &mut Conditions) -> Result<CallerStanding, Fault> {
        let Some(caller) = self.command.caller() else {
            return Ok(CallerStanding { is_token_valid: true, is_admitted: true, is_held: false });
        };
        let Caller { authority, gate, on_behalf_of, .. } = caller;
        let is_token_valid = self.accounts.holds(authority, conditions).await?;
        let mut is_admitted = admits(&self.accounts, &authority.by, gate, conditions).await?;
        if let Some(other) = on_behalf_of {
            is_admitted &= !is_blocked_between(&self.accounts, (other, &gate.agent), conditions).await?;
        }
        let is_held = is_held(&self.accounts, caller, conditions).await?;
        Ok(CallerStanding { is_token_valid, is_admitted, is_held })
    }

    fn decide(
        &self,
        state: &ThreadState,
        standing: &CallerStanding,
        at: &Point,
    ) -> Decided<ThreadRoom, Self> {
        self.command.decide(state, *standing, &at.stamp)
    }

    /// The output of a run is written even beyond the quota: the run was accepted.
    fn exceeds_quota(&self) -> bool {
        self.command.caller().is_none()
    }
}

macro_rules! decides {
    ($name:literal, $command:ty => $reply:ty, $caller:expr, |$this:ident, $state:ident, $standing:ident, $stamp:ident| $decide:expr) => {
        impl Decides for $command {
            const NAME: &'static str = $name;
            type Reply = $reply;

            fn caller(&self) -> Option<&Caller> {
                let caller: fn(&Self) -> Option<&Caller> = $caller;
                caller(self)
            }
            fn decide(
                &self,
                $state: &ThreadState,
                $standing: CallerStanding,
                $stamp: &Stamp,
            ) -> RunDecision<$reply> {
                let $this = self;
                $decide
            }
        }
    };
}

decides!("start_run", StartRun => RunStart, |this| Some(&this.caller), |this, state, standing, stamp| {
    decide::start(state, standing, stamp, this)
});
decides!("resume_run", ResumeRun => InterruptReceipt, |this| Some(&this.caller), |this, state, standing, _stamp| {
    decide::resume(state, standing, this)
});
decides!("cancel_run", CancelRun => InterruptReceipt, |this| Some(&this.caller), |this, state, standing, _stamp| {
    decide::cancel(state, standing, this)
});
decides!("cancel_all", CancelAll => CanceledAll, |_| None, |this, state, _standing, _stamp| decide::cancel_all(state, this));
decides!("settle_held", SettleHeld => ProgressReceipt, |_| None, |this, state, _standing, _stamp| {
    decide::settle_held(state, this)
});
decides!("progress", Progress => ProgressReceipt, |_| None, |this, state, _standing, _stamp| decide::progress(state, this));
decides!("take_over", TakeOver => ProgressReceipt, |_| None, |this, state, _standing, _stamp| decide::take_over(state, this));
