//! The commands on a contact request's stream. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::{AgentHandle, ContactId};
use serde::{Deserialize, Serialize};

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

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedContact {
    /// The request: that of the command, or the unanswered one that a parallel command made.
    pub id: ContactId,
    /// The revision of the owner's row on which the decision is based.
    pub revision: u64,
}

/// What both must know of the two agents.
#[derive(Debug, Clone)]
pub struct ContactFacts {
    /// Whether the authority's token is still valid.
    pub is_authorized: bool,
    /// Whether the requesting agent, or the agents of its owner to the requested one, have the maximum number of
    /// unanswered requests.
    pub is_full: bool,
    /// The unanswered request of the same two agents.
    pub unanswered: Option<ContactId>,
    /// The revision of the row that every new request of the owner's agents replaces; 0 if there is none.
    pub revision: u64,
    /// The requesting and the requested agent; `None` if there is no such request.
    pub pair: Option<(KnownAgent, KnownAgent)>,
}
