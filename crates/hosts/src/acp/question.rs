//! The pending questions of the agent, in order: the caller gets one after the other.
//! Must not know: the form of a question.

use plenary_runs::Event;
use serde_json::{Map, Value};

use super::{
    elicitation::{self, Elicitation},
    permission::{self, Permission},
    tools::Tools,
};

/// A question, with the id of its request.
#[derive(Debug, PartialEq)]
pub(super) struct Question {
    pub(super) id: Value,
    pub(super) question: AgentQuestion,
}

/// The kinds of questions.
#[derive(Debug, PartialEq)]
pub(super) enum AgentQuestion {
    Permission(Permission),
    Values(Elicitation),
}

impl AgentQuestion {
    /// Parses a request of the agent; `None` for a method that this client does not offer. `tools` are the active tool
    /// calls.
    pub(super) fn read(method: &str, params: &Value, tools: &Tools) -> Option<Result<Self, String>> {
        match method {
            "session/request_permission" => {
                let known = tools.subject(&params["toolCall"]);
                Some(Permission::new(params, known).map(Self::Permission))
            }
            "elicitation/create" => Some(Elicitation::new(params).map(Self::Values)),
            _ => None,
        }
    }

    /// The question to the caller.
    pub(super) fn event(&self) -> Event {
        match self {
            Self::Permission(permission) => permission.event(),
            Self::Values(elicitation) => elicitation.event(),
        }
    }

    /// The response to the agent for the caller's answer; `None` if the answer does not match.
    pub(super) fn outcome(&self, answer: &Map<String, Value>) -> Option<Value> {
        match self {
            Self::Permission(permission) => permission.outcome(answer),
            Self::Values(elicitation) => elicitation.outcome(answer),
        }
    }

    /// The response if nobody can answer.
    pub(super) fn cancelled(&self) -> Value {
        match self {
            Self::Permission(_) => permission::cancelled(),
            Self::Values(_) => elicitation::cancelled(),
        }
    }
}
