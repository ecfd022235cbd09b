//! Frames under accords (Agent-Channel Fan-Out, section 6): sent to a peer, and received from one. Each side checks its own
//! grants. Only agents whose owner is in a grant take part.
//! Must not know: the content of a frame.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use plenary_frames::{AccordCarrier, ArrivingFrame, LeavingFrame, ReceiveError, SendError};
use plenary_kernel::Refusal;
use plenary_room::async_trait;
use serde_json::value::RawValue;

use crate::{
    Links,
    grant::GrantName,
    peer_calls::{ACCORDS_PATH, CallFailure},
    refusals::{HouseRefusal, invalid_frame, not_granted, not_handed_out},
    routes::PeerCall,
    wire::{LinkFrame, LinkFrameTaken},
};

/// The retry delay for a sender that reached a limit.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[async_trait]
impl AccordCarrier for Links {
    async fn carry(&self, frame: LeavingFrame<'_>) -> Result<u64, SendError> {
        let changes = self.0.changed.subscribe();
        let peers = self.peers().await.map_err(SendError::Fault)?;
        let peer = peers.all.get(frame.peer).ok_or(SendError::Unauthorised)?;
        let active = peer.active().ok_or(SendError::Unauthorised)?;
        let takes_part = peer.grants.owners().contains(&frame.sender.owner_name());
        let is_granted = frame.grant.parse().is_ok_and(|grant: GrantName| active.granted.contains(&grant));
        if !(takes_part && is_granted) {
            return Err(SendError::Unauthorised);
        }
        let too_many = || SendError::TooMany { retry_after: RETRY_AFTER };
        let _owners = self.0.outgoing_calls.take(frame.sender.owner_name(), 1).map_err(|_| too_many())?;
        let _peers = self.0.outgoing_calls_to.take(peer.accord.clone(), 1).map_err(|_| too_many())?;
        let text = std::str::from_utf8(frame.line).map_err(|_| SendError::Unreachable)?;
        let link_frame = LinkFrame {
            grant: frame.grant.to_owned(),
            agent: frame.sender.clone(),
            tool: frame.tool.to_owned(),
            frame: RawValue::from_string(text.to_owned()).map_err(|_| SendError::Unreachable)?,
        };
        let path = format!("{ACCORDS_PATH}/{}/frames", peer.accord);
        let answer = tokio::select! {
            answer = self.call(&peer.network, (Method::POST, &path), Some(&link_frame)) => answer,
            () = self.accord_end(changes, &peer.accord) => return Err(SendError::Unauthorised),
        };
        match answer {
            Ok(LinkFrameTaken { count }) => Ok(count),
            Err(CallFailure::Refused(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND, _)) => {
                Err(SendError::Unauthorised)
            }
            Err(CallFailure::Refused(StatusCode::TOO_MANY_REQUESTS, _)) => Err(too_many()),
            Err(CallFailure::Refused(..) | CallFailure::Unreachable(_)) => Err(SendError::Unreachable),
        }
    }
}

impl Links {
    /// Delivers a frame of a peer, and stops when the accord is revoked.
    pub(crate) async fn receive_frame(
        &self,
        call: &PeerCall,
        frame: &LinkFrame,
    ) -> Result<LinkFrameTaken, HouseRefusal> {
        tokio::select! {
            receipt = self.deliver_frame(call, frame) => receipt,
            () = self.accord_end(call.changes.clone(), &call.accord) => Err(Refusal::not_found().into()),
        }
    }

    async fn deliver_frame(
        &self,
        call: &PeerCall,
        frame: &LinkFrame,
    ) -> Result<LinkFrameTaken, HouseRefusal> {
        let owners = frame.grant.parse().ok().and_then(|grant: GrantName| call.grants.owners_of(&grant));
        let owners = owners.ok_or_else(not_granted)?;
        let text = Bytes::from(frame.frame.get().to_owned());
        let arriving_frame =
            ArrivingFrame { peer: &call.peer, agent: &frame.agent, tool: &frame.tool, text: &text };
        match self.0.frames.receive(&arriving_frame, owners).await {
            Ok(count) => Ok(LinkFrameTaken { count }),
            Err(ReceiveError::Unauthorised) => Err(not_granted().into()),
            Err(ReceiveError::Malformed) => Err(invalid_frame().into()),
            Err(ReceiveError::Failed) => Err(not_handed_out().into()),
        }
    }
}
