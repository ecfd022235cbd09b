//! The pending questions of the agent, in order: the caller gets each after the answers to the earlier ones.
//! Must not know: the form of a question.

use plenary_runs::Event;
use serde_json::{Map, Value};

use super::{
    elicitation::{self, Elicitation},
    permission::{self, Permission},
};

/// A question, with the id of the request that it is.
#[derive(Debug, PartialEq)]
pub(super) struct Question {
    pub(super) id: Value,
    pub(super) asked: AgentQuestion,
}

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(super) enum AgentQuestion {
    Permission(Permission),
    Values(Elicitation),
}

impl AgentQuestion {
    /// What a request of the agent asks for; `None` of what this client does not offer.
    pub(super) fn read(method: &str, params: &Value) -> Option<Result<Self, String>> {
        match method {
            "session/request_permission" => Some(Ok(Self::Permission(Permission::new(params)))),
            "elicitation/create" => Some(Elicitation::new(params).map(Self::Values)),
            _ => None,
        }
    }

    /// What the caller is asked.
    pub(super) fn event(&self) -> Event {
        match self {
            Self::Permission(permission) => permission.event(),
            Self::Values(elicitation) => elicitation.event(),
        }
    }

    /// The answer for the agent that the caller's means, if it means one.
    pub(super) fn outcome(&self, answer: &Map<String, Value>) -> Option<Value> {
        match self {
            Self::Permission(permission) => permission.outcome(answer),
            Self::Values(elicitation) => elicitation.outcome(answer),
        }
    }

    /// The answer if nobody can answer.
    pub(super) fn cancelled(&self) -> Value {
        match self {
            Self::Permission(_) => permission::cancelled(),
            Self::Values(_) => elicitation::cancelled(),
        }
    }
}
