//! The trust data of a command: who the touched agents are, and whether they may contact each other. Pure.
//! Must not know: the order of checks, or where the data comes from.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::{
    KnownAgent, TrustTier, admits_elsewhere, may_contact, may_contact_elsewhere, trust_tier,
};
use plenary_kernel::{AgentHandle, FileId, Version};

use super::{Ids, Rejection};
use crate::{
    OFFER_EVENTS_MAX,
    command::Caller,
    crossing::Crossing,
    event::{AgentInvited, Pending, SessionEvent},
    state::{Participant, SessionState},
};

/// The trust data of the agents that a command touches.
#[derive(Debug, Clone)]
pub struct People {
    /// The caller.
    pub caller: KnownAgent,
    /// Every agent named and every agent present, except the caller.
    pub others: BTreeMap<AgentHandle, KnownAgent>,
    /// The agents among them that can take no more invitations of the caller's owner until they have answered some.
    pub crowded_agents: BTreeSet<AgentHandle>,
    /// The files that the message names and the caller may read.
    pub files: BTreeMap<FileId, FileNaming>,
    /// Whether a person has accepted or declined the caller's held invitation to a session that has ended; absent until a
    /// person has decided.
    pub consent: Option<bool>,
    /// Data about agents of other networks.
    pub crossing: Crossing,
}

/// The state of a file that a message names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileNaming {
    /// An earlier message of the session names it already.
    NamedBefore,
    /// No earlier message of the session names it.
    First {
        /// The uploader and the removal time; absent if a message of another session names the file.
        pending: Option<Pending>,
        /// The number of sessions with messages that name it.
        sessions: u32,
    },
}

/// Whether `from` may contact `to` only because the policy of `to` is open.
pub(crate) fn are_strangers(from: &KnownAgent, to: &KnownAgent) -> bool {
    trust_tier(to, &from.handle) == TrustTier::Open
}

impl People {
    pub(super) fn check_caller(&self, caller: &Caller) -> Result<(), Rejection> {
        let is_valid = match self.crossing.caller {
            Some(has_accord) => has_accord,
            None => self.caller.state.is_live() && self.caller.state.accepts_token(&caller.token),
        };
        if is_valid { Ok(()) } else { Err(Rejection::Unauthenticated) }
    }

    /// The event of an invitation by the caller. An invitation by a stranger to an agent that never took part is an
    /// offer; an invitation by an agent that the invitee knows settles an earlier offer.
    pub(super) fn invitation(
        &self,
        ids: &mut Ids<'_>,
        state: &SessionState,
        invitee: &AgentHandle,
        inline: bool,
    ) -> SessionEvent {
        let is_elsewhere = self.crossing.is_elsewhere(invitee);
        let is_stranger = |known| !is_elsewhere && are_strangers(&self.caller, known);
        let is_from_stranger = self.others.get(invitee).is_some_and(is_stranger);
        let part = state.participant(invitee);
        let earlier_owner = part.and_then(|part| part.offered_by.clone());
        let is_open = part.is_none() || earlier_owner.is_some();
        let settles = earlier_owner.filter(|owner| !is_from_stranger || owner != self.caller.handle.owner());
        SessionEvent::AgentInvited(AgentInvited {
            id: ids.next(),
            invitee: invitee.clone(),
            by: self.caller.handle.clone(),
            inline,
            offered: is_from_stranger && is_open,
            held: self.is_held(part, invitee),
            settles,
            denied: false,
            elsewhere: is_elsewhere,
        })
    }

    /// Whether a person of the invitee's owner decides first. An agent that was let in once may return without a
    /// decision.
    fn is_held(&self, part: Option<&Participant>, invitee: &AgentHandle) -> bool {
        let holds_invitations = match self.crossing.consent_of(invitee) {
            Some(consent) => consent.held,
            None => self.others.get(invitee).is_some_and(|agent| agent.state.holds_invitations()),
        };
        let is_new = part.is_none_or(|part| part.since == Version::ZERO);
        holds_invitations && is_new && invitee.owner() != self.caller.handle.owner()
    }

    /// Whether the invitation would be one offer too many. Invitees that take or took part were counted before; one that
    /// has answered no offer is not invited in one session again and again.
    pub(super) fn is_crowded(&self, state: &SessionState, invitee: &AgentHandle) -> bool {
        match state.participant(invitee) {
            None => self.crowded_agents.contains(invitee),
            Some(part) => {
                let is_repeated = part.offered_by.as_deref() == Some(self.caller.handle.owner());
                is_repeated && part.glimpses.len() >= OFFER_EVENTS_MAX
            }
        }
    }

    /// Whether a named agent counts as company of the other invitees: an agent that the caller cannot invite anyway has no
    /// more effect than one that does not exist.
    pub(super) fn is_company(&self, named: &AgentHandle) -> bool {
        self.others.get(named).is_some_and(|agent| self.may_invite(agent))
    }

    /// Whether the caller may contact `invitee`, and no agent of `company` blocks it or is blocked by it
    /// (ASP-6 to ASP-13, wire.md D.9).
    pub(super) fn reaches<'a>(
        &self,
        invitee: &AgentHandle,
        mut company: impl Iterator<Item = &'a AgentHandle>,
    ) -> bool {
        let Some(agent) = self.others.get(invitee) else { return false };
        self.may_invite(agent)
            && company.all(|other| {
                other == invitee
                    || self.others.get(other).is_none_or(|other| {
                        !other.state.blocks(invitee) && !agent.state.blocks(&other.handle)
                    })
            })
    }

    /// Whether the caller may contact an agent. Between networks, each side checks the lists of its own agents.
    fn may_invite(&self, agent: &KnownAgent) -> bool {
        if self.crossing.is_elsewhere(&agent.handle) {
            return self.may_contact_peer(&agent.handle) && self.crossing.consent_of(&agent.handle).is_some();
        }
        match self.crossing.caller {
            None => may_contact(&self.caller, agent),
            Some(_) => {
                !self.crossing.nonparticipants.contains(&agent.handle)
                    && admits_elsewhere(agent, &self.caller.handle)
            }
        }
    }

    /// Whether the caller's network lets it contact an agent of another network. A network speaks for its own agents
    /// only, never for agents of a third network.
    fn may_contact_peer(&self, handle: &AgentHandle) -> bool {
        let peer = |handle: &AgentHandle| handle.of_peer().map(|(_, peer)| peer);
        match self.crossing.caller {
            None => may_contact_elsewhere(&self.caller, handle),
            Some(_) => peer(handle) == peer(&self.caller.handle),
        }
    }

    /// Rejects with `AskElsewhere` if the networks of some invitees have not been asked yet.
    pub(super) fn check_peers_asked<'a>(
        &self,
        invitees: impl Iterator<Item = &'a AgentHandle>,
    ) -> Result<(), Rejection> {
        if self.crossing.peer_agents.is_empty() {
            return Ok(());
        }
        let is_due =
            |invitee: &&AgentHandle| self.crossing.is_unasked(invitee) && self.may_contact_peer(invitee);
        let unasked: Vec<_> = invitees.filter(is_due).cloned().collect();
        if unasked.is_empty() { Ok(()) } else { Err(Rejection::AskElsewhere(unasked)) }
    }
}
