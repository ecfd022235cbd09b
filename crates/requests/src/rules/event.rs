//! The events of the stream of an owner's rules, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use plenary_kernel::{AgentHandle, AskId, RuleId, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::wire::AnswerType;

/// An event of an owner's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEvent {
    /// A rule was created.
    RuleMade(RuleMade),
    /// A rule was removed.
    RuleRemoved(RuleRemoved),
}

/// See [`RuleEvent::RuleMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleMade {
    /// Its id.
    pub rule: RuleId,
    /// The agent.
    pub agent: AgentHandle,
    /// The tool.
    pub tool: String,
    /// Only this directory and below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The answer that it gives.
    pub answer: AnswerType,
    /// The actor who made it.
    pub by: Actor,
    /// The request in whose answer it was made.
    pub request: AskId,
    /// When it expires.
    pub until: TimestampMs,
}

/// See [`RuleEvent::RuleRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRemoved {
    /// The rule.
    pub rule: RuleId,
    /// The actor.
    pub by: Actor,
}

plenary_engine::stored_forms!(RuleEvent: RuleMade, RuleRemoved);
