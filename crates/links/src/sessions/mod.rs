//! Sessions under accords: invitations and commands are taken to peers and taken in from them, and the copies of their sessions
//! are kept up.
//! Must not know: what may happen in a session.

mod asked;
mod carrying;
mod offers;
mod pulling;

use plenary_kernel::{AccordId, OwnerName};
use plenary_log::Fault;

use crate::{Links, NetworkUrl};

/// A peer whose accord holds.
#[derive(Debug, Clone)]
pub(crate) struct LinkedPeer {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
}

impl Links {
    /// A peer by its name here, as long as its accord holds.
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
