//! The configuration of an agent (SC-10, SC-43): one stream per agent, `runs.agent/<name>`.
//! Must not know: HTTP; the meaning of the arguments.

use std::sync::Arc;

use plenary_accounts::{Accounts, Actor};
use plenary_engine::{
    Command, Conditions, Decided, Decision, Point, Room,
    stored::{StoredForm, corrupt, read, unknown, written_with},
};
use plenary_kernel::{OwnerName, Stamp, TimestampMs, Version};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    access::may_configure,
    command::Caller,
    id::{RunId, ThreadId},
    limits::ARGS_BYTES_MAX,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentConfigured {
    /// The run id of the response.
    pub(crate) run: RunId,
    pub(crate) by: Actor,
    /// The new values, a JSON object; null removes an argument.
    #[serde(skip)]
    pub(crate) args: Map<String, Value>,
}

/// The arguments of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) args: Arc<Map<String, Value>>,
}

impl Configuration {
    fn with(&self, changes: &Map<String, Value>) -> Map<String, Value> {
        let mut args = Map::clone(&self.args);
        for (name, value) in changes {
            match value {
                Value::Null => drop(args.remove(name)),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    args.insert(name.clone(), value.clone());
                }
            }
        }
        args
    }
}

/// The configurations as a room of the engine.
#[derive(Debug)]
pub(crate) struct ConfigurationRoom;

const KIND: &str = "AgentConfigured";

impl StoredForm for AgentConfigured {
    const KINDS: &'static [&'static str] = &[KIND];

    fn encode(&self) -> NewEvent {
        let payload = serde_json::to_vec(&self.args).expect("a value can be written");
        written_with(KIND, self, payload.into())
    }
    fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        if &*stored.kind != KIND {
            return unknown(stored);
        }
        let args = serde_json::from_slice(&stored.payload);
        let args = args.map_err(|error| corrupt(stored, &error.to_string()))?;
        Ok(Self { args, ..read(stored)? })
    }
}

impl Room for ConfigurationRoom {
    type State = Configuration;
    type Event = AgentConfigured;
    const CATEGORY: &'static str = "runs.agent";
    const SNAPSHOT_FORM: u16 = 1;

    fn payer(_: &str, _: &Configuration, event: &AgentConfigured) -> Option<OwnerName> {
        event.by.owner()
    }
    fn evolve(state: &mut Configuration, _: Version, _: TimestampMs, event: &AgentConfigured) {
        state.args = Arc::new(state.with(&event.args));
    }
}

#[derive(Clone)]
pub(crate) struct ConfigureAgent {
    pub(crate) accounts: Accounts,
    pub(crate) caller: Caller,
    pub(crate) args: Map<String, Value>,
}

/// The ids of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunIds {
    pub(crate) run: RunId,
    pub(crate) thread: ThreadId,
}

/// Why an agent is not configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigureRejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// Only its owner and the operator configure an agent.
    Forbidden,
    /// All arguments together would have more than [`ARGS_BYTES_MAX`] bytes.
    TooLarge,
}

/// Decides `ConfigureAgent`: a new value replaces the earlier value of the same argument.
fn decide(
    state: &Configuration,
    is_token_valid: bool,
    stamp: &Stamp,
    command: &ConfigureAgent,
) -> Result<Decision<AgentConfigured, RunIds>, ConfigureRejection> {
    let Caller { authority, owner, .. } = &command.caller;
    if !is_token_valid {
        return Err(ConfigureRejection::Unauthenticated);
    }
    if !may_configure(&authority.by, owner) {
        return Err(ConfigureRejection::Forbidden);
    }
    let bytes = serde_json::to_vec(&state.with(&command.args)).map_or(usize::MAX, |json| json.len());
    if bytes > ARGS_BYTES_MAX {
        return Err(ConfigureRejection::TooLarge);
    }
    let (run, thread) = (RunId::mint(stamp, 0), ThreadId::mint(stamp, 1));
    let event = AgentConfigured { run, by: authority.by.clone(), args: command.args.clone() };
    Ok(Decision::new(vec![event], RunIds { run, thread }))
}

impl Command<ConfigurationRoom> for ConfigureAgent {
    const NAME: &'static str = "configure_agent";
    type Reply = RunIds;
    type Rejection = ConfigureRejection;
    type Facts = bool;

    async fn facts(&self, _: &Configuration, conditions: &mut Conditions) -> Result<bool, Fault> {
        self.accounts.holds(&self.caller.authority, conditions).await
    }

    fn decide(
        &self,
        state: &Configuration,
        is_token_valid: &bool,
        at: &Point,
    ) -> Decided<ConfigurationRoom, Self> {
        decide(state, *is_token_valid, &at.stamp, self)
    }
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen_with;
    use serde_json::json;

    use super::*;

    #[test]
    fn sc_10_arguments_are_set_one_by_one_and_null_takes_one_away() {
        let mut state = Configuration::default();
        let stamp = Stamp::new(TimestampMs(7), [0; 10]);
        let configured = |args: Value| AgentConfigured {
            run: RunId::mint(&stamp, 0),
            by: Actor::Operator,
            args: args.as_object().cloned().unwrap(),
        };
        for args in [json!({"a": 1, "b": {"c": 2}}), json!({"b": null, "d": "x"}), json!({})] {
            ConfigurationRoom::evolve(&mut state, Version(1), TimestampMs(7), &configured(args));
        }
        assert_eq!(Value::Object(Map::clone(&state.args)), json!({"a": 1, "d": "x"}));
    }

    #[test]
    fn the_stored_form_is_frozen() {
        assert_frozen_with::<AgentConfigured>(&[(
            "AgentConfigured",
            r#"{"run":"00000000-0007-7000-8000-000000000000","by":"operator"}"#,
            r#"{"model":"m"}"#,
        )]);
    }
}
