//! A project's live events, across disconnects.
//! Must not know: the use of an event.

use super::path::project;
use crate::{Client, Result, Signal, StreamOptions, feed::Feed, query::Query, sse::SseEvent};

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

/// Follows a project.
pub struct ContextStream(Feed);

impl ContextStream {
    pub(crate) fn of(feed: Feed) -> Self {
        Self(feed)
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Signal<ContextEvent>> {
        let on_one_line = |SseEvent { id, name, data }: SseEvent| {
            Ok(ContextEvent { id, name, json: data.replace(['\n', '\r'], " ") })
        };
        Ok(self.0.next().await?.read(on_one_line))
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
        let path = Query::of(project(project_id, "/events")).with("types", types).path();
        ContextStream(Feed::new(self.clone(), path, after, EVENT_BYTES_MAX, options))
    }
}
