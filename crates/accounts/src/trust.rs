//! The trust decision: can two agents communicate (ASP-6 to ASP-13)? Pure.
//! Must not know: the source of the two states, or the operation.

use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentState, KnownAgent};

/// An agent's contact policy (ASP-6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Only agents on the agent's allowlist, in both directions (ASP-8).
    #[default]
    Allowlist,
    /// No restriction by this agent (ASP-11).
    Open,
}

/// Whether two agents may communicate, in either direction: both are live, neither blocks the other (ASP-13), and each one's
/// policy admits the other (ASP-8 to ASP-10). An agent may always contact itself.
pub fn may_contact(a: &KnownAgent, b: &KnownAgent) -> bool {
    a.handle == b.handle
        || (a.state.is_live()
            && b.state.is_live()
            && !blocked_between(a, b)
            && admits(&a.state, &b.handle)
            && admits(&b.state, &a.handle))
}

/// Whether one of the two blocks the other (ASP-12).
pub fn blocked_between(a: &KnownAgent, b: &KnownAgent) -> bool {
    a.state.blocks(&b.handle) || b.state.blocks(&a.handle)
}

/// Whether an agent admits an agent of another network, whose state is unknown here: the allowlist names it,
/// and it is not blocked.
pub(crate) fn lists_stranger(state: &AgentState, other: &AgentHandle) -> bool {
    state.is_live() && !state.blocks(other) && lists(state, other)
}

/// Whether an agent admits one of another network: its allowlist names it, and it is not blocked.
pub fn admits_elsewhere(agent: &KnownAgent, other: &AgentHandle) -> bool {
    lists_stranger(&agent.state, other)
}

/// Whether an agent may contact one of another network: its own policy admits that one, and it does not block it.
pub fn may_contact_elsewhere(agent: &KnownAgent, other: &AgentHandle) -> bool {
    agent.state.is_live() && !agent.state.blocks(other) && admits(&agent.state, other)
}

/// Whether an agent admits agents of an owner: its own ones, or as its policy and its allowlist say.
pub fn admits_owner(agent: &KnownAgent, owner: &OwnerName) -> bool {
    if agent.handle.owner() == owner.as_str() || agent.state.policy() == Policy::Open {
        return true;
    }
    // The glob sorts before all handles of its owner.
    let glob = format!("@{owner}.*").parse::<AllowEntry>();
    let first = glob.ok().and_then(|glob| agent.state.allowlist().range(glob..).next());
    first.is_some_and(|entry| entry.owner() == owner.as_str())
}

/// Whether an agent's allowlist names an agent of another network.
pub(crate) fn lists_anybody_elsewhere(state: &AgentState) -> bool {
    state.is_live() && state.allowlist().iter().any(AllowEntry::is_elsewhere)
}

/// The trust relation of an agent to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustTier {
    /// It is the agent itself.
    #[serde(rename = "self")]
    Own,
    /// Both belong to one owner.
    SameOwner,
    /// The agent's allowlist names it.
    Allowlisted,
    /// Only the open policy admits it.
    Open,
}

/// The trust relation of `reader` to another agent.
pub fn trust_tier(reader: &KnownAgent, from: &AgentHandle) -> TrustTier {
    if reader.handle == *from {
        TrustTier::Own
    } else if reader.handle.owner() == from.owner() {
        TrustTier::SameOwner
    } else if lists(&reader.state, from) {
        TrustTier::Allowlisted
    } else {
        TrustTier::Open
    }
}

/// Whether an agent's own policy admits the other one, regardless of blocks.
fn admits(state: &AgentState, other: &AgentHandle) -> bool {
    match state.policy() {
        Policy::Open => true,
        Policy::Allowlist => lists(state, other),
    }
}

/// Whether the allowlist names the other agent, by handle or by owner glob (ASP-7). It takes two look-ups, whatever the length
/// of the list.
fn lists(state: &AgentState, other: &AgentHandle) -> bool {
    let list = state.allowlist();
    if list.is_empty() {
        return false;
    }
    let glob = format!("@{}.*", other.owner()).parse::<AllowEntry>();
    list.contains(&AllowEntry::from(other)) || glob.is_ok_and(|glob| list.contains(&glob))
}
