//! A project's live events, across disconnects.
//! Must not know: the use of an event.

use std::time::Duration;

use super::path::{Query, project};
use crate::{
    Client, Result,
    feed::{Feed, FeedItem, Paths, StreamOptions},
    sse::SseEvent,
};

/// Most bytes of one event: the largest body a server takes, twice.
const EVENT_OCTETS_MAX: usize = 2 << 20;

/// What happened in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEvent {
    /// Where to go on behind it.
    pub id: Option<String>,
    /// What happened, e.g. `package.deposited`.
    pub name: String,
    /// JSON, on one line.
    pub json: String,
}

/// What [`ContextStream::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The stream stands.
    Opened,
    /// Something happened.
    Event(ContextEvent),
    /// The server is there, and has nothing to say for now.
    Keepalive,
    /// The stream is gone and will be opened again by itself, behind what was read.
    Lost {
        /// Why, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// A following of a project. Nothing runs in the background: it works while [`ContextStream::next`] is awaited.
pub struct ContextStream(Feed);

impl ContextStream {
    pub(crate) fn of(feed: Feed) -> Self {
        Self(feed)
    }

    /// The next thing to report. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// For good: [`crate::Error::Refused`] when the server refuses the stream, [`crate::Error::Network`] when it was
    /// never reached, [`crate::Error::Unreadable`] when what answers is no event stream.
    pub async fn next(&mut self) -> Result<Signal> {
        Ok(match self.0.next().await? {
            FeedItem::Opened => Signal::Opened,
            FeedItem::Keepalive => Signal::Keepalive,
            FeedItem::Lost { reason, retry_in } => Signal::Lost { reason, retry_in },
            FeedItem::Event(SseEvent { id, name, data }) => {
                Signal::Event(ContextEvent { id, name, json: data.replace(['\n', '\r'], " ") })
            }
        })
    }
}

impl Client {
    /// Follows a project, over every break of the stream, behind the event of this id where one is given: all that
    /// happens, or these types, separated by commas. Connects when first awaited.
    #[must_use]
    pub fn context_events(
        &self,
        project_id: &str,
        types: Option<&str>,
        after: Option<String>,
        options: StreamOptions,
    ) -> ContextStream {
        let path = Query::default().text("types", types).of(&project(project_id, "/events"));
        let paths = Paths { first: path.clone(), resumed: path };
        ContextStream(Feed::new(self.clone(), paths, after, EVENT_OCTETS_MAX, options))
    }
}
