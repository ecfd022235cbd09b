//! The fold of a channel: what it is, where its newest charter and state stand, and when each agent was last heard.
//! Pure, and small however many events there are.
//! Must not know: payloads, time but what events carry.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::Actor;
use plenary_kernel::{OwnerName, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::{
    AGENTS_REMEMBERED_MAX,
    event::{ChannelEvent, EventAppended},
};

/// How many versions make a run: within one, only the first event of a kind is indexed.
pub(crate) const RUN: u64 = 64;

/// The run that a version stands in.
pub(crate) fn run_of(version: Version) -> u64 {
    version.0.saturating_sub(1) / RUN
}

/// A channel. The default is an id that no channel has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// How it began; `None` when there is no such channel.
    pub created: Option<Created>,
    /// When it was last closed.
    pub closed_at: Option<TimestampMs>,
    /// The newest `spec`, the charter (CH-16); zero when there is none.
    pub spec: Version,
    /// The newest `state` (CH-17); zero when there is none.
    pub state: Version,
    /// When it was posted.
    pub state_at: TimestampMs,
    /// The last `status` of each author (CH-18).
    pub statuses: BTreeMap<String, LastStatus>,
    /// The owners that created it or appended to it.
    pub owners: BTreeSet<OwnerName>,
    /// The run that the newest event stands in.
    pub(crate) run: u64,
    /// The kinds that stand in it.
    pub(crate) kinds: BTreeSet<String>,
}

/// How a channel began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// What it is about.
    pub title: String,
    /// By whom, in its own words.
    pub by: String,
    /// When.
    pub at: TimestampMs,
}

/// When an author was last heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastStatus {
    /// When.
    pub at: TimestampMs,
    /// Whose token it came with.
    pub via: Option<Actor>,
}

/// The owner behind a token, if there is one.
pub(crate) fn owner_of(via: Option<&Actor>) -> Option<OwnerName> {
    match via? {
        Actor::Owner(owner) => Some(owner.clone()),
        Actor::Agent(agent) => Some(agent.owner_name()),
        Actor::Operator | Actor::Seed => None,
    }
}

impl ChannelState {
    /// Whether an event at this version is the first of its kind in its run.
    pub(crate) fn begins_a_run(&self, version: Version, kind: &str) -> Option<u64> {
        let run = run_of(version);
        (run != self.run || !self.kinds.contains(kind)).then_some(run)
    }

    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &ChannelEvent) {
        match event {
            ChannelEvent::ChannelCreated(event) => {
                let (title, by) = (event.title.clone(), event.created_by.clone());
                self.created = Some(Created { title, by, at: event.created });
                self.owners.extend(owner_of(event.via.as_ref()));
            }
            ChannelEvent::EventAppended(event) => self.append(version, at, event),
            ChannelEvent::ChannelClosed(_) => self.closed_at = Some(at),
        }
    }

    fn append(&mut self, version: Version, at: TimestampMs, event: &EventAppended) {
        if let Some(run) = event.run {
            if run != self.run {
                self.run = run;
                self.kinds.clear();
            }
            self.kinds.insert(event.kind.clone());
        }
        if let Some(joins) = &event.joins {
            self.owners.insert(joins.owner.clone());
        }
        match event.kind.as_str() {
            "spec" => self.spec = version,
            "state" => (self.state, self.state_at) = (version, at),
            "status" => self.heard(at, event),
            _ => {}
        }
    }

    fn heard(&mut self, at: TimestampMs, event: &EventAppended) {
        self.statuses.insert(event.author.clone(), LastStatus { at, via: event.via.clone() });
        if self.statuses.len() > AGENTS_REMEMBERED_MAX {
            let silent_longest =
                self.statuses.iter().min_by_key(|(_, last)| last.at).map(|(who, _)| who.clone());
            silent_longest.map(|who| self.statuses.remove(&who));
        }
    }
}

/// Whether an event changes the state at all.
pub(crate) fn folds(event: &ChannelEvent) -> bool {
    match event {
        ChannelEvent::ChannelCreated(_) | ChannelEvent::ChannelClosed(_) => true,
        ChannelEvent::EventAppended(event) => {
            event.run.is_some()
                || event.joins.is_some()
                || matches!(event.kind.as_str(), "spec" | "state" | "status")
        }
    }
}
