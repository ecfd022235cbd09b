//! The fold of a channel: its identity, the positions of its newest charter and state, and the last status of each
//! agent. It stays small however many events there are. Pure.
//! Must not know: payloads, any time except that of events.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::Actor;
use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::{
    AGENTS_REMEMBERED_MAX,
    event::{ChannelEvent, EventAppended},
    key::LinkKey,
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
    pub created: Option<Creation>,
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
    /// The key of its link; none in a channel from before links had one.
    pub key: Option<LinkKey>,
    /// The owners that have shown a key.
    pub admitted: BTreeSet<OwnerName>,
    /// The latest time of a status or state; events that follow may have an earlier one where the clock went back.
    latest: TimestampMs,
    /// The run that the newest event stands in.
    pub(crate) run: u64,
    /// The kinds that stand in it.
    pub(crate) kinds: BTreeSet<String>,
}

/// How a channel began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// What it is about.
    pub title: String,
    /// The author, by its stable name.
    pub by: String,
    /// Who that is by its token.
    pub via: Option<Actor>,
    /// When.
    pub at: TimestampMs,
}

/// When an author was last heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastStatus {
    /// When.
    pub at: TimestampMs,
    /// Its place on the channel's stream.
    pub version: Version,
    /// Whose token it came with.
    pub via: Option<Actor>,
}

/// The owner behind a token, if there is one.
pub(crate) fn owner_of(via: Option<&Actor>) -> Option<OwnerName> {
    via?.owner()
}

impl ChannelState {
    /// The agent that created it, if an agent did.
    pub(crate) fn creator(&self) -> Option<&AgentHandle> {
        match self.created.as_ref()?.via.as_ref()? {
            Actor::Agent(creator) => Some(creator),
            Actor::Operator | Actor::Seed | Actor::Owner(_) => None,
        }
    }

    /// Whether an event at this version is the first of its kind in its run.
    pub(crate) fn begins_a_run(&self, version: Version, kind: &str) -> Option<u64> {
        let run = run_of(version);
        (run != self.run || !self.kinds.contains(kind)).then_some(run)
    }

    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &ChannelEvent) {
        match event {
            ChannelEvent::ChannelCreated(event) => {
                let (title, by, via) = (event.title.clone(), event.created_by.clone(), event.via.clone());
                self.created = Some(Creation { title, by, via, at: event.created });
                self.key.clone_from(&event.key);
                self.owners.extend(owner_of(event.via.as_ref()));
            }
            ChannelEvent::EventAppended(event) => self.append(version, at, event),
            ChannelEvent::ChannelClosed(_) => self.closed_at = Some(at),
            ChannelEvent::OwnerAdmitted(event) => drop(self.admitted.insert(event.owner.clone())),
            ChannelEvent::KeyChanged(event) => self.key = Some(event.key.clone()),
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
        if matches!(event.kind.as_str(), "state" | "status") {
            self.passes(at);
        }
        match event.kind.as_str() {
            "spec" => self.spec = version,
            "state" => (self.state, self.state_at) = (version, at),
            "status" => self.heard(version, at, event),
            _ => {}
        }
    }

    /// What stands before an event in the log is no later than it, whatever the clock said.
    fn passes(&mut self, at: TimestampMs) {
        if at < self.latest {
            self.state_at = self.state_at.min(at);
            self.statuses.values_mut().for_each(|last| last.at = last.at.min(at));
        }
        self.latest = at;
    }

    fn heard(&mut self, version: Version, at: TimestampMs, event: &EventAppended) {
        self.statuses.insert(event.author.clone(), LastStatus { at, version, via: event.via.clone() });
        if self.statuses.len() > AGENTS_REMEMBERED_MAX {
            let silent_longest =
                self.statuses.iter().min_by_key(|(_, last)| last.version).map(|(who, _)| who.clone());
            silent_longest.map(|who| self.statuses.remove(&who));
        }
    }
}

/// Whether an event changes the state at all.
pub(crate) fn folds(event: &ChannelEvent) -> bool {
    match event {
        ChannelEvent::ChannelCreated(_)
        | ChannelEvent::ChannelClosed(_)
        | ChannelEvent::OwnerAdmitted(_)
        | ChannelEvent::KeyChanged(_) => true,
        ChannelEvent::EventAppended(event) => {
            event.run.is_some()
                || event.joins.is_some()
                || matches!(event.kind.as_str(), "spec" | "state" | "status")
        }
    }
}
