//! Sessions with agents of other networks. The network in which a session began, its host, decides about it. The
//! network of another participant, its home, keeps a copy under the same id and numbers, and forwards the commands of
//! its agents.
//! Must not know: how networks are linked, or what was granted.

mod commands;
pub mod copy;
mod divergence;
mod forwarded;
mod home;
mod host;
mod incoming_files;
pub mod names;
pub mod wire;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::response::Response;
use http::request::Parts;
use plenary_kernel::{AgentHandle, FileId, OwnerName, Refusal, SessionId};
use plenary_log::{Condition, Fault};
use plenary_room::async_trait;
use tokio::sync::watch;

use crate::{Sessions, refusals::SessionRefusal};
use wire::{CrossingCommand, CrossingOutcome};

pub(crate) use commands::ForwardedCommand;
pub use divergence::DIVERGED;
pub use home::{CopyError, CopyProgress};
pub use host::CrossingNews;
pub use incoming_files::CrossingContent;

/// Most copies of one peer's sessions; beyond it no agent here takes another invitation of that peer.
pub const COPIES_PER_PEER_MAX: usize = 10_000;
/// Most sessions of this network with agents of one peer; beyond it none of them takes an invitation.
pub const SESSIONS_PER_PEER_MAX: usize = 10_000;
/// Most events of one answer to a peer; the peer asks again for the rest.
pub const CROSSING_EVENTS_MAX: usize = 256;
/// Bytes of events of one answer to a peer; beyond it the answer ends. A larger event is sent alone.
pub const CROSSING_BYTES_MAX: usize = 512 << 10;
/// Largest message that is forwarded to a peer, in bytes; beyond it 413 `body_too_large`.
pub const FORWARDED_BYTES_MAX: usize = 192 << 10;
/// How long a host takes to get the files of a message from the network of its sender; beyond it 503 `peer_unreachable`.
pub const FILES_BROUGHT_WITHIN: Duration = Duration::from_mins(5);
/// How far ahead of this network's clock the id of a peer's session may be, in milliseconds; beyond it there is no
/// copy.
pub const ID_AHEAD_MS_MAX: u64 = 10 * 60 * 1_000;

/// An invitee's network takes the invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    /// Whether a person of the invitee's owner has to accept it first.
    pub held: bool,
}

/// The data about agents of other networks that a command touches.
#[derive(Debug, Clone, Default)]
pub struct Crossing {
    /// Whether the accord holds, for a caller of a peer.
    pub caller: Option<bool>,
    /// The named agents of peers whose accord holds.
    pub peer_agents: BTreeSet<AgentHandle>,
    /// The named agents of this network whose owners take no part in the accord with the caller's network.
    pub nonparticipants: BTreeSet<AgentHandle>,
    /// The answers of their networks, as far as they were asked.
    pub consents: BTreeMap<AgentHandle, Option<Consent>>,
}

impl Crossing {
    /// Whether an agent belongs to a peer.
    pub fn is_elsewhere(&self, handle: &AgentHandle) -> bool {
        self.peer_agents.contains(handle)
    }

    /// Whether the agent belongs to a peer that was not asked yet.
    pub fn is_unasked(&self, handle: &AgentHandle) -> bool {
        self.is_elsewhere(handle) && !self.consents.contains_key(handle)
    }

    /// The consent of the agent's network to the invitation; `None` if it declined.
    pub fn consent_of(&self, handle: &AgentHandle) -> Option<Consent> {
        self.consents.get(handle).copied().flatten()
    }
}

/// Invitations of one agent into one session, for agents of one peer. All names are those of this network.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The inviter.
    pub inviter: &'a AgentHandle,
    /// The invitees.
    pub invitees: &'a [AgentHandle],
}

/// A message of a session. The number alone may be that of another message at the other network.
#[derive(Debug, Clone, Copy)]
pub struct CrossingMessage<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Its number.
    pub sequence: u64,
    /// Its id, without its prefix, if it is known.
    pub id: Option<&'a str>,
}

/// Connects sessions to peers.
#[async_trait]
pub trait SessionCarrier: Send + Sync {
    /// A condition that holds as long as the accord with a peer holds; `None` without an accord.
    async fn accord_condition(&self, peer: &OwnerName) -> Result<Option<Condition>, Fault>;
    /// Whether an owner of this network takes part in the accord with a peer.
    async fn takes_part(&self, peer: &OwnerName, owner: &OwnerName) -> Result<bool, Fault>;
    /// Asks a peer which of its agents take an invitation; returns those that do, each with its consent. `None` if the peer
    /// did not answer.
    async fn offer(
        &self,
        peer: &OwnerName,
        offer: Offer<'_>,
    ) -> Result<Option<BTreeMap<AgentHandle, Consent>>, Fault>;
    /// Forwards a command to the host and adds the resulting events to the copy; `None` if the peer did not answer.
    async fn forward(
        &self,
        peer: &OwnerName,
        session: &SessionId,
        command: CrossingCommand,
    ) -> Result<Option<CrossingOutcome>, Fault>;
    /// Soon brings the copy of a peer's session up to date, and makes agents leave that may no longer share it, however
    /// often the peer must be asked.
    fn copy_due(&self, peer: &OwnerName, session: &SessionId);
    /// The states of a message for a peer's agents, as far as they are known.
    async fn states(
        &self,
        peer: &OwnerName,
        message: CrossingMessage<'_>,
        agents: &[AgentHandle],
    ) -> Result<BTreeMap<AgentHandle, PeerState>, Fault>;
    /// The peer's response to an agent's request for a file; `parts` are those of the agent's request.
    async fn file(&self, agent: &AgentHandle, file: (&OwnerName, &FileId), parts: &Parts) -> Response;
    /// A ticket with which a peer gets a file of this network, as the agent that sends it may read it; `None` without an
    /// accord.
    async fn ticket(
        &self,
        peer: &OwnerName,
        agent: &AgentHandle,
        file: &FileId,
    ) -> Result<Option<String>, Fault>;
    /// The content of a peer's file, for a ticket of the peer; `None` if the peer does not give it.
    async fn content(&self, peer: &OwnerName, ticket: &str) -> Result<Option<CrossingContent>, Fault>;
}

