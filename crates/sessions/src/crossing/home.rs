//! The home's part in a peer's session: whether its agents take an invitation, the copy of the session, and which
//! agents may no longer share the session.
//! Must not know: how events arrive.

use std::collections::BTreeMap;

use plenary_accounts::{KnownAgent, admits_elsewhere, may_contact};
use plenary_engine::{Command, Conditions, Decided, ExecuteError, Point};
use plenary_kernel::{AgentHandle, OwnerName, SessionId, Version, limits::READ_ROWS_MAX};
use plenary_log::{Condition, Fault, Order};

use super::{
    COPIES_PER_PEER_MAX, Consent, ID_AHEAD_MS_MAX,
    copy::{Admission, CopyEvents, CopyFacts, CopyReceipt, CopyRefusal, acts_behind, copy},
};
use crate::{
    Sessions,
    command::PartWithPeer,
    event::{LeftReason, SessionEvent},
    room::{BY_PEER, COPIES, SessionRoom},
    state::{Participant, Phase, SessionState, Standing},
};

/// How far a copy has come.
#[derive(Debug)]
pub enum CopyProgress {
    /// It can be continued.
    Open {
        /// The number of its events.
        version: Version,
        /// The id of the last of them; `None` of the creation.
        last: Option<String>,
    },
    /// It gets no more events.
    Over,
    /// There can be no copy: the id is taken, or the peer has too many.
    Impossible,
}

/// Why events were not added to a copy.
#[derive(Debug)]
pub enum CopyError {
    /// The events are invalid, or the accord no longer holds.
    Refused(CopyRefusal),
    /// The peer stores as much here as it may.
    OverQuota,
    /// A fault; a retry may succeed.
    Fault(Fault),
}

impl From<Fault> for CopyError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Events for a copy, with the data needed to load their facts.
struct CopyContext<'a> {
    sessions: &'a Sessions,
    id: &'a SessionId,
    command: CopyEvents,
}

impl Command<SessionRoom> for CopyContext<'_> {
    const NAME: &'static str = "copy_events";
    type Reply = CopyReceipt;
    type Rejection = CopyRefusal;
    type Facts = CopyFacts;

    async fn facts(&self, _: &SessionState, conditions: &mut Conditions) -> Result<CopyFacts, Fault> {
        let mut value = CopyFacts::default();
        let peer = &self.command.peer;
        let Some(carrier) = self.sessions.0.crossings.carrier() else {
            return Ok(value);
        };
        if let Some(condition) = carrier.accord_condition(peer).await? {
            conditions.push(condition);
            value.has_accord = true;
        }
        for event in &self.command.events {
            for act in acts_behind(event) {
                if self.sessions.was_forwarded(self.id, &act).await? {
                    value.forwarded.insert(act);
                }
            }
            let SessionEvent::AgentInvited(invited) = event else { continue };
            let (invitee, inviter) = (&invited.invitee, &invited.by);
            if invitee.is_elsewhere() || !carrier.takes_part(peer, &invitee.owner_name()).await? {
                continue;
            }
            let agent = self.sessions.accounts().agent(invitee).await?;
            let admits = self.sessions.admits(&agent, inviter, conditions).await?;
            let needs_consent = agent.state.holds_invitations();
            let admission = value.admitting.entry(invitee.clone()).or_insert_with(|| {
                conditions.push(agent.condition());
                Admission { needs_consent, ..Admission::default() }
            });
            if admits {
                admission.from.insert(inviter.clone());
            }
        }
        Ok(value)
    }

    fn decide(&self, state: &SessionState, facts: &CopyFacts, at: &Point) -> Decided<SessionRoom, Self> {
        copy(state, at.version, &self.command, facts, &at.stamp)
    }
}

impl Sessions {
    /// Whether an agent of this network takes an invitation by `inviter` into a session of a peer.
    async fn admits(
        &self,
        invitee: &KnownAgent,
        inviter: &AgentHandle,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        if inviter.is_elsewhere() {
            // A local owner that already has such a name is not an agent of the peer.
            let namesake = self.accounts().owner(&inviter.owner_name()).await?;
            return Ok(!namesake.state.exists() && admits_elsewhere(invitee, inviter));
        }
        let inviter = self.accounts().agent(inviter).await?;
        conditions.push(inviter.condition());
        Ok(may_contact(&inviter, invitee))
    }

