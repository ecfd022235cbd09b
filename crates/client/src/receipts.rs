//! The receipts of a message, live, across disconnects.
//! Must not know: the meaning of a state, except that some are final.

use std::{collections::HashMap, time::Duration};

use plenary_kernel::{AgentHandle, SessionId};

use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths, StreamOptions},
    inbox::RecipientStatus,
};

/// Largest event in bytes.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// An item returned by [`ReceiptStream::next`].
#[derive(Debug)]
pub enum ReceiptSignal {
    /// A recipient whose state or reason has changed.
    Receipt(Box<RecipientStatus>),
    /// The stream is lost; it is reopened automatically.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// Follows one message. There is no background task: it works only while [`ReceiptStream::next`] is awaited.
pub struct ReceiptStream {
    feed: Feed,
    /// The last reported state of each recipient, and the reason why the message waits.
    reported: HashMap<AgentHandle, (String, Option<String>)>,
    /// Whether the stream was open since it last ended.
    is_open: bool,
}

impl ReceiptStream {
    /// Waits for the next signal; `None` when no state can change any more. May be dropped and called again without losing
    /// anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when the response is not such a stream.
    pub async fn next(&mut self) -> Result<Option<ReceiptSignal>> {
        loop {
            match self.feed.next().await? {
                FeedItem::Opened => self.is_open = true,
                FeedItem::Keepalive => {}
                FeedItem::Event(event) => {
                    let receipt: RecipientStatus = serde_json::from_str(&event.data)
                        .map_err(|error| Error::Unreadable(error.to_string()))?;
                    if self.is_news(&receipt) {
                        return Ok(Some(ReceiptSignal::Receipt(Box::new(receipt))));
                    }
                }
                FeedItem::Lost { .. } if self.is_open && self.is_over() => return Ok(None),
                FeedItem::Lost { reason, retry_in } => {
                    self.is_open = false;
                    return Ok(Some(ReceiptSignal::Lost { reason, retry_in }));
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
        let paths = Paths { first: path.clone(), resumed: path };
        let feed = Feed::new(self.clone(), paths, None, EVENT_BYTES_MAX, options);
        ReceiptStream { feed, reported: HashMap::new(), is_open: false }
    }
}