/// The state of a message for an agent of another network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerState {
    /// As its network reports it.
    Reported(String),
    /// Its network does not have the message: this network stores as much there as it may.
    Full,
    /// Its network does not answer, or is no longer linked.
    Silent,
}

/// Knows the states of messages for agents of this network.
#[async_trait]
pub trait MessageStates: Send + Sync {
    /// The state of a message for an agent that may read it, as the wire says it.
    async fn state_of(
        &self,
        agent: &AgentHandle,
        session: &SessionId,
        sequence: u64,
    ) -> Result<Option<String>, Fault>;
}

/// The data of the room about other networks.
pub(crate) struct Crossings {
    carrier: OnceLock<Arc<dyn SessionCarrier>>,
    states: OnceLock<Arc<dyn MessageStates>>,
    /// Notified when a session with agents of other networks has grown.
    growth: watch::Sender<()>,
}

impl Default for Crossings {
    fn default() -> Self {
        Self { carrier: OnceLock::new(), states: OnceLock::new(), growth: watch::Sender::new(()) }
    }
}

impl Crossings {
    pub(crate) fn carrier(&self) -> Option<&Arc<dyn SessionCarrier>> {
        self.carrier.get()
    }

    /// Notifies the carrier that a session with agents of other networks has grown.
    pub(crate) fn notify_growth(&self) {
        self.growth.send_replace(());
    }
}

impl Sessions {
    /// Sets the carrier. The first call counts; without a carrier there are no other networks.
    pub fn set_carrier(&self, carrier: Arc<dyn SessionCarrier>) {
        let _first = self.0.crossings.carrier.set(carrier);
    }

    /// Sets the source of message states. The first call counts.
    pub fn set_states(&self, states: Arc<dyn MessageStates>) {
        let _first = self.0.crossings.states.set(states);
    }

    /// The response to an agent's request for a file of a peer.
    pub(crate) async fn peer_file(
        &self,
        agent: &AgentHandle,
        file: (&OwnerName, &FileId),
        parts: &Parts,
    ) -> Result<Response, SessionRefusal> {
        match self.0.crossings.carrier() {
            Some(carrier) => Ok(carrier.file(agent, file, parts).await),
            None => Err(SessionRefusal::new(Refusal::not_found())),
        }
    }

    /// The states of a message for agents of other networks, as far as they are known.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn peer_states(
        &self,
        message: (&SessionId, u64),
        agents: &[AgentHandle],
    ) -> Result<BTreeMap<AgentHandle, PeerState>, Fault> {
        let mut by_peer = BTreeMap::<OwnerName, Vec<AgentHandle>>::new();
        for agent in agents {
            if let Some((_, peer)) = agent.of_peer() {
                by_peer.entry(peer).or_default().push(agent.clone());
            }
        }
        let mut state_by_agent = BTreeMap::new();
        let Some(carrier) = self.0.crossings.carrier().filter(|_| !by_peer.is_empty()) else {
            return Ok(state_by_agent);
        };
        let (session, sequence) = message;
        let id = self.event_id(session, crate::event::version(sequence)).await?;
        let message = CrossingMessage { session, sequence, id: id.as_deref() };
        for (peer, agents) in &by_peer {
            state_by_agent.extend(carrier.states(peer, message, agents).await?);
        }
        Ok(state_by_agent)
    }

    /// The states of a message for agents of this network, for a peer that has the message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn states_for(
        &self,
        peer: &OwnerName,
        message: CrossingMessage<'_>,
        agents: &[AgentHandle],
    ) -> Result<Vec<(AgentHandle, String)>, Fault> {
        let (id, number) = (message.session, message.sequence);
        let mut agent_states = Vec::new();
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let has_message = match state.host() {
            Some(host) => host == peer && !state.closed,
            None => {
                host::horizon(&state, peer, head).is_some_and(|until| crate::event::version(number) <= until)
            }
        };
        // The peer may have another message under this number: then this network says nothing about it.
        let is_same = match message.id.filter(|_| has_message) {
            Some(event) => self.event_id(id, crate::event::version(number)).await?.as_deref() == Some(event),
            None => true,
        };
        let Some(states) = self.0.crossings.states.get().filter(|_| has_message && is_same) else {
            return Ok(agent_states);
        };
        let agents: BTreeSet<_> = agents.iter().collect();
        let is_local = |agent: &AgentHandle| state.participant(agent).is_some_and(|part| !part.elsewhere);
        for agent in agents.into_iter().filter(|agent| is_local(agent)) {
            if let Some(message_state) = states.state_of(agent, id, number).await? {
                agent_states.push((agent.clone(), message_state));
            }
        }
        Ok(agent_states)
    }

    /// Changes whenever a session with agents of other networks has grown.
    pub fn crossing_growth(&self) -> watch::Receiver<()> {
        self.0.crossings.growth.subscribe()
    }
}
