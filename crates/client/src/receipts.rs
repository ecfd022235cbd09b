//! The receipts of a message, live, across disconnects.
//! Must not know: the meaning of a state, except that some are final.

use std::collections::HashMap;

use plenary_kernel::{AgentHandle, SessionId};

use crate::{
    Client, Error, Result, Signal, StreamOptions, client::segment, feed::Feed, inbox::RecipientStatus,
};

/// Largest event in bytes.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// Follows one message: each recipient whose state or reason has changed.
pub struct ReceiptStream {
    feed: Feed,
    /// The last reported state of each recipient, and the reason why the message waits.
    reported: HashMap<AgentHandle, (String, Option<String>)>,
    /// Whether the stream was open since it last ended.
    is_open: bool,
}

impl ReceiptStream {
    /// Waits for the next signal; `None` when no state can change any more.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Option<Signal<RecipientStatus>>> {
        loop {
            match self.feed.next().await? {
                Signal::Opened => self.is_open = true,
                Signal::Keepalive | Signal::Unreadable(_) => {}
                Signal::Event(event) => {
                    let receipt: RecipientStatus = serde_json::from_str(&event.data)
                        .map_err(|error| Error::Unreadable(error.to_string()))?;
                    if self.is_news(&receipt) {
                        return Ok(Some(Signal::Event(receipt)));
                    }
                }
                Signal::Lost { .. } if self.is_open && self.is_over() => return Ok(None),
                Signal::Lost { reason, retry_in } => {
                    self.is_open = false;
                    return Ok(Some(Signal::Lost { reason, retry_in }));
                }
            }
        }
    }

    /// Whether a receipt is new: a reopened stream starts with all current states.
    fn is_news(&mut self, receipt: &RecipientStatus) -> bool {
        let reason = receipt.waiting.as_ref().map(|waiting| waiting.reason.clone());
        let known = (receipt.state.clone(), reason);
        self.reported.insert(receipt.agent.clone(), known.clone()) != Some(known)
    }

    fn is_over(&self) -> bool {
        self.reported.values().all(|(state, _)| matches!(state.as_str(), "acknowledged" | "expired"))
    }
}

impl Client {
    /// Follows `GET /sessions/{id}/messages/{sequence}/receipts`, and reconnects after every failure. Connects when
    /// first awaited.
    pub fn receipts(&self, session: &SessionId, sequence: u64, options: StreamOptions) -> ReceiptStream {
        let path = format!("/sessions/{}/messages/{sequence}/receipts", segment(session.as_str()));
        let feed = Feed::new(self.clone(), path, None, EVENT_BYTES_MAX, options);
        ReceiptStream { feed, reported: HashMap::new(), is_open: false }
    }
}
