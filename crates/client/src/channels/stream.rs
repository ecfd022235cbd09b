//! A channel's live events, across disconnects, each once.
//! Must not know: the use of an event.

use std::time::Duration;

use super::ChannelEvent;
use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths, StreamOptions},
};

/// Most bytes of one event: the largest body a server takes, twice.
const EVENT_OCTETS_MAX: usize = 2 << 20;

/// What to follow.
#[derive(Debug, Clone)]
pub struct ChannelSubscription {
    /// The channel.
    pub id: String,
    /// Only events of this kind.
    pub kind: Option<String>,
    /// Begin behind this event; absent: from now on.
    pub after: Option<u64>,
}

/// What [`ChannelStream::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The stream stands, without a gap to what was read before.
    Opened,
    /// An event.
    Event(Box<ChannelEvent>),
    /// The server is there, and has nothing to say for now.
    Keepalive,
    /// An event that was not understood; the following goes on.
    Unreadable(Error),
    /// The stream is gone and will be opened again by itself, behind what was read.
    Lost {
        /// Why, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// A following of a channel. Nothing runs in the background: it works while [`ChannelStream::next`] is awaited.
pub struct ChannelStream {
    feed: Feed,
    /// The highest id handed on.
    last: u64,
}

impl ChannelStream {
    /// The next thing to report. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// For good: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when what answers is no event stream.
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
    /// Follows a channel, over every break of the stream. Connects when first awaited.
    #[must_use]
    pub fn channel(&self, subscription: &ChannelSubscription, options: StreamOptions) -> ChannelStream {
        let ChannelSubscription { id, kind, after } = subscription;
        let kind = kind.as_ref().map(|kind| format!("?kind={}", segment(kind))).unwrap_or_default();
        let path = self.at(id, &format!("/events/stream{kind}"));
        let paths = Paths { first: path.clone(), resumed: path };
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), paths, resumed, EVENT_OCTETS_MAX, options);
        ChannelStream { feed, last: after.unwrap_or(0) }
    }
}
