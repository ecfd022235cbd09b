//! A run's live events, across disconnects, each once, until the run ends.
//! Must not know: the use of an event.

use std::time::Duration;

use super::{RunEvent, calls::at};
use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths},
    frames::StreamOptions,
};

/// Most bytes of one event: the largest members of one and what all have, twice.
const EVENT_OCTETS_MAX: usize = 4 << 20;

/// What [`RunStream::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The stream stands, without a gap to what was read before but for text that was being made meanwhile.
    Opened,
    /// An event, or a piece of text.
    Event(Box<RunEvent>),
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

/// A following of a run. Nothing runs in the background: it works while [`RunStream::next`] is awaited.
pub struct RunStream {
    feed: Feed,
    /// The highest id handed on.
    last: u64,
    over: bool,
}

impl RunStream {
    /// The next thing to report; `None` once RunCompleted was. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// For good: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when what answers is no event stream.
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
    /// Follows a run from its beginning, or behind the event `after`, over every break of the stream. Connects when
    /// first awaited.
    #[must_use]
    pub fn follow_run(
        &self,
        agent: &str,
        run: &str,
        after: Option<u64>,
        options: StreamOptions,
    ) -> RunStream {
        let path = format!("{}?run_id={}&stream=true", at(agent, "get_events"), segment(run));
        let paths = Paths { first: path.clone(), resumed: path };
        let resumed = after.map(|id| id.to_string());
        let feed = Feed::new(self.clone(), paths, resumed, EVENT_OCTETS_MAX, options);
        RunStream { feed, last: after.unwrap_or(0), over: false }
    }
}
