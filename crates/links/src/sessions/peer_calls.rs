//! The requests of this network to peers about sessions: offers to their agents, commands of its own agents, and delivery
//! states.
//! Must not know: the rules of a session.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{Method, StatusCode, request::Parts};
use plenary_accounts::PeerStandings;
use plenary_kernel::{AgentHandle, FileId, OwnerName, SessionId};
use plenary_log::{Condition, Fault};
use plenary_room::async_trait;
use plenary_sessions::{
    crossing::{
        Consent, CrossingContent, CrossingMessage, DIVERGED, FILES_BROUGHT_WITHIN, Offer, PeerState,
        SessionCarrier,
        names::Naming,
        wire::{
            CrossingCommand, CrossingConsents, CrossingFileAsk, CrossingOffer, CrossingOutcome,
            CrossingState, CrossingStates, CrossingStatesAsk,
        },
    },
    event::version,
    files::file_not_sent,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, timeout};

use super::{LinkedPeer, tickets::Ticket};
use crate::{
    Links,
    guests::ending,
    limits::{ANSWER_BYTES_MAX, ANSWER_WITHIN, STATES_ASKED_MAX},
    peer_calls::{ACCORDS_PATH, AnswerLimits, CallFailure},
    wire::LinkOutcome,
};

impl Links {
    /// Sends a request to a peer, and gives up when the accord ends.
    pub(super) async fn ask_linked<T: DeserializeOwned>(
        &self,
        linked: &LinkedPeer,
        operation: &str,
        body: &(impl Serialize + Sync),
        limits: AnswerLimits,
    ) -> Result<T, CallFailure> {
        let changes = self.0.changed.subscribe();
        let path = format!("{ACCORDS_PATH}/{}/{operation}", linked.accord);
        tokio::select! {
            answer = self.call_within(&linked.network, (Method::POST, &path), Some(body), limits) => answer,
            () = self.accord_end(changes, &linked.accord) => Err(CallFailure::Unreachable("the accord ended".into())),
        }
    }

    /// The content of a peer's file, which ends with the accord.
    async fn content_of(&self, linked: LinkedPeer, ticket: &str) -> Result<CrossingContent, CallFailure> {
        let changes = self.0.changed.subscribe();
        let path = format!("{ACCORDS_PATH}/{}/files", linked.accord);
        let ask = CrossingFileAsk { ticket: ticket.to_owned() };
        let ask = serde_json::to_vec(&ask).expect("a text can be written");
        let request = self.signed_request(&linked.network, (&Method::POST, &path), ask.into()).await?;
        let answer = timeout(ANSWER_WITHIN, self.send(&linked.network, request)).await;
        let answer = answer.map_err(|_| CallFailure::Unreachable("it did not answer in time".into()))??;
        if answer.status() != StatusCode::OK {
            return Err(CallFailure::Refused(answer.status(), None));
        }
        let links = self.clone();
        let end = async move { links.accord_end(changes, &linked.accord).await };
        let body = ending(http_body_util::BodyExt::into_data_stream(answer.into_body()), end, ());
        Ok(body.into_data_stream().map_err(|_| file_not_sent()).boxed())
    }

    /// Waits until the copy has an event that the peer wrote, at most for a short time; then the copy catches up later.
    async fn await_copy(&self, linked: &LinkedPeer, session: &SessionId, sequence: u64) {
        let awaited = version(sequence);
        let pull = self.pull(linked, session, Some(awaited));
        if timeout(ANSWER_WITHIN, pull).await.is_err() {
            tracing::debug!(peer = %linked.peer, "a copy is behind");
        }
    }
}

/// The limits of the response to a command.
const SMALL: AnswerLimits = AnswerLimits { bytes: ANSWER_BYTES_MAX, within: ANSWER_WITHIN };

/// The limits of the response to a command with files, which the host gets first.
const WITH_FILES: AnswerLimits =
    AnswerLimits { bytes: ANSWER_BYTES_MAX, within: FILES_BROUGHT_WITHIN.saturating_add(ANSWER_WITHIN) };

#[async_trait]
impl SessionCarrier for Links {
    async fn accord_condition(&self, peer: &OwnerName) -> Result<Option<Condition>, Fault> {
        let standing = PeerStandings::standing(self, peer).await?;
        Ok(standing.map(|standing| standing.condition))
    }

    async fn takes_part(&self, peer: &OwnerName, owner: &OwnerName) -> Result<bool, Fault> {
        let peers = self.peers().await?;
        let peer = peers.all.get(peer).filter(|peer| peer.active().is_some());
        Ok(peer.is_some_and(|peer| peer.grants.owners().contains(owner)))
    }

    fn copy_due(&self, peer: &OwnerName, session: &SessionId) {
        self.0.due.add(peer, session, Instant::now());
    }

    async fn file(
        &self,
        agent: &AgentHandle,
        (peer, file): (&OwnerName, &FileId),
        parts: &Parts,
    ) -> Response {
        let answer =
            self.forward_request(agent, (peer, &format!("/files/{file}")), (parts, Bytes::new())).await;
        answer.unwrap_or_else(IntoResponse::into_response)
    }