    /// The agents of this network that take an invitation into a peer's session, each with its consent. Agents that
    /// decline or do not exist are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn crossing_consents(
        &self,
        peer: &OwnerName,
        id: &SessionId,
        (inviter, invitees): (&AgentHandle, &[AgentHandle]),
    ) -> Result<BTreeMap<AgentHandle, Consent>, Fault> {
        let mut consents = BTreeMap::new();
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let is_copy = state.host() == Some(peer) && !state.closed;
        let is_open = is_copy || state.created.is_none() && self.may_begin(peer, id).await?;
        // An agent of this network may invite only if it is joined here, whatever the peer claims.
        let is_joined = state.participant(inviter).is_some_and(|part| part.standing == Standing::Joined);
        let is_open = is_open && (inviter.is_elsewhere() || is_joined);
        let Some(carrier) = self.0.crossings.carrier().filter(|_| is_open) else { return Ok(consents) };
        for invitee in invitees.iter().filter(|invitee| !invitee.is_elsewhere()) {
            if !carrier.takes_part(peer, &invitee.owner_name()).await? {
                continue;
            }
            // Nor does the peer alone say that it invites.
            if !inviter.is_elsewhere() && !self.has_invited((id, &state), inviter, invitee).await? {
                continue;
            }
            let agent = self.accounts().fresh_agent(invitee).await?;
            if self.admits(&agent, inviter, &mut Vec::new()).await? {
                let is_new = state.participant(invitee).is_none_or(|part| part.since == Version::ZERO);
                let is_held = agent.state.holds_invitations() && is_new && inviter.owner() != invitee.owner();
                consents.insert(invitee.clone(), Consent { held: is_held });
            }
        }
        Ok(consents)
    }

    /// Whether a copy of a session may begin: its id is not too far in the future, where it would sort before all local
    /// sessions, and the peer has fewer copies than the maximum.
    async fn may_begin(&self, peer: &OwnerName, id: &SessionId) -> Result<bool, Fault> {
        let now = self.0.streams.clock().now();
        let is_timely = id.minted_at().is_some_and(|at| at.0 <= now.0.saturating_add(ID_AHEAD_MS_MAX));
        Ok(is_timely && self.is_within(COPIES, peer, id, COPIES_PER_PEER_MAX).await?)
    }

    /// How far the copy of a peer's session has come.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn copy_progress(&self, peer: &OwnerName, id: &SessionId) -> Result<CopyProgress, Fault> {
        let (state, version) = self.0.streams.fresh(id.as_str()).await?;
        Ok(match state.host() {
            Some(host) if host == peer && state.closed => CopyProgress::Over,
            Some(host) if host == peer => {
                CopyProgress::Open { version, last: self.event_id(id, version).await? }
            }
            None if version == Version::ZERO && self.may_begin(peer, id).await? => {
                CopyProgress::Open { version, last: None }
            }
            Some(_) | None => CopyProgress::Impossible,
        })
    }

    /// Whether there is a copy of a peer's session.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_copy(&self, peer: &OwnerName, id: &SessionId) -> Result<bool, Fault> {
        let key = format!("{peer}/{id}");
        let rows = self.log().read_index(COPIES, &key, None, 1, Order::Ascending).await?;
        Ok(rows.first().is_some_and(|row| row.key == key))
    }

    /// Adds events of a peer's session to its copy, each once.
    ///
    /// # Errors
    /// [`CopyError`].
    pub async fn append_to_copy(&self, id: &SessionId, command: CopyEvents) -> Result<Version, CopyError> {
        let context = CopyContext { sessions: self, id, command };
        match self.0.streams.execute(id.as_str(), &context, None).await {
            Ok(execution) => Ok(execution.reply.version),
            Err(ExecuteError::Rejected(refusal)) => Err(CopyError::Refused(refusal)),
            Err(ExecuteError::OverQuota(_)) => Err(CopyError::OverQuota),
            Err(ExecuteError::Fault(fault)) => Err(fault.into()),
            Err(ExecuteError::KeyReused) => Err(Fault::Overloaded.into()),
        }
    }

    /// Asks the host to make agents leave that may no longer share the session: agents that an agent of this network
    /// blocks, and agents of this network that no longer exist. Returns whether it has decided about all of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn settle_copy(&self, id: &SessionId) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        let Some(peer) = state.host() else { return Ok(true) };
        for (agent, blocker) in self.who_has_to_leave(&state).await? {
            if !self.evict_at_host((peer, id), &agent, blocker.as_ref()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether somebody in the copy of a peer's session may no longer share it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn has_to_settle(&self, id: &SessionId) -> Result<bool, Fault> {
        let (state, _) = self.0.streams.fresh(id.as_str()).await?;
        Ok(state.host().is_some() && !self.who_has_to_leave(&state).await?.is_empty())
    }

    /// The agents that may no longer share a session, each with the agent of this network that blocks it.
    async fn who_has_to_leave(
        &self,
        state: &SessionState,
    ) -> Result<Vec<(AgentHandle, Option<AgentHandle>)>, Fault> {
        let mut leaving = Vec::new();
        // From an ended session nobody leaves.
        if state.phase == Phase::Ended || state.closed {
            return Ok(leaving);
        }
        let is_present = |part: &Participant| part.is_present();
        let local_participants =
            state.participants.iter().filter(|(_, part)| is_present(part) && !part.elsewhere);
        for (handle, _) in local_participants {
            let agent = self.accounts().agent(handle).await?;
            if !agent.state.is_live() {
                leaving.push((handle.clone(), None));
            }
            let blocked = agent.state.blocked();
            let blocked = blocked.keys().filter(|other| state.participant(other).is_some_and(is_present));
            leaving.extend(blocked.map(|other| (other.clone(), Some(handle.clone()))));
        }
        Ok(leaving)
    }

    /// A page of the copies of a peer's sessions.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn copies_of(&self, peer: &OwnerName, after: Option<&str>) -> Result<Vec<SessionId>, Fault> {
        self.sessions_of_peer(COPIES, peer, after).await
    }

    async fn sessions_of_peer(
        &self,
        index: &str,
        peer: &OwnerName,
        after: Option<&str>,
    ) -> Result<Vec<SessionId>, Fault> {
        let prefix = format!("{peer}/");
        let after = after.map(|id| format!("{prefix}{id}"));
        let rows =
            self.log().read_index(index, &prefix, after.as_deref(), READ_ROWS_MAX, Order::Ascending).await?;
        Ok(rows.iter().filter_map(|row| row.key[prefix.len()..].parse().ok()).collect())
    }

    /// Ends everything that the accord with a peer allowed. Can be repeated after a fault.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn part_with(&self, peer: &OwnerName) -> Result<(), Fault> {
        let command = PartWithPeer { peer: peer.clone(), reason: LeftReason::AccordRevoked };
        let prefix = format!("{peer}/");
        for index in [BY_PEER, COPIES] {
            let mut rows = self.log().index_rows(index, &prefix, Order::Ascending);
            while let Some(row) = rows.next().await? {
                self.note(&row.key[prefix.len()..], &command).await?;
            }
        }
        Ok(())
    }
}
