//! The sessions whose histories differ between this network and a peer, because one of them was restored from a backup. Their
//! copies have ended; the operators of both sides see how many there are.
//! Must not know: how a difference is found.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use plenary_kernel::{AccordId, OwnerName, Position, SessionId, json::digest};
use plenary_log::{Batch, Fault, Log, RowOp};

use super::LinkedPeer;
use crate::{Links, limits::DIVERGED_KEPT_MAX};

/// The sessions: `links/diverged/<accord>/<session>`.
const DIVERGED: &str = "links/diverged/";
/// Separates these signatures from those of requests.
const PURPOSE: &str = "plenary-log-mark";

/// Records a session; returns whether it is new. Beyond [`DIVERGED_KEPT_MAX`] of an accord no more are recorded.
async fn note(log: &Log, accord: &AccordId, session: &SessionId) -> Result<bool, Fault> {
    let name = format!("{DIVERGED}{accord}/{session}");
    if log.read_row(&name).await?.is_some() || count(log, accord).await? >= DIVERGED_KEPT_MAX {
        return Ok(false);
    }
    let row = RowOp { name, expected: None, value: Some(Bytes::new()) };
    log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
    Ok(true)
}

/// The number of such sessions under an accord.
pub(crate) async fn count(log: &Log, accord: &AccordId) -> Result<usize, Fault> {
    Ok(log.read_rows(&format!("{DIVERGED}{accord}/"), None, DIVERGED_KEPT_MAX).await?.len())
}

impl Links {
    /// As the host: records that the copy of a peer does not continue a session of this network.
    pub(super) async fn note_divergence(
        &self,
        accord: &AccordId,
        peer: &OwnerName,
        session: &SessionId,
    ) -> Result<(), Fault> {
        if note(self.log(), accord, session).await? {
            tracing::warn!(
                %peer, %session,
                "a peer has events of a session that this network does not have, as after a restore from a backup: its agents \
                 have left the session; to go on with them, begin another one"
            );
        }
        Ok(())
    }

    /// As the home: ends the copy of a session whose host has other events.
    pub(super) async fn end_diverged(&self, linked: &LinkedPeer, session: &SessionId) -> Result<(), Fault> {
        let LinkedPeer { peer, accord, .. } = linked;
        self.0.sessions.end_copy(peer, session).await?;
        self.0.full.clear(accord, session);
        if note(self.log(), accord, session).await? {
            tracing::warn!(
                %peer, %session,
                "the copy of a session has events that its host does not have, as after a restore of the host from a backup: the \
                 copy ends and keeps them; to go on, begin another session"
            );
        }
        Ok(())
    }

    /// What the log has at a position, in a form that says nothing about it to a peer; `None` if it has nothing there, or cannot
    /// say.
    pub(super) async fn log_mark(&self, at: Position) -> Result<Option<String>, Fault> {
        let before = Position(at.0.saturating_sub(1));
        let event = match self.log().read_log(before, 1).await {
            Ok(mut events) => events.pop().filter(|event| event.position == at),
            Err(Fault::Corrupt(_)) => None,
            Err(fault) => return Err(fault),
        };
        let Some(event) = event else { return Ok(None) };
        let text = format!(
            "{PURPOSE}\n{}/{}\n{}\n{}",
            event.stream.category(),
            event.stream.id(),
            event.version.0,
            event.at.0
        );
        // A peer can guess the text, but cannot sign it.
        let signature = self.key().await?.sign(text.as_bytes());
        Ok(Some(URL_SAFE_NO_PAD.encode(digest(&signature))))
    }
}
