//! Sessions under accords: invitations and commands are taken to peers and taken in from them, and the copies of their sessions
//! are kept up.
//! Must not know: what may happen in a session.

mod asked;
mod carrying;
mod pulling;

use bytes::Bytes;
use plenary_kernel::{AccordId, OwnerName, SessionId};
use plenary_log::{Batch, Fault, RowOp};

use crate::{Links, NetworkUrl, limits::OFFERS_KEPT_MAX};

/// Peers that agents of this network took invitations of: `links/copies/<peer>`.
const ROWS: &str = "links/copies/";
/// The sessions of those invitations: `links/offers/<peer>/<session>`.
const OFFERS: &str = "links/offers/";

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

    /// Notes an invitation of a peer that agents of this network take: the copy of its session may begin, and from now on the
    /// peer is asked for news. Nobody else is.
    async fn note_offer(&self, peer: &OwnerName, session: &SessionId) -> Result<(), Fault> {
        let (prefix, mut rows) = (format!("{OFFERS}{peer}/"), Vec::new());
        for name in [format!("{ROWS}{peer}"), format!("{prefix}{session}")] {
            if self.log().read_row(&name).await?.is_none() {
                rows.push(RowOp { name, expected: None, value: Some(Bytes::new()) });
            }
        }
        if !rows.is_empty() {
            // Ids are in the order of their making.
            let kept = self.log().read_rows(&prefix, None, OFFERS_KEPT_MAX).await?;
            if kept.len() == OFFERS_KEPT_MAX
                && let Some((name, _)) = kept.into_iter().next()
            {
                rows.push(RowOp { name, expected: None, value: None });
            }
            self.log().append(Batch { rows, ..Batch::default() }).await?;
        }
        self.0.expecting.send_replace(());
        Ok(())
    }

    /// Whether agents of this network took an invitation into a session of a peer.
    async fn has_offer(&self, peer: &OwnerName, session: &SessionId) -> Result<bool, Fault> {
        Ok(self.log().read_row(&format!("{OFFERS}{peer}/{session}")).await?.is_some())
    }

    /// Whether a peer has such sessions.
    async fn has_copies(&self, peer: &OwnerName) -> Result<bool, Fault> {
        Ok(self.log().read_row(&format!("{ROWS}{peer}")).await?.is_some())
    }
}
