//! A room's summary of agents: their waiting items, and whether they work.
//! Must not know: the caller.

use async_trait::async_trait;
use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, Position, TimestampMs};
use plenary_log::Fault;

/// The summary of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    /// The number of unseen inbox items.
    pub unread: u64,
    /// The time at which the oldest unseen item was sent.
    pub oldest_unread_at: Option<TimestampMs>,
    /// The positions up to which its messages were delivered, seen and acknowledged, in this order.
    pub reached: [Position; 3],
    /// Active sessions that it has joined.
    pub sessions_active: u64,
    /// Its active runs, including waiting ones.
    pub runs_active: u64,
    /// Its runs that wait for input from their caller.
    pub runs_waiting: u64,
    /// The time since which the first of these runs waits.
    pub runs_waiting_since: Option<TimestampMs>,
    /// The start of its current work, if it works.
    pub working_since: Option<TimestampMs>,
    /// Whether it is present: connected, or in a live session of a coding agent.
    pub is_there: bool,
    /// The time of its last sign of life.
    pub last_active_at: Option<TimestampMs>,
    /// Whether only presence and work are wanted, because the agent belongs to another owner.
    pub is_brief: bool,
    /// The time of its oldest request that still waits for a person.
    pub waiting_since: Option<TimestampMs>,
    /// The live sessions of its coding agents.
    pub coding: Vec<CodingGlance>,
    /// Its attention setting, unless it is open.
    pub attention: Option<AttentionGlance>,
}

/// An attention setting other than open, of an agent or one of its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionGlance {
    /// `focus` or `dnd`.
    pub level: &'static str,
    /// When the setting ends, if an end was given.
    pub until: Option<TimestampMs>,
}

/// A live session of a coding agent at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodingGlance {
    /// The coding agent's id for the session.
    pub session: String,
    /// The name of the coding agent.
    pub client: String,
    /// Whether a turn of its model is under way.
    pub works: bool,
    /// Whether it runs hooks; if not, it has tools only.
    pub hooks: bool,
    /// The time of its last activity.
    pub since: TimestampMs,
    /// Its attention setting, unless it is open.
    pub attention: Option<AttentionGlance>,
}

impl Glance {
    /// Counts a run that has waited for its caller since `since`.
    pub fn run_waits(&mut self, since: TimestampMs) {
        self.runs_waiting += 1;
        self.runs_waiting_since = Some(self.runs_waiting_since.map_or(since, |known| known.min(since)));
    }

    /// Records a sign of life.
    pub fn record_activity(&mut self, at: TimestampMs) {
        self.last_active_at = self.last_active_at.max(Some(at));
    }
}

/// The summaries of several agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glances {
    /// The agents to summarise.
    pub agents: BTreeMap<AgentHandle, Glance>,
    /// The number of items that wait for a person.
    pub waiting: u64,
    /// The time of the oldest of these items.
    pub waiting_since: Option<TimestampMs>,
}

impl Glances {
    /// Counts an item that has waited for a person since `since`.
    pub fn waits(&mut self, since: TimestampMs) {
        self.waiting += 1;
        self.waiting_since = Some(self.waiting_since.map_or(since, |known| known.min(since)));
    }
}

/// A source of summary data about agents.
#[async_trait]
pub trait Glancer: Send + Sync + 'static {
    /// Adds this source's data.
    async fn glance(&self, glances: &mut Glances) -> Result<(), Fault>;
}
