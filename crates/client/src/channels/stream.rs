//! A channel's live events across disconnects, each exactly once.
//! Must not know: the use of an event.

use std::time::Duration;

use super::ChannelEvent;
use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths, StreamOptions},
};

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

/// An item returned by [`ChannelStream::next`].
#[derive(Debug)]
pub enum Signal {
    /// The stream is open, without a gap after the events read before.
    Opened,
    /// An event.
    Event(Box<ChannelEvent>),
    /// The server is reachable, and has no events for now.
    Keepalive,
    /// An event that could not be parsed; the stream continues.
    Unreadable(Error),
    /// The stream is lost; it is reopened automatically after the last event.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// Follows a channel. There is no background task: it works only while [`ChannelStream::next`] is awaited.
pub struct ChannelStream {
    feed: Feed,
    /// The highest id returned so far.
    last: u64,
}

impl ChannelStream {
    /// Waits for the next signal. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when the response is not an event stream.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            match self.feed.next().await? {
                FeedItem::Opened => return Ok(Signal::Opened),
                FeedItem::Keepalive => return Ok(Signal::Keepalive),
                FeedItem::Lost { reason, retry_in } => return Ok(Signal::Lost { reason, retry_in }),
                FeedItem::Event(event) => match ChannelEvent::read(&event.data) {
                    Err(error) => return Ok(Signal::Unreadable(error)),
                    Ok(event) if event.id <= self.last => {}
                    Ok(event) => {
                        self.last = event.id;
                        return Ok(Signal::Event(Box::new(event)));
                    }
                },
            }
        }
    }
}

impl Client {
    /// Follows a channel, and reconnects after every failure. Connects when first awaited.
    pub fn channel(&self, subscription: &ChannelSubscription, options: StreamOptions) -> ChannelStream {
        let ChannelSubscription { id, kind, after } = subscription;
        let kind = kind.as_ref().map(|kind| format!("?kind={}", segment(kind))).unwrap_or_default();
        let path = self.channel_path(id, &format!("/events/stream{kind}"));
        let paths = Paths { first: path.clone(), resumed: path };
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), paths, resumed, EVENT_BYTES_MAX, options);
        ChannelStream { feed, last: after.unwrap_or(0) }
    }
}
