//! Sessions under accords: invitations and commands are taken to peers and taken in from them, and the copies of their sessions
//! are kept up.
//! Must not know: what may happen in a session.

mod asked;
mod carrying;
mod pulling;

use bytes::Bytes;
use plenary_kernel::{AccordId, OwnerName};
use plenary_log::{Batch, Fault, RowOp};

use crate::{Links, NetworkUrl};

/// Peers that agents of this network took invitations of: `links/copies/<peer>`.
const ROWS: &str = "links/copies/";

/// A peer whose accord holds.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    pub(crate) peer: OwnerName,
    pub(crate) network: NetworkUrl,
    pub(crate) accord: AccordId,
}

impl Links {
    /// A peer by its name here, as long as its accord holds.
    pub(crate) async fn linked(&self, peer: &OwnerName) -> Result<Option<Linked>, Fault> {
        let peers = self.peers().await?;
        let known = peers.all.get(peer).filter(|known| known.active().is_some());
        Ok(known.map(|known| Linked {
            peer: peer.clone(),
            network: known.network.clone(),
            accord: known.accord.clone(),
        }))
    }

    /// Notes that a peer has sessions for agents of this network: from now on it is asked for news. Nobody else is.
    async fn note_copies(&self, peer: &OwnerName) -> Result<(), Fault> {
        let name = format!("{ROWS}{peer}");
        if self.log().read_row(&name).await?.is_none() {
            let row = RowOp { name, expected: None, value: Some(Bytes::new()) };
            self.log().append(Batch { rows: vec![row], ..Batch::default() }).await?;
        }
        self.0.expecting.send_replace(());
        Ok(())
    }

    /// Whether a peer has such sessions.
    async fn has_copies(&self, peer: &OwnerName) -> Result<bool, Fault> {
        Ok(self.log().read_row(&format!("{ROWS}{peer}")).await?.is_some())
    }
}
