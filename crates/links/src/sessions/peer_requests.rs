//! The requests of peers about sessions: offers to agents of this network, commands of the peer's agents, delivery states,
//! news, and events.
//! Must not know: signatures.

use std::{io, time::Duration};

use axum::response::Response;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, header};
use plenary_kernel::{OwnerName, Position, Refusal, Version};
use plenary_sessions::crossing::{
    CrossingMessage, DIVERGED,
    names::Naming,
    wire::{
        CrossingAsk, CrossingCommand, CrossingConsents, CrossingEvents, CrossingFileAsk, CrossingNewsAsk,
        CrossingNewsPage, CrossingOffer, CrossingState, CrossingStates, CrossingStatesAsk,
    },
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{offers, tickets::Ticket};
use crate::{
    Links,
    guests::ending,
    limits::{NEWS_APART, NEWS_WAIT_MS_MAX, STATES_ASKED_MAX},
    refusals::HouseRefusal,
    routes::{OPAQUE, PeerCall},
    wire::LinkOutcome,
};

/// 404: the peer has no such session.
fn no_session() -> HouseRefusal {
    Refusal::not_found().into()
}

/// Checks the peer's name for this network.
fn require_peer_name(us: &OwnerName) -> Result<(), HouseRefusal> {
    if us.may_name_peer() { Ok(()) } else { Err(no_session()) }
}

impl Links {
    /// Which agents take an invitation into a session of the peer. If there are any, the peer is asked for news from now on.
    pub(crate) async fn consider_offer(
        &self,
        call: &PeerCall,
        offer: CrossingOffer,
    ) -> Result<CrossingConsents, HouseRefusal> {
        require_peer_name(&offer.you)?;
        let naming = Naming { peer: call.peer.clone(), us: offer.you };
        let sender = naming.local_name(&offer.by).ok_or_else(no_session)?;
        let mut consents = CrossingConsents::default();
        let invitees: Vec<_> = offer.invite.iter().take(plenary_sessions::INVITE_MAX).collect();
        let local_agents: Vec<_> = invitees.iter().filter_map(|invitee| naming.local_name(invitee)).collect();
        let sessions = &self.0.sessions;
        let accepted =
            sessions.crossing_consents(&call.peer, &offer.session_id, (&sender, &local_agents)).await?;
        if accepted.is_empty() {
            return Ok(consents);
        }
        offers::note(self.log(), &call.peer, &offer.session_id).await?;
        self.0.expecting.send_replace(());
        for (invitee, consent) in accepted {
            if consent.held {
                consents.held.push(invitee.clone());
            }
            consents.taken.push(invitee);
        }
        Ok(consents)
    }

    /// Executes a command of a peer's agent in a session of this network.
    pub(crate) async fn execute_command(
        &self,
        call: &PeerCall,
        command: CrossingCommand,
    ) -> Result<LinkOutcome, HouseRefusal> {
        require_peer_name(&command.you)?;
        let session = command.session_id.clone();
        let outcome = self.0.sessions.crossing_command(&call.peer, command).await?;
        if outcome.refused.as_deref() == Some(DIVERGED) {
            self.note_divergence(&call.accord, &call.peer, &session).await?;
        }
        Ok(LinkOutcome { you: call.peer.clone(), outcome })
    }

    /// The content of a file that an agent of this network sends into a session of the peer.
    pub(crate) async fn file_content(
        &self,
        call: PeerCall,
        request: &CrossingFileAsk,
    ) -> Result<Response, HouseRefusal> {
        let ticket = Ticket::read(&request.ticket, &call.accord, self.key().await?, self.now());
        let ticket = ticket.ok_or_else(no_session)?;
        let content = self.0.sessions.content_for(&ticket.agent, &ticket.file).await?;
        let (bytes, content) = content.ok_or_else(no_session)?;
        let end = {
            let (links, accord, changes) = (self.clone(), call.accord.clone(), call.changes.clone());
            async move { links.accord_end(changes, &accord).await }
        };
        let content = content.map_err(|refusal| io::Error::other(refusal.code));
        let mut response = Response::new(ending(content, end, call.into_share()));
        response.headers_mut().insert(header::CONTENT_LENGTH, bytes.into());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(OPAQUE));
        Ok(response)
    }

    /// The delivery states of a message for agents of this network.
    pub(crate) async fn delivery_states(
        &self,
        call: &PeerCall,
        request: CrossingStatesAsk,
    ) -> Result<CrossingStates, HouseRefusal> {
        require_peer_name(&request.you)?;
        let naming = Naming { peer: call.peer.clone(), us: request.you };
        let agents: Vec<_> = request
            .agents
            .iter()
            .take(STATES_ASKED_MAX)
            .filter_map(|agent| naming.local_name(agent))
            .collect();
        let (session, sequence) = (&request.session_id, request.sequence);
        let message = CrossingMessage { session, sequence, id: request.id.as_deref() };
        let states = self.0.sessions.states_for(&call.peer, message, &agents).await?;
        let states = states.into_iter().map(|(agent, state)| CrossingState { agent, state });
        let full = self.0.full.waits(&call.accord, &request.session_id);
        Ok(CrossingStates { states: states.collect(), full })
    }

    /// The events of a session that the peer's agents may know.
    pub(crate) async fn session_events(
        &self,
        call: &PeerCall,
        request: CrossingAsk,
    ) -> Result<CrossingEvents, HouseRefusal> {
        let CrossingAsk { session_id, after, last } = request;
        let page = self.0.sessions.crossing_events(&call.peer, &session_id, Version(after), last).await?;
        let page = page.ok_or_else(no_session)?;
        if page.diverged {
            self.note_divergence(&call.accord, &call.peer, &session_id).await?;
        }
        Ok(page)
    }

    /// A long poll for the sessions that have news for the peer; empty after a time-out.
    pub(crate) async fn session_news(
        &self,
        call: &PeerCall,
        request: &CrossingNewsAsk,
    ) -> Result<CrossingNewsPage, HouseRefusal> {
        let deadline = Instant::now() + Duration::from_millis(request.wait_ms.min(NEWS_WAIT_MS_MAX));
        let (mut changes, mut closed) = (self.0.sessions.crossing_growth(), self.0.closed.subscribe());
        let mut after = Position(request.after);
        if request.mark.is_some() && request.mark != self.log_mark(after).await? {
            // This network was restored from a backup since its last answer: the peer learns of all sessions again.
            after = Position(0);
        }
        loop {
            changes.mark_unchanged();
            let news = self.0.sessions.crossing_news(&call.peer, after).await?;
            let is_over = Instant::now() >= deadline || *closed.borrow_and_update();
            if !news.sessions.is_empty() || is_over {
                let mark = self.log_mark(news.at).await?;
                return Ok(CrossingNewsPage { at: news.at.0, mark, sessions: news.sessions });
            }
            tokio::select! {
                // Wait a moment, so that events in quick succession cause one read.
                _ = changes.changed() => sleep(NEWS_APART).await,
                _ = closed.changed() => {}
                () = sleep_until(deadline) => {}
                () = self.accord_end(call.changes.clone(), &call.accord) => return Err(no_session()),
            }
        }
    }
}
