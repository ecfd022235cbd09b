//! A room's summary of agents: their waiting items, and whether they work.
//! Must not know: the caller.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use plenary_kernel::{AgentHandle, Position, TimestampMs};
use plenary_log::Fault;

/// An agent in the overview.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    /// Inbox items that it has not seen.
    pub unread: u64,
    /// When the oldest of them was sent.
    pub oldest_unread_at: Option<TimestampMs>,
    /// Up to where in the log its messages were delivered, seen and acknowledged.
    pub reached: [Position; 3],
    /// Active sessions that it has joined.
    pub sessions_active: u64,
    /// Runs of it that go on, those that wait among them.
    pub runs_active: u64,
    /// Runs of it that wait for their caller.
    pub runs_waiting: u64,
    /// Since when it works, where it does.
    pub works_since: Option<TimestampMs>,
    /// Whether it is there: connected, or in a live session of a coding agent.
    pub is_there: bool,
    /// When there was last a sign of it.
    pub heard_at: Option<TimestampMs>,
    /// Whether no more is wanted than whether it is there, and works: it is somebody else's.
    pub is_brief: bool,
    /// Since when the oldest of its requests waits for a person.
    pub asks_since: Option<TimestampMs>,
    /// The live sessions of its coding agents.
    pub coding: Vec<CodingGlance>,
    /// What it does not let disturb it, if it is not open.
    pub attention: Option<AttentionGlance>,
}

/// An agent, or a session of it, that does not let everything disturb it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionGlance {
    /// `focus` or `dnd`.
    pub level: &'static str,
    /// Until when, if an end was named.
    pub until: Option<TimestampMs>,
}

/// A live session of a coding agent at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodingGlance {
    /// What the coding agent calls it.
    pub session: String,
    /// Which coding agent it is.
    pub client: String,
    /// Whether a turn of its model is under way.
    pub works: bool,
    /// Whether it runs hooks; else it has tools alone.
    pub hooks: bool,
    /// When something last happened in it.
    pub since: TimestampMs,
    /// What it does not let disturb it, if it is not open.
    pub attention: Option<AttentionGlance>,
}

impl Glance {
    /// There was a sign of it.
    pub fn heard(&mut self, at: TimestampMs) {
        self.heard_at = self.heard_at.max(Some(at));
    }
}

/// What is seen at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glances {
    /// The agents that are looked at.
    pub agents: BTreeMap<AgentHandle, Glance>,
    /// How much waits for a person.
    pub waiting: u64,
    /// Since when the oldest of it waits.
    pub waiting_since: Option<TimestampMs>,
}

impl Glances {
    /// Something waits for a person.
    pub fn waits(&mut self, since: TimestampMs) {
        self.waiting += 1;
        self.waiting_since = Some(self.waiting_since.map_or(since, |known| known.min(since)));
    }
}

/// Who knows something of agents.
pub trait Glancer: Send + Sync + 'static {
    /// Adds what it knows.
    fn glance<'a>(&'a self, at: &'a mut Glances) -> BoxFuture<'a, Result<(), Fault>>;
}
