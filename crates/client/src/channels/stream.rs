//! A channel's live events across disconnects, each exactly once.
//! Must not know: the use of an event.

use super::ChannelEvent;
use crate::{Client, Result, Signal, StreamOptions, feed::Feed, query::Query};

/// Largest event in bytes: twice the largest body that a server accepts.
const EVENT_BYTES_MAX: usize = 2 << 20;

/// Selects the events to follow.
#[derive(Debug, Clone)]
pub struct ChannelSubscription {
    /// The channel.
    pub id: String,
    /// Only events of this kind.
    pub kind: Option<String>,
    /// Start after this event; default: only new events.
    pub after: Option<u64>,
}

/// Follows a channel, without gaps.
pub struct ChannelStream {
    feed: Feed,
    /// The highest id returned so far.
    last: u64,
}

impl ChannelStream {
    /// Waits for the next signal.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Signal<ChannelEvent>> {
        loop {
            let signal = self.feed.next().await?.read(|event| ChannelEvent::read(&event.data));
            if let Signal::Event(event) = &signal {
                if event.id <= self.last {
                    continue;
                }
                self.last = event.id;
            }
            return Ok(signal);
        }
    }
}

impl Client {
    /// Follows a channel, and reconnects after every failure. Connects when first awaited.
    pub fn channel(&self, subscription: &ChannelSubscription, options: StreamOptions) -> ChannelStream {
        let ChannelSubscription { id, kind, after } = subscription;
        let path = self.channel_path(id, &Query::of("/events/stream").with("kind", kind.as_ref()).path());
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), path, resumed, EVENT_BYTES_MAX, options);
        ChannelStream { feed, last: after.unwrap_or(0) }
    }
}
