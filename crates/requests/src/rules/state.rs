//! The rules of an owner: the fold of their stream. Pure.
//! Must not know: the matching requests.

use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, RuleId, TimestampMs};
use serde::{Deserialize, Serialize};

use super::event::{RuleEvent, RuleMade};
use crate::RULES_MAX;

/// The rules of an owner by id, in order of creation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesState {
    /// Each with the time of its creation.
    pub rules: BTreeMap<RuleId, (TimestampMs, RuleMade)>,
}

impl RulesState {
    /// The rules that are valid now, oldest first.
    pub fn valid_rules(&self, now: TimestampMs) -> impl Iterator<Item = &(TimestampMs, RuleMade)> {
        self.rules.values().filter(move |(_, rule)| now < rule.until)
    }

    /// Whether the limit of valid rules is reached.
    pub fn is_full(&self, now: TimestampMs) -> bool {
        self.valid_rules(now).count() >= RULES_MAX
    }

    /// The newest matching rule.
    pub fn newest_match(
        &self,
        now: TimestampMs,
        agent: &AgentHandle,
        tool: &str,
        directory: Option<&str>,
    ) -> Option<&RuleMade> {
        let rules = self.valid_rules(now).map(|(_, rule)| rule);
        let fits = |rule: &&RuleMade| {
            rule.agent == *agent
                && rule.tool == tool
                && rule.directory.as_deref().is_none_or(|within| is_within(directory, within))
        };
        rules.filter(fits).last()
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &RuleEvent) {
        match event {
            RuleEvent::RuleMade(event) => {
                self.rules.retain(|_, (_, rule)| at < rule.until);
                self.rules.insert(event.rule.clone(), (at, event.clone()));
                // Concurrent answers may exceed the limit: the oldest rule is dropped.
                while self.rules.len() > RULES_MAX {
                    self.rules.pop_first();
                }
            }
            RuleEvent::RuleRemoved(event) => {
                self.rules.remove(&event.rule);
            }
        }
    }
}

/// Whether a directory is `within` or below it. A path that leads out again does not count.
fn is_within(directory: Option<&str>, within: &str) -> bool {
    let Some(directory) = directory else { return false };
    let within = within.trim_end_matches('/');
    let is_below = match directory.strip_prefix(within) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    };
    is_below && !directory.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use plenary_accounts::Actor;
    use plenary_kernel::{AskId, Stamp};

    use super::*;
    use crate::wire::AnswerType;

    fn rule_made(nth: u64, directory: Option<&str>, until: u64) -> RuleEvent {
        RuleEvent::RuleMade(RuleMade {
            rule: RuleId::mint(&Stamp::new(TimestampMs(1), [0; 10]), nth),
            agent: "@ann.cc".parse().unwrap(),
            tool: "Bash".into(),
            directory: directory.map(str::to_owned),
            answer: AnswerType::Accept,
            by: Actor::Operator,
            request: AskId::of_source("x"),
            until: TimestampMs(until),
        })
    }

    fn fits(state: &RulesState, now: u64, agent: &str, tool: &str, directory: Option<&str>) -> bool {
        state.newest_match(TimestampMs(now), &agent.parse().unwrap(), tool, directory).is_some()
    }

    #[test]
    fn a_rule_is_for_one_agent_one_tool_and_what_is_below_its_directory() {
        let mut state = RulesState::default();
        state.evolve(TimestampMs(1), &rule_made(0, Some("/src/app/"), 100));
        for (agent, tool, directory, expected) in [
            ("@ann.cc", "Bash", Some("/src/app"), true),
            ("@ann.cc", "Bash", Some("/src/app/web"), true),
            ("@ann.cc", "Bash", Some("/src/application"), false),
            ("@ann.cc", "Bash", Some("/src/app/../.."), false),
            ("@ann.cc", "Bash", None, false),
            ("@ann.cc", "Edit", Some("/src/app"), false),
            ("@ann.codex", "Bash", Some("/src/app"), false),
        ] {
            assert_eq!(fits(&state, 1, agent, tool, directory), expected, "{agent} {tool} {directory:?}");
        }
        assert!(!fits(&state, 100, "@ann.cc", "Bash", Some("/src/app")), "it holds no longer than it says");
    }

    #[test]
    fn past_the_limit_the_oldest_rule_goes() {
        let mut state = RulesState::default();
        for nth in 0..=RULES_MAX as u64 {
            state.evolve(TimestampMs(1), &rule_made(nth, None, 100));
        }
        assert_eq!(state.rules.len(), RULES_MAX);
        assert!(state.is_full(TimestampMs(1)) && !state.is_full(TimestampMs(100)));
        assert!(!state.rules.contains_key(&RuleId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0)));
    }
}
