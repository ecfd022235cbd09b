//! Reports each agent that is presumed dead once, and whether it holds the work (CH-2, CH-33). Pure.
//! Must not know: how presence is requested.

use std::collections::BTreeSet;

use serde::Deserialize;

/// An agent that is silent for more than this number of cadences is presumed dead (CH-2).
const CADENCES: u64 = 5;

/// `GET /agent-channel/{id}/presence`: the last status of each agent, latest first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Presence {
    /// The interval in seconds at which an agent that holds work posts a `status`.
    pub cadence_seconds: u64,
    /// Every agent that ever posted a status.
    pub agents: Vec<AgentPresence>,
}

/// The last status of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentPresence {
    /// The author of its statuses.
    pub agent: String,
    /// The holder of the token of its last status.
    pub via: Option<String>,
    /// Its age in whole seconds.
    pub silent_seconds: u64,
    /// Silent for more than five cadences.
    pub presumed_dead: bool,
}

/// The holder of the work, from the newest state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The agent.
    pub agent: String,
    /// The age of that state in seconds.
    pub state_age_seconds: u64,
}

/// A change of liveness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vital {
    /// An agent is presumed dead; reported once for each death, and again when it becomes the holder.
    Dead {
        /// The agent.
        agent: String,
        /// How long it has been silent.
        silent_seconds: u64,
        /// Whether it holds the work.
        holds_work: bool,
    },
    /// An agent that was presumed dead posted again.
    Back {
        /// The agent.
        agent: String,
    },
}

/// The agents reported dead so far.
#[derive(Debug, Default)]
pub struct Liveness {
    dead: BTreeSet<String>,
    dead_holder: Option<String>,
}

impl Liveness {
    /// The changes since the last call. For a holder that never posted a status, the age of the state that names it
    /// counts as its silence.
    pub fn take(&mut self, presence: &Presence, holder: Option<&Holder>) -> Vec<Vital> {
        let mut silent: Vec<(&str, u64)> = presence
            .agents
            .iter()
            .filter(|agent| agent.presumed_dead)
            .map(|agent| (agent.agent.as_str(), agent.silent_seconds))
            .collect();
        if let Some(Holder { agent, state_age_seconds }) = holder
            && !presence.agents.iter().any(|present| present.agent == *agent)
            && *state_age_seconds > presence.cadence_seconds.saturating_mul(CADENCES)
        {
            silent.push((agent, *state_age_seconds));
        }
        let mut vitals = Vec::new();
        let recovered: Vec<String> =
            self.dead.iter().filter(|was| !silent.iter().any(|(is, _)| is == was)).cloned().collect();
        for agent in recovered {
            self.dead.remove(&agent);
            if presence.agents.iter().any(|present| present.agent == agent) {
                vitals.push(Vital::Back { agent });
            }
        }
        let mut dead_holder = None;
        for (agent, silent_seconds) in silent {
            let holds_work = holder.is_some_and(|holder| holder.agent == agent);
            let holds_newly = holds_work && self.dead_holder.as_deref() != Some(agent);
            if holds_work {
                dead_holder = Some(agent.to_owned());
            }
            if self.dead.insert(agent.to_owned()) || holds_newly {
                vitals.push(Vital::Dead { agent: agent.to_owned(), silent_seconds, holds_work });
            }
        }
        self.dead_holder = dead_holder;
        vitals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(agents: &[(&str, u64)]) -> Presence {
        let agents = agents.iter().map(|(agent, silent_seconds)| AgentPresence {
            agent: (*agent).to_owned(),
            via: None,
            silent_seconds: *silent_seconds,
            presumed_dead: *silent_seconds > 300,
        });
        Presence { cadence_seconds: 60, agents: agents.collect() }
    }

    fn dead(agent: &str, silent_seconds: u64, holds_work: bool) -> Vital {
        Vital::Dead { agent: agent.to_owned(), silent_seconds, holds_work }
    }

    #[test]
    fn ch_2_each_death_is_told_once_and_coming_back_too() {
        let mut liveness = Liveness::default();
        assert_eq!(liveness.take(&presence(&[("a", 300), ("b", 0)]), None), []);
        assert_eq!(liveness.take(&presence(&[("a", 301), ("b", 0)]), None), [dead("a", 301, false)]);
        assert_eq!(liveness.take(&presence(&[("a", 361), ("b", 0)]), None), []);
        assert_eq!(liveness.take(&presence(&[("a", 1)]), None), [Vital::Back { agent: "a".into() }]);
        assert_eq!(liveness.take(&presence(&[("a", 400)]), None), [dead("a", 400, false)]);
        assert_eq!(liveness.take(&presence(&[]), None), [], "forgotten is not back");
    }

    #[test]
    fn ch_33_a_dead_holder_is_called_out_also_when_it_gets_the_work_later_or_was_never_heard() {
        let mut liveness = Liveness::default();
        let holder = |agent: &str, age| Some(Holder { agent: agent.to_owned(), state_age_seconds: age });
        assert_eq!(
            liveness.take(&presence(&[("a", 400)]), holder("c", 300).as_ref()),
            [dead("a", 400, false)]
        );
        assert_eq!(
            liveness.take(&presence(&[("a", 401)]), holder("c", 301).as_ref()),
            [dead("c", 301, true)]
        );
        assert_eq!(liveness.take(&presence(&[("a", 402)]), holder("a", 1).as_ref()), [dead("a", 402, true)]);
        assert_eq!(liveness.take(&presence(&[("a", 403)]), holder("a", 2).as_ref()), []);
    }
}
