//! Who is alive, from the `status` events and the one knob (CH-1 to CH-3, CH-18). Pure.
//! Must not know: the clock; what else an agent does.

use plenary_accounts::Actor;
use plenary_kernel::TimestampMs;

use crate::{
    state::ChannelState,
    wire::{AgentPresence, Presence},
};

/// Silent for more than so many cadences means dead.
const CADENCES: u64 = 5;

/// How often an agent that holds work is heard, in seconds: `STATUS_CADENCE_SECONDS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cadence(pub u64);

impl Cadence {
    /// The longest silence of a live agent, in seconds.
    #[must_use]
    pub const fn silence_seconds_max(self) -> u64 {
        self.0.saturating_mul(CADENCES)
    }

    /// Whether somebody who was last heard then is presumed dead.
    #[must_use]
    pub fn presumes_dead(self, last: TimestampMs, now: TimestampMs) -> bool {
        now.0.saturating_sub(last.0) > self.silence_seconds_max().saturating_mul(1_000)
    }
}

/// Everyone who posted a status, the latest first.
#[must_use]
pub fn presence(state: &ChannelState, cadence: Cadence, now: TimestampMs) -> Presence {
    let mut heard: Vec<_> = state.statuses.iter().collect();
    heard.sort_by(|(a, a_last), (b, b_last)| b_last.at.cmp(&a_last.at).then(a.cmp(b)));
    let agents = heard.into_iter().map(|(agent, last)| AgentPresence {
        agent: agent.clone(),
        via: last.via.as_ref().map(Actor::to_string),
        last_status_at: last.at.rfc3339(),
        silent_seconds: now.0.saturating_sub(last.at.0) / 1_000,
        presumed_dead: cadence.presumes_dead(last.at, now),
    });
    Presence { cadence_seconds: cadence.0, agents: agents.collect() }
}
