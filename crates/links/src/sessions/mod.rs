//! Sessions under accords: sends offers and commands to peers, serves theirs, and keeps the copies of their sessions up to
//! date.
//! Must not know: the rules of a session.

mod asked;
mod carrying;
mod offers;
mod pulling;
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
        let known = peers.all.get(peer).filter(|known| known.active().is_some());
        Ok(known.map(|known| LinkedPeer {
            peer: peer.clone(),
            network: known.network.clone(),
            accord: known.accord.clone(),
        }))
    }
}
