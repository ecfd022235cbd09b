//! A run's live events across disconnects, each exactly once, until the run ends.
//! Must not know: the use of an event.

use std::time::Duration;

use super::{RunEvent, calls::agent_path};
use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths},
    frames::StreamOptions,
};

/// Largest event in bytes: twice the largest members of one event and the common ones.
const EVENT_BYTES_MAX: usize = 4 << 20;

/// An item returned by [`RunStream::next`].
#[derive(Debug)]
pub enum Signal {
    /// The stream is open, without a gap after the events read before; only text deltas sent meanwhile are missing.
    Opened,
    /// An event, or a text delta.
    Event(Box<RunEvent>),
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

/// Follows a run. There is no background task: it works only while [`RunStream::next`] is awaited.
pub struct RunStream {
    feed: Feed,
    /// The highest id returned so far.
    last: u64,
    over: bool,
}

impl RunStream {
    /// Waits for the next signal; `None` after RunCompleted. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when the response is not an event stream.
    pub async fn next(&mut self) -> Result<Option<Signal>> {
        while !self.over {
            let signal = match self.feed.next().await? {
                FeedItem::Opened => Signal::Opened,
                FeedItem::Keepalive => Signal::Keepalive,
                FeedItem::Lost { reason, retry_in } => Signal::Lost { reason, retry_in },
                FeedItem::Event(event) => match RunEvent::read(&event.data) {
                    Err(error) => Signal::Unreadable(error),
                    Ok(event) if event.id.is_some_and(|id| id <= self.last) => continue,
                    Ok(event) => {
                        self.last = event.id.unwrap_or(self.last);
                        self.over = event.finish_reason().is_some();
                        Signal::Event(Box::new(event))
                    }
                },
            };
            return Ok(Some(signal));
        }
        Ok(None)
    }
}

impl Client {
    /// Follows a run from its beginning, or after the event `after`, and reconnects after every failure. Connects when
    /// first awaited.
    pub fn follow_run(
        &self,
        agent: &str,
        run: &str,
        after: Option<u64>,
        options: StreamOptions,
    ) -> RunStream {
        let path = format!("{}?run_id={}&stream=true", agent_path(agent, "get_events"), segment(run));
        let paths = Paths { first: path.clone(), resumed: path };
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), paths, resumed, EVENT_BYTES_MAX, options);
        RunStream { feed, last: after.unwrap_or(0), over: false }
    }
}
