//! The requests of peers about sessions: offers to agents of this network, commands of the peer's agents, delivery states,
//! news, and events.
//! Must not know: signatures.

use std::{io, time::Duration};

use axum::response::Response;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, header};
use plenary_kernel::{OwnerName, Position, Refusal, Version};
use plenary_sessions::crossing::{
    naming::Naming,
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
fn not_there() -> HouseRefusal {
    Refusal::not_found().into()
}

/// Checks the peer's name for this network.
fn named(us: &OwnerName) -> Result<(), HouseRefusal> {
    if us.may_name_peer() { Ok(()) } else { Err(not_there()) }
}

impl Links {
    /// Which agents take an invitation into a session of the peer. If there are any, the peer is asked for news from now on.
    pub(crate) async fn take_offer(
        &self,
        call: &PeerCall,
        sent: CrossingOffer,
    ) -> Result<CrossingConsents, HouseRefusal> {
        named(&sent.you)?;
        let naming = Naming { peer: call.peer.clone(), us: sent.you };
        let by = naming.here(&sent.by).ok_or_else(not_there)?;
        let mut consents = CrossingConsents::default();
        let invitees: Vec<_> = sent.invite.iter().take(plenary_sessions::INVITE_MAX).collect();
        let here: Vec<_> = invitees.iter().filter_map(|invitee| naming.here(invitee)).collect();
        let sessions = &self.0.sessions;
        let taken = sessions.crossing_consents(&call.peer, &sent.session_id, (&by, &here)).await?;
        if taken.is_empty() {
            return Ok(consents);
        }
        offers::note(self.log(), &call.peer, &sent.session_id).await?;
        self.0.expecting.send_replace(());
        for (invitee, consent) in taken {
            if consent.held {
                consents.held.push(invitee.clone());
            }
            consents.taken.push(invitee);
        }
        Ok(consents)
    }

    /// Executes a command of a peer's agent in a session of this network.
    pub(crate) async fn take_command(
        &self,
        call: &PeerCall,
        sent: CrossingCommand,
    ) -> Result<LinkOutcome, HouseRefusal> {
        named(&sent.you)?;
        let outcome = self.0.sessions.crossing_command(&call.peer, sent).await?;
        Ok(LinkOutcome { you: call.peer.clone(), outcome })
    }

    /// The content of a file that an agent of this network sends into a session of the peer.
    pub(crate) async fn say_file(
        &self,
        call: PeerCall,
        sent: &CrossingFileAsk,
    ) -> Result<Response, HouseRefusal> {
        let ticket = Ticket::read(&sent.ticket, &call.accord, self.key().await?, self.now());
        let ticket = ticket.ok_or_else(not_there)?;
        let found = self.0.sessions.content_for(&ticket.agent, &ticket.file).await?;
        let (bytes, content) = found.ok_or_else(not_there)?;
        let end = {
            let (links, accord, changes) = (self.clone(), call.accord.clone(), call.changes.clone());
            async move { links.ended(changes, &accord).await }
        };
        let content = content.map_err(|refusal| io::Error::other(refusal.code));
        let mut response = Response::new(ending(content, end, call.into_share()));
        response.headers_mut().insert(header::CONTENT_LENGTH, bytes.into());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(OPAQUE));
        Ok(response)
    }

    /// The delivery states of a message for agents of this network.
    pub(crate) async fn say_states(
        &self,
        call: &PeerCall,
        sent: CrossingStatesAsk,
    ) -> Result<CrossingStates, HouseRefusal> {
        named(&sent.you)?;
        let naming = Naming { peer: call.peer.clone(), us: sent.you };
        let agents: Vec<_> =
            sent.agents.iter().take(STATES_ASKED_MAX).filter_map(|agent| naming.here(agent)).collect();
        let message = (&sent.session_id, sent.sequence);
        let states = self.0.sessions.states_for(&call.peer, message, &agents).await?;
        let states = states.into_iter().map(|(agent, state)| CrossingState { agent, state });
        let full = self.0.full.waits(&call.accord, &sent.session_id);
        Ok(CrossingStates { states: states.collect(), full })
    }

    /// The events of a session that the peer's agents may know.
    pub(crate) async fn say_events(
        &self,
        call: &PeerCall,
        sent: &CrossingAsk,
    ) -> Result<CrossingEvents, HouseRefusal> {
        let (peer, after) = (&call.peer, Version(sent.after));
        let page = self.0.sessions.crossing_events(peer, &sent.session_id, after).await?;
        page.ok_or_else(not_there)
    }

    /// A long poll for the sessions that have news for the peer; empty after a time-out.
    pub(crate) async fn say_news(
        &self,
        call: &PeerCall,
        sent: &CrossingNewsAsk,
    ) -> Result<CrossingNewsPage, HouseRefusal> {
        let deadline = Instant::now() + Duration::from_millis(sent.wait_ms.min(NEWS_WAIT_MS_MAX));
        let (mut grown, mut closed) = (self.0.sessions.crossing_grown(), self.0.closed.subscribe());
        loop {
            grown.mark_unchanged();
            let news = self.0.sessions.crossing_news(&call.peer, Position(sent.after)).await?;
            let is_over = Instant::now() >= deadline || *closed.borrow_and_update();
            if !news.sessions.is_empty() || is_over {
                return Ok(CrossingNewsPage { at: news.at.0, sessions: news.sessions });
            }
            tokio::select! {
                // Wait a moment, so that events in quick succession cause one read.
                _ = grown.changed() => sleep(NEWS_APART).await,
                _ = closed.changed() => {}
                () = sleep_until(deadline) => {}
                () = self.ended(call.changes.clone(), &call.accord) => return Err(not_there()),
            }
        }
    }
}
