//! The fold of a channel: its identity, the versions of its newest charter and state, and the last status of each agent. Its
//! size does not grow with the number of events. Pure.
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

/// Number of versions in a run. Within a run, only the first event of each kind is indexed.
pub(crate) const RUN: u64 = 64;

pub(crate) fn run_of(version: Version) -> u64 {
    version.0.saturating_sub(1) / RUN
}

/// A channel. The default is a channel that does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// The creation; `None` if the channel does not exist.
    pub created: Option<Creation>,
    /// When it was last closed.
    pub closed_at: Option<TimestampMs>,
    /// The version of the newest `spec`, the charter (CH-16); zero if there is none.
    pub spec: Version,
    /// The version of the newest `state` (CH-17); zero if there is none.
    pub state: Version,
    /// The time of the newest `state`.
    pub state_at: TimestampMs,
    /// The last `status` of each author (CH-18).
    pub statuses: BTreeMap<String, LastStatus>,
    /// The owners that created it or appended to it.
    pub owners: BTreeSet<OwnerName>,
    /// The key of the link; `None` in a channel that was created before links had keys.
    pub key: Option<LinkKey>,
    /// The owners that have shown the key.
    pub admitted: BTreeSet<OwnerName>,
    /// The time of the newest `status` or `state`. If the next one has an earlier time, the clock was set back.
    latest: TimestampMs,
    /// The run of the newest indexed event.
    pub(crate) run: u64,
    /// The kinds in that run.
    pub(crate) kinds: BTreeSet<String>,
}

/// The creation of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The title; may be empty.
    pub title: String,
    /// The creator's stable name.
    pub by: String,
    /// The actor of the token.
    pub via: Option<Actor>,
    /// The time of creation.
    pub at: TimestampMs,
}

/// The last status of an author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastStatus {
    /// The time of the status.
    pub at: TimestampMs,
    /// Its version on the channel's stream.
    pub version: Version,
    /// The actor of its token.
    pub via: Option<Actor>,
}

/// The owner of a token, if it has one.
pub(crate) fn owner_of(via: Option<&Actor>) -> Option<OwnerName> {
    via?.owner()
}

impl ChannelState {
    /// The agent that created the channel, if an agent did.
    pub(crate) fn creator(&self) -> Option<&AgentHandle> {
        self.created.as_ref()?.via.as_ref()?.agent()
    }

    /// The run of `version`, if an event there would be the first of its kind in the run.
    pub(crate) fn first_run_of_kind(&self, version: Version, kind: &str) -> Option<u64> {
        let run = run_of(version);
        (run != self.run || !self.kinds.contains(kind)).then_some(run)
    }

    /// The state after an event.
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
            ChannelEvent::KeyChanged(event) => {
                self.key = Some(event.key.clone());
                if event.revokes {
                    self.admitted.clear();
                }
            }
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
            "status" => self.record_status(version, at, event),
            _ => {}
        }
    }

    /// If the clock was set back, lowers earlier times: an event of the log is never later than the next one.
    fn passes(&mut self, at: TimestampMs) {
        if at < self.latest {
            self.state_at = self.state_at.min(at);
            self.statuses.values_mut().for_each(|last| last.at = last.at.min(at));
        }
        self.latest = at;
    }

    fn record_status(&mut self, version: Version, at: TimestampMs, event: &EventAppended) {
        self.statuses.insert(event.author.clone(), LastStatus { at, version, via: event.via.clone() });
        if self.statuses.len() > AGENTS_REMEMBERED_MAX {
            let silent_longest =
                self.statuses.iter().min_by_key(|(_, last)| last.version).map(|(author, _)| author.clone());
            silent_longest.map(|author| self.statuses.remove(&author));
        }
    }
}

/// Whether an event changes the state.
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
