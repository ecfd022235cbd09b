//! The commands on a contact request's stream. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::{AgentHandle, ContactId};

use super::state::Answer;
use crate::{Authority, KnownAgent};

/// Asks another agent for contact, or asks again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContact {
    /// The authority.
    pub authority: Authority,
    /// The request: a new one, or the unanswered one of the same two agents.
    pub id: ContactId,
    /// The requesting agent.
    pub from: AgentHandle,
    /// The requested agent; it may not exist.
    pub to: AgentHandle,
    /// What it says with it.
    pub message: Option<String>,
}

/// Answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerContact {
    /// The authority.
    pub authority: Authority,
    /// The request.
    pub id: ContactId,
    /// What is said.
    pub answer: Answer,
}

/// What both must know of the two agents.
#[derive(Debug, Clone)]
pub struct ContactFacts {
    /// Whether the authority's token is still valid.
    pub is_authorized: bool,
    /// Whether the requesting agent has the maximum number of unanswered requests.
    pub is_full: bool,
    /// The requesting and the requested agent; `None` if there is no such request.
    pub pair: Option<(KnownAgent, KnownAgent)>,
}
