//! The invitations of peers that this network took for its agents. Only their sessions are copied, and only their peers are
//! asked for news.
//! Must not know: requests.

use bytes::Bytes;
use plenary_kernel::{OwnerName, SessionId};
use plenary_log::{Batch, Fault, Log, RowOp};

use crate::limits::OFFERS_KEPT_MAX;

/// The peers with such invitations: `links/copies/<peer>`.
const PEERS: &str = "links/copies/";
/// The sessions of the invitations: `links/offers/<peer>/<session>`.
const OFFERS: &str = "links/offers/";

/// Records an invitation. Beyond [`OFFERS_KEPT_MAX`] of a peer, the one with the lowest session id is dropped; ids are ordered
/// by time.
pub(super) async fn note(log: &Log, peer: &OwnerName, session: &SessionId) -> Result<(), Fault> {
    let prefix = format!("{OFFERS}{peer}/");
    let (peer_row, offer) = (format!("{PEERS}{peer}"), format!("{prefix}{session}"));
    if log.read_row(&offer).await?.is_some() {
        return Ok(());
    }
    let put = |name| RowOp { name, expected: None, value: Some(Bytes::new()) };
    let mut rows = vec![put(peer_row), put(offer)];
    let stored_offers = log.read_rows(&prefix, None, OFFERS_KEPT_MAX).await?;
    if stored_offers.len() == OFFERS_KEPT_MAX {
        let oldest = stored_offers.into_iter().next();
        rows.extend(oldest.map(|(name, _)| RowOp { name, expected: None, value: None }));
    }
    log.append(Batch { rows, ..Batch::default() }).await?;
    Ok(())
}

/// Whether this network took an invitation into a session of a peer.
pub(super) async fn has(log: &Log, peer: &OwnerName, session: &SessionId) -> Result<bool, Fault> {
    Ok(log.read_row(&format!("{OFFERS}{peer}/{session}")).await?.is_some())
}

/// Whether a peer has ever had such an invitation.
pub(super) async fn has_any(log: &Log, peer: &OwnerName) -> Result<bool, Fault> {
    Ok(log.read_row(&format!("{PEERS}{peer}")).await?.is_some())
}

#[cfg(test)]
mod tests {
    use plenary_log::open_memory;

    use super::*;

    #[tokio::test]
    async fn past_the_limit_of_a_peer_its_oldest_invitation_is_forgotten() {
        let opened = open_memory();
        let log = &opened.log;
        let session = |nth: usize| -> SessionId { format!("sess_{nth:026}").parse().unwrap() };
        let (acme, rose): (OwnerName, OwnerName) = ("acme".parse().unwrap(), "rose".parse().unwrap());
        assert!(!has_any(log, &acme).await.unwrap());
        note(log, &rose, &session(0)).await.unwrap();
        for nth in 0..=OFFERS_KEPT_MAX {
            note(log, &acme, &session(nth)).await.unwrap();
            note(log, &acme, &session(nth)).await.unwrap();
        }
        assert!(!has(log, &acme, &session(0)).await.unwrap(), "the oldest");
        assert!(has(log, &acme, &session(1)).await.unwrap(), "a repeated one counts once");
        assert!(has(log, &acme, &session(OFFERS_KEPT_MAX)).await.unwrap());
        assert!(has(log, &rose, &session(0)).await.unwrap(), "each peer has its own");
        assert!(has_any(log, &acme).await.unwrap());
    }
}
