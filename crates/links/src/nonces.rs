//! A signed request is good once: its nonce is a row, which only one request makes, at whichever process and after whatever
//! crash. A row goes when its signature is over.
//! Must not know: what is asked.

use bytes::Bytes;
use plenary_log::{Batch, Fault, Outcome, RowOp};

use crate::{
    Links,
    limits::{NONCES_SWEPT_MAX, SKEW_SECONDS_MAX},
    signature::{NotNow, SentSignature},
};

/// Why a signature that verifies is not good.
#[derive(Debug)]
pub(crate) enum NotGood {
    /// It was made too early, too late, or for too long.
    Expired,
    /// It was used.
    Used,
    /// The store failed.
    Fault(Fault),
}

const ROWS: &str = "links/nonce/";

/// The end stands in front: rows that are over are the first.
fn row(sent: &SentSignature) -> String {
    format!("{ROWS}{:020}/{}/{}", sent.expires, sent.key, sent.nonce)
}

/// When a row is over, in seconds.
fn end(row: &str) -> Option<u64> {
    row.strip_prefix(ROWS)?.split('/').next()?.parse().ok()
}

impl Links {
    /// Uses a signature up. It must be verified: nobody else fills the store.
    pub(crate) async fn use_up(&self, sent: &SentSignature) -> Result<(), NotGood> {
        sent.is_timely(self.now()).map_err(|NotNow| NotGood::Expired)?;
        let used = RowOp { name: row(sent), expected: Some(0), value: Some(Bytes::new()) };
        let outcome = self.log().append(Batch { rows: vec![used], ..Batch::default() }).await;
        let is_first = matches!(outcome.map_err(NotGood::Fault)?, Outcome::Appended(_));
        if is_first { Ok(()) } else { Err(NotGood::Used) }
    }

    /// Forgets the nonces of signatures that are over at whichever process: their clocks differ.
    pub(crate) async fn sweep_nonces(&self) -> Result<(), Fault> {
        let before = (self.now().0 / 1_000).saturating_sub(SKEW_SECONDS_MAX);
        loop {
            let rows = self.log().read_rows(ROWS, None, NONCES_SWEPT_MAX).await?;
            let names = rows.into_iter().map(|(name, _)| name);
            let over = names.filter(|name| end(name).is_none_or(|end| end <= before));
            let rows: Vec<_> = over.map(|name| RowOp { name, expected: None, value: None }).collect();
            let is_last = rows.len() < NONCES_SWEPT_MAX;
            if !rows.is_empty() {
                self.log().append(Batch { rows, ..Batch::default() }).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_when_it_is_over() {
        assert_eq!(end("links/nonce/00000000001700000060/kid/nonce"), Some(1_700_000_060));
        assert_eq!(end("links/nonce/what"), None);
    }
}
