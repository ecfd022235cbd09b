//! A project's live events, across disconnects.
//! Must not know: the use of an event.

use std::time::Duration;

use super::path::{Query, project};
use crate::{
    Client, Result,
    feed::{Feed, FeedItem, Paths, StreamOptions},
    sse::SseEvent,
};

/// Largest event in bytes: twice the largest body that a server accepts.
const EVENT_BYTES_MAX: usize = 2 << 20;

/// An event of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEvent {
    /// The id to resume after.
    pub id: Option<String>,
    /// Its type, e.g. `package.deposited`.
    pub name: String,
    /// JSON, on one line.
    pub json: String,
}

/// An item returned by [`ContextStream::next`].
#[derive(Debug)]
pub enum Signal {
    /// The stream is open.
    Opened,
    /// An event arrived.
    Event(ContextEvent),
    /// The server is reachable, and has no events for now.
    Keepalive,
    /// The stream is lost; it is reopened automatically after the last event.
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// Follows a project. There is no background task: it works only while [`ContextStream::next`] is awaited.
pub struct ContextStream(Feed);

impl ContextStream {
    pub(crate) fn of(feed: Feed) -> Self {
        Self(feed)
    }

    /// Waits for the next signal. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`crate::Error::Refused`] when the server refuses the stream, [`crate::Error::Network`] when it
    /// was never reached, [`crate::Error::Unreadable`] when the response is not an event stream.
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
    /// Follows a project, after the event of this id if given, and reconnects after every failure: all events, or those of
    /// these types, separated by commas. Connects when first awaited.
    pub fn context_events(
        &self,
        project_id: &str,
        types: Option<&str>,
        after: Option<String>,
        options: StreamOptions,
    ) -> ContextStream {
        let path = Query::default().text("types", types).append_to(&project(project_id, "/events"));
        let paths = Paths { first: path.clone(), resumed: path };
        ContextStream(Feed::new(self.clone(), paths, after, EVENT_BYTES_MAX, options))
    }
}
