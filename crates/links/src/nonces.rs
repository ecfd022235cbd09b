//! Replay protection: a signed request is accepted once. Its nonce is a row that only one request can create, in any process
//! and after any crash. The row is deleted after the signature has expired.
//! Must not know: the content of a request.

use bytes::Bytes;
use plenary_log::{Batch, Fault, Outcome, RowOp};

use crate::{
    Links,
    limits::{NONCES_SWEPT_MAX, SKEW_SECONDS_MAX},
    signature::{NotNow, SentSignature},
};

/// Why a verified signature is not accepted.
#[derive(Debug)]
pub(crate) enum NotGood {
    /// Its time is too early or too late, or its lifetime is too long.
    Expired,
    /// Its nonce was used before.
    Used,
    /// The store failed.
    Fault(Fault),
}

const ROWS: &str = "links/nonce/";

/// The name begins with the expiry, so expired rows come first.
fn row_name(signature: &SentSignature) -> String {
    format!("{ROWS}{:020}/{}/{}", signature.expires, signature.key, signature.nonce)
}

/// The expiry of a row, in seconds since the epoch.
fn end(row: &str) -> Option<u64> {
    row.strip_prefix(ROWS)?.split('/').next()?.parse().ok()
}

impl Links {
    /// Uses a signature up. Verify it first, so that only peers can add rows to the store.
    pub(crate) async fn use_nonce(&self, signature: &SentSignature) -> Result<(), NotGood> {
        signature.is_timely(self.now()).map_err(|NotNow| NotGood::Expired)?;
        let nonce_row = RowOp { name: row_name(signature), expected: Some(0), value: Some(Bytes::new()) };
        let outcome = self.log().append(Batch { rows: vec![nonce_row], ..Batch::default() }).await;
        let is_first = matches!(outcome.map_err(NotGood::Fault)?, Outcome::Appended(_));
        if is_first { Ok(()) } else { Err(NotGood::Used) }
    }

    /// Deletes the nonces of expired signatures. The clocks of processes differ, so it keeps them a little longer.
    pub(crate) async fn sweep_nonces(&self) -> Result<(), Fault> {
        let before = (self.now().0 / 1_000).saturating_sub(SKEW_SECONDS_MAX);
        loop {
            let rows = self.log().read_rows(ROWS, None, NONCES_SWEPT_MAX).await?;
            let names = rows.into_iter().map(|(name, _)| name);
            let expired = names.filter(|name| end(name).is_none_or(|end| end <= before));
            let rows: Vec<_> = expired.map(|name| RowOp { name, expected: None, value: None }).collect();
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