    async fn ticket(
        &self,
        peer: &OwnerName,
        agent: &AgentHandle,
        file: &FileId,
    ) -> Result<Option<String>, Fault> {
        let Some(linked) = self.linked(peer).await? else { return Ok(None) };
        let ticket = Ticket::new(agent, file, self.now());
        Ok(Some(ticket.sign(&linked.accord, self.key().await?)))
    }

    async fn content(&self, peer: &OwnerName, ticket: &str) -> Result<Option<CrossingContent>, Fault> {
        let Some(linked) = self.linked(peer).await? else { return Ok(None) };
        match self.content_of(linked, ticket).await {
            Ok(content) => Ok(Some(content)),
            Err(failure) => {
                tracing::warn!(%peer, %failure, "a peer does not send a file of its message");
                Ok(None)
            }
        }
    }

    async fn offer(
        &self,
        peer: &OwnerName,
        offer: Offer<'_>,
    ) -> Result<Option<BTreeMap<AgentHandle, Consent>>, Fault> {
        let mut accepted = BTreeMap::new();
        let Some(linked) = self.linked(peer).await? else { return Ok(Some(accepted)) };
        let Ok(_share) = self.0.outgoing_calls_to.take(linked.accord.clone(), 1) else {
            return Err(Fault::Overloaded);
        };
        let request = CrossingOffer {
            you: peer.clone(),
            session_id: offer.session.clone(),
            by: offer.inviter.clone(),
            invite: offer.invitees.to_vec(),
        };
        let answer = self.ask_linked::<CrossingConsents>(&linked, "offers", &request, SMALL).await;
        let consents = match answer {
            Ok(consents) => consents,
            Err(failure) => {
                tracing::warn!(%peer, %failure, "a peer does not say who takes an invitation");
                // Any other refusal, such as one for a full disk, says nothing about the invitees.
                let is_decided =
                    matches!(failure, CallFailure::Refused(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND, _));
                return Ok(is_decided.then_some(accepted));
            }
        };
        // Ignore agents in the response that were not invited.
        for invitee in offer.invitees {
            let Some((handle_at_peer, _)) = invitee.of_peer() else { continue };
            if consents.taken.contains(&handle_at_peer) {
                accepted.insert(invitee.clone(), Consent { held: consents.held.contains(&handle_at_peer) });
            }
        }
        Ok(Some(accepted))
    }

    async fn forward(
        &self,
        peer: &OwnerName,
        session: &SessionId,
        command: CrossingCommand,
    ) -> Result<Option<CrossingOutcome>, Fault> {
        let Some(linked) = self.linked(peer).await? else { return Ok(None) };
        let owner = command.agent.owner_name();
        let Ok(_owners) = self.0.outgoing_calls.take(owner, 1) else { return Err(Fault::Overloaded) };
        let Ok(_peers) = self.0.outgoing_calls_to.take(linked.accord.clone(), 1) else {
            return Err(Fault::Overloaded);
        };
        let limits = if command.files.is_empty() { SMALL } else { WITH_FILES };
        match self.ask_linked::<LinkOutcome>(&linked, "commands", &command, limits).await {
            Ok(LinkOutcome { you, mut outcome }) => {
                if !you.may_name_peer() {
                    return Ok(None);
                }
                outcome.rename(&Naming { peer: peer.clone(), us: you });
                match outcome.refused.as_deref() {
                    None => self.await_copy(&linked, session, outcome.sequence).await,
                    Some(DIVERGED) => self.end_diverged(&linked, session).await?,
                    Some(_) => {}
                }
                Ok(Some(outcome))
            }
            Err(failure) => {
                tracing::warn!(%peer, %failure, "a command was not taken by the peer whose session it is");
                Ok(None)
            }
        }
    }

    async fn states(
        &self,
        peer: &OwnerName,
        message: CrossingMessage<'_>,
        agents: &[AgentHandle],
    ) -> Result<BTreeMap<AgentHandle, PeerState>, Fault> {
        let all = |state: PeerState| agents.iter().map(|agent| (agent.clone(), state.clone())).collect();
        let Some(linked) = self.linked(peer).await? else { return Ok(all(PeerState::Silent)) };
        let Ok(_share) = self.0.outgoing_calls_to.take(linked.accord.clone(), 1) else {
            return Ok(BTreeMap::new());
        };
        let ask = CrossingStatesAsk {
            you: peer.clone(),
            session_id: message.session.clone(),
            sequence: message.sequence,
            id: message.id.map(str::to_owned),
            agents: agents.iter().take(STATES_ASKED_MAX).cloned().collect(),
        };
        let answer = self.ask_linked::<CrossingStates>(&linked, "states", &ask, SMALL).await;
        let Ok(answer) = answer else { return Ok(all(PeerState::Silent)) };
        let mut states_by_agent: BTreeMap<_, _> =
            if answer.full { all(PeerState::Full) } else { BTreeMap::new() };
        for CrossingState { agent, state } in answer.states {
            if let Some(requested) = requested_agent(agents, &agent) {
                states_by_agent.insert(requested.clone(), PeerState::Reported(state));
            }
        }
        Ok(states_by_agent)
    }
}

fn requested_agent<'a>(agents: &'a [AgentHandle], handle_at_peer: &AgentHandle) -> Option<&'a AgentHandle> {
    agents.iter().find(|agent| agent.of_peer().is_some_and(|(handle, _)| handle == *handle_at_peer))
}
