//! Which agents are alive, by their `status` events and the cadence (CH-1 to CH-3, CH-18). Pure.
//! Must not know: the clock, other actions of an agent.

use plenary_accounts::Actor;
use plenary_kernel::{TimestampMs, Version};

use crate::{
    state::ChannelState,
    wire::{AgentPresence, Presence},
};

/// An agent that has been silent for more than this number of cadences is presumed dead.
const CADENCES: u64 = 5;

/// `STATUS_CADENCE_SECONDS`: the interval in seconds at which an agent that holds work posts a `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence(pub u64);

impl Cadence {
    /// The longest silence of a live agent, in seconds.
    pub const fn silence_seconds_max(self) -> u64 {
        self.0.saturating_mul(CADENCES)
    }

    /// Whether an agent whose last status was at `last` is presumed dead.
    pub fn presumes_dead(self, last: TimestampMs, now: TimestampMs) -> bool {
        now.0.saturating_sub(last.0) > self.silence_seconds_max().saturating_mul(1_000)
    }
}

/// The notice that a channel has events with a time in the future, because the clock was set back. The events that were in the
/// log at that moment count as no later than it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockNotice {
    /// The newest version of the channel at that moment.
    pub version: Version,
    /// The time of the notice, by the clock that was set back.
    pub at: TimestampMs,
}

impl ClockNotice {
    /// The time of an event, corrected by a notice.
    pub fn dated(noticed: Option<Self>, version: Version, at: TimestampMs) -> TimestampMs {
        noticed.filter(|noticed| version <= noticed.version).map_or(at, |noticed| at.min(noticed.at))
    }
}

/// Whether the newest state or a last status still has a time in the future after the correction.
pub fn is_ahead(state: &ChannelState, noticed: Option<ClockNotice>, now: TimestampMs) -> bool {
    let is_ahead = |version, at| ClockNotice::dated(noticed, version, at) > now;
    is_ahead(state.state, state.state_at)
        || state.statuses.values().any(|last| is_ahead(last.version, last.at))
}

/// The last status of each author, newest first.
pub fn presence(
    state: &ChannelState,
    cadence: Cadence,
    noticed: Option<ClockNotice>,
    now: TimestampMs,
) -> Presence {
    let mut statuses: Vec<_> = state.statuses.iter().collect();
    statuses.sort_by_key(|(_, last)| std::cmp::Reverse(last.version));
    let agents = statuses.into_iter().map(|(agent, last)| {
        let at = ClockNotice::dated(noticed, last.version, last.at);
        AgentPresence {
            agent: agent.clone(),
            via: last.via.as_ref().map(Actor::to_string),
            last_status_at: at.rfc3339(),
            silent_seconds: now.0.saturating_sub(at.0) / 1_000,
            presumed_dead: cadence.presumes_dead(at, now),
        }
    });
    Presence { cadence_seconds: cadence.0, agents: agents.collect() }
}
