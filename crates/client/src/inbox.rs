//! Waiting for what is new for the agent.
//! Must not know: how it is shown, but for the digest that others show too.

use std::time::Duration;

use plenary_wire::inbox::{InboxPage, InboxQuery, WAIT};
use tokio::time::Instant;

use crate::{Client, Reply, Result};

pub use plenary_kernel::inbox::{DIGEST_CHARS_MAX, digest};

/// How long one request waits: less than a request may take. A longer wait is several.
const SLICE: Duration = Duration::from_secs(20);

impl Client {
    /// `GET /inbox/wait`, again and again until there is an item or the time is over.
    ///
    /// # Errors
    /// As [`Client::call`]; 429 `too_many_waits`.
    pub async fn wait_inbox(&self, query: &InboxQuery, timeout: Duration) -> Result<Reply<InboxPage>> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Whole seconds: the last part of one is waited whole.
            let slice = Duration::from_secs(left.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX));
            let query = InboxQuery { timeout_s: Some(slice.min(SLICE).as_secs()), ..query.clone() };
            let page = self.call(&WAIT, &[], &query, &()).await?;
            if !page.items.is_empty() || left <= SLICE {
                return Ok(page);
            }
        }
    }
}
