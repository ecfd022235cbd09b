//! The rules for senders and recipients of frames: plain functions of known values (sections 6, 7.1 and 13 of the
//! memo, wire.md D.5). Pure.
//! Must not know: the source of the values, or the connected sessions.

use std::{sync::Arc, time::Duration};

use plenary_accounts::{
    TokenOwner,
    org::state::{OrgState, Role},
};
use plenary_kernel::{AgentHandle, OwnerName, SovereignHandle, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{
    frame::Frame,
    malformed::{Code, FrameFault},
    rejection::Rejection,
    scope::{Scope, Sessions},
    session::Session,
};

/// The agents of a principal that a frame may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agents {
    /// Every one: sender and recipient have the same owner.
    #[serde(rename = "every")]
    Every,
    /// Those whose trust and the sender's admit each other, in order.
    #[serde(rename = "only")]
    Only(Arc<[AgentHandle]>),
}

/// The audience of a frame on one principal's stream. It travels with the frame, so it also holds on resumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// The sessions.
    pub sessions: Sessions,
    /// Their agents.
    pub agents: Agents,
}

impl Audience {
    /// Whether a session is in the audience.
    pub fn admits(&self, session: &Session) -> bool {
        let agent = match &self.agents {
            Agents::Every => true,
            Agents::Only(agents) => agents.binary_search(&session.agent).is_ok(),
        };
        agent && self.sessions.contain(session)
    }
}

/// The facts that are needed to judge a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The sender's own principal: none.
    Own(Sessions),
    /// Another principal: the agents there that the sender may contact.
    Other(OwnerName, Sessions),
    /// An organisation: its members, and the agents of them that the sender may contact.
    Members(OwnerName, Option<Role>),
    /// A peer, under a grant: whether the accord exists.
    Peer(OwnerName, Arc<str>),
}

/// The submitting agent, if the frame is from its own principal.
///
/// # Errors
/// `SenderIdentityMismatch`, also for a token that does not belong to an agent.
pub fn identity(frame: &Frame, caller: &TokenOwner) -> Result<AgentHandle, Rejection> {
    let mismatch = |field: &str| Rejection::SenderIdentityMismatch { field: field.to_owned() };
    let TokenOwner::Agent(agent) = caller else { return Err(mismatch("sender_handle")) };
    if frame.sender.owner() != agent.owner() {
        return Err(mismatch("sender_handle"));
    }
    match frame.principals.iter().find(|(_, principal)| *principal != frame.sender) {
        Some((field, _)) => Err(mismatch(field)),
        None => Ok(agent.clone()),
    }
}

/// Checks that a frame's time is close enough to ours.
///
/// # Errors
/// `field-invalid` with the field `created_at`.
pub fn check_created_at(
    frame: &Frame,
    now: TimestampMs,
    skew_max: Option<Duration>,
) -> Result<(), FrameFault> {
    let Some(skew_max) = skew_max else { return Ok(()) };
    let now_ms = i64::try_from(now.0).unwrap_or(i64::MAX);
    if u128::from(frame.created_at_ms.abs_diff(now_ms)) <= skew_max.as_millis() {
        return Ok(());
    }
    let message = format!("`created_at` is more than {} ms from the server's time.", skew_max.as_millis());
    Err(FrameFault::of(Code::FieldInvalid, "created_at", message))
}

/// The target of a scope, if it fits the recipient.
///
/// # Errors
/// `ScopeUnauthorised` if the scope names another principal than the recipient (FO-48).
pub fn target(frame: &Frame, scope: &Scope) -> Result<Target, Rejection> {
    let (named, target) = match scope {
        Scope::Accord(peer, grant) => (peer.as_str(), Target::Peer(peer.clone(), grant.clone())),
        Scope::Org(org, role) => (org.as_str(), Target::Members(org.clone(), role.clone())),
        Scope::Handle(handle, sessions) if *handle == frame.sender => {
            (handle.owner(), Target::Own(sessions.clone()))
        }
        Scope::Handle(handle, sessions) => {
            (handle.owner(), Target::Other(owner_of(handle), sessions.clone()))
        }
    };
    if frame.recipient.owner() == named { Ok(target) } else { Err(Rejection::ScopeUnauthorised) }
}

/// The audience at another principal. If the sender may contact no agent there, the result is the same
/// as without sessions.
///
/// # Errors
/// `ScopeUnauthorised`.
pub fn reached(sessions: Sessions, reachable: Arc<[AgentHandle]>) -> Result<Audience, Rejection> {
    if reachable.is_empty() {
        return Err(Rejection::ScopeUnauthorised);
    }
    Ok(Audience { sessions, agents: Agents::Only(reachable) })
}

/// The members of an organisation that receive a frame of one of them.
///
/// # Errors
/// `ScopeUnauthorised` if the sender is not a member, or the organisation does not exist (FO-49).
pub fn members(
    org: &OrgState,
    sender: &SovereignHandle,
    role: Option<&Role>,
) -> Result<Vec<SovereignHandle>, Rejection> {
    if !org.members().contains_key(sender) {
        return Err(Rejection::ScopeUnauthorised);
    }
    let has_role = |roles: &std::collections::BTreeSet<Role>| role.is_none_or(|role| roles.contains(role));
    let members = org.members().iter().filter(|(_, roles)| has_role(roles));
    Ok(members.map(|(member, _)| member.clone()).collect())
}

/// A rounded count, which hides the exact number: 0, 1, 10, 100 … (FO-85).
pub fn coarse(count: u64) -> u64 {
    count.checked_ilog10().map_or(0, |digits| 10_u64.pow(digits))
}

/// The owner of a handle.
pub fn owner_of(handle: &SovereignHandle) -> OwnerName {
    handle.owner().parse().expect("a handle is `~` and an owner")
}
