//! The decisions on an owner's push configurations. Pure.
//! Must not know: how notifications are sent.

use plenary_engine::Decision;
use serde::{Deserialize, Serialize};

use super::event::{PushConfig, PushEvent, PushKey};
use crate::limits::{PUSH_CONFIGS_PER_OWNER_MAX, PUSH_CONFIGS_PER_TASK_MAX};

/// The configurations of an owner, in the order in which they were set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PushState {
    pub(crate) all: Vec<PushEntry>,
}

/// A configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PushEntry {
    pub(crate) config: PushConfig,
    /// Whether its task is over and reported.
    pub(crate) is_settled: bool,
}

/// A command on a configuration.
#[derive(Debug, Clone)]
pub(crate) enum PushStep {
    /// Creates or replaces it.
    Set(Box<PushConfig>),
    /// Removes it; a missing one is ignored.
    Delete(PushKey),
    /// Marks it as settled: its task is over and reported.
    Settle(PushKey),
}

/// Why a command is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The limit of the task is reached.
    TooManyOfTask,
    /// The limit of the owner is reached, and all configurations are of active tasks.
    TooManyOfOwner,
}

impl PushState {
    pub(crate) fn find(&self, task: &str, id: &str) -> Option<&PushEntry> {
        self.all.iter().find(|entry| entry.config.key.task == task && entry.config.key.id == id)
    }

    pub(crate) fn evolve(&mut self, event: &PushEvent) {
        let key = event.key();
        match event {
            PushEvent::PushConfigSet(config) => {
                self.all.retain(|entry| entry.config.key != *key);
                self.all.push(PushEntry { config: (**config).clone(), is_settled: false });
            }
            PushEvent::PushConfigDeleted(_) => self.all.retain(|entry| entry.config.key != *key),
            PushEvent::PushConfigSettled(_) => {
                if let Some(entry) = self.all.iter_mut().find(|entry| entry.config.key == *key) {
                    entry.is_settled = true;
                }
            }
        }
    }
}

pub(crate) fn decide(state: &PushState, step: &PushStep) -> Result<Decision<PushEvent, ()>, Rejection> {
    let there = |key: &PushKey| state.all.iter().find(|entry| entry.config.key == *key);
    let events = match step {
        PushStep::Set(config) => return set(state, config),
        PushStep::Delete(key) => there(key).map(|_| PushEvent::PushConfigDeleted(key.clone())),
        PushStep::Settle(key) => {
            let open = there(key).filter(|entry| !entry.is_settled);
            open.map(|_| PushEvent::PushConfigSettled(key.clone()))
        }
    };
    Ok(Decision::new(events.into_iter().collect(), ()))
}

fn set(state: &PushState, config: &PushConfig) -> Result<Decision<PushEvent, ()>, Rejection> {
    let others = || state.all.iter().filter(|entry| entry.config.key != config.key);
    if others().filter(|entry| entry.config.key.task == config.key.task).count() >= PUSH_CONFIGS_PER_TASK_MAX
    {
        return Err(Rejection::TooManyOfTask);
    }
    let mut events = Vec::new();
    if others().count() >= PUSH_CONFIGS_PER_OWNER_MAX {
        // A settled configuration can be dropped.
        let oldest = others().find(|entry| entry.is_settled).ok_or(Rejection::TooManyOfOwner)?;
        events.push(PushEvent::PushConfigDeleted(oldest.config.key.clone()));
    }
    events.push(PushEvent::PushConfigSet(Box::new(config.clone())));
    Ok(Decision::new(events, ()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(task: usize, id: usize) -> PushConfig {
        PushConfig {
            key: PushKey { task: format!("t{task}"), id: format!("c{id}"), stream: "runs.thread/x".into() },
            agent: "@nick.coder".parse().unwrap(),
            receiver: "@ann.app".parse().unwrap(),
            through: None,
            url: "https://h/".into(),
            token: None,
            scheme: None,
            credentials: None,
        }
    }

    fn carry_out(state: &mut PushState, step: &PushStep) -> Result<usize, Rejection> {
        let decided = decide(state, step)?;
        decided.events.iter().for_each(|event| state.evolve(event));
        Ok(decided.events.len())
    }

    fn set(task: usize, id: usize) -> PushStep {
        PushStep::Set(Box::new(config(task, id)))
    }

    #[test]
    fn given_a_configuration_when_it_is_set_again_then_there_is_one() {
        let mut state = PushState::default();
        carry_out(&mut state, &set(1, 1)).unwrap();
        carry_out(&mut state, &PushStep::Settle(config(1, 1).key)).unwrap();
        carry_out(&mut state, &set(1, 1)).unwrap();
        assert_eq!(state.all.len(), 1);
        assert!(!state.find("t1", "c1").unwrap().is_settled, "it is active again");
    }

    #[test]
    fn given_nothing_when_it_is_removed_or_settled_then_nothing_happens() {
        let mut state = PushState::default();
        assert_eq!(carry_out(&mut state, &PushStep::Delete(config(1, 1).key)), Ok(0));
        assert_eq!(carry_out(&mut state, &PushStep::Settle(config(1, 1).key)), Ok(0));
        carry_out(&mut state, &set(1, 1)).unwrap();
        assert_eq!(carry_out(&mut state, &PushStep::Settle(config(1, 1).key)), Ok(1));
        assert_eq!(carry_out(&mut state, &PushStep::Settle(config(1, 1).key)), Ok(0));
        assert_eq!(carry_out(&mut state, &PushStep::Delete(config(1, 1).key)), Ok(1));
        assert_eq!(state, PushState::default());
    }

    #[test]
    fn given_as_many_as_may_be_when_one_more_is_set_then_a_settled_one_goes_or_it_is_refused() {
        let mut state = PushState::default();
        for id in 0..PUSH_CONFIGS_PER_TASK_MAX {
            carry_out(&mut state, &set(0, id)).unwrap();
        }
        assert_eq!(carry_out(&mut state, &set(0, 99)), Err(Rejection::TooManyOfTask));
        assert_eq!(carry_out(&mut state, &set(0, 0)), Ok(1), "the same one again");
        for task in 1..=PUSH_CONFIGS_PER_OWNER_MAX - PUSH_CONFIGS_PER_TASK_MAX {
            carry_out(&mut state, &set(task, 0)).unwrap();
        }
        assert_eq!(carry_out(&mut state, &set(9_999, 0)), Err(Rejection::TooManyOfOwner));
        carry_out(&mut state, &PushStep::Settle(config(7, 0).key)).unwrap();
        assert_eq!(carry_out(&mut state, &set(9_999, 0)), Ok(2));
        assert!(state.find("t7", "c0").is_none() && state.all.len() == PUSH_CONFIGS_PER_OWNER_MAX);
    }
}
