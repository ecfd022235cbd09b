//! Sessions under accords: sends offers and commands to peers, serves theirs, and keeps the copies of their sessions up to
//! date.
//! Must not know: the rules of a session.

mod copy_sync;
pub(crate) mod diverged;
pub(crate) mod due;
mod offers;
mod peer_calls;
mod peer_requests;
mod tickets;

use plenary_kernel::{AccordId, OwnerName};
use plenary_log::Fault;

use crate::{Links, NetworkUrl};

/// A peer with an active accord.
#[derive(Debug, Clone)]
pub(crate) struct LinkedPeer {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
}

impl Links {
    /// The peer with this local name, if its accord is active.
    pub(crate) async fn linked(&self, peer: &OwnerName) -> Result<Option<LinkedPeer>, Fault> {
        let peers = self.peers().await?;
        let peer_state = peers.all.get(peer).filter(|peer_state| peer_state.active().is_some());
        Ok(peer_state.map(|peer_state| LinkedPeer {
            peer: peer.clone(),
            network: peer_state.network.clone(),
            accord: peer_state.accord.clone(),
        }))
    }
}
