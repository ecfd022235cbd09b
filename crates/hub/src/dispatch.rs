//! The one reader of the feed: every committed event, in position order, to everyone who wants to know.

use std::{future::Future, pin::Pin, sync::Arc};

use plenary_log::{Feed, StoredEvent};

use crate::Presence;

/// Somebody who wants to know of committed events.
pub trait Observer: Send + Sync + 'static {
    /// A group of committed events, in position order. Must not wait for an append.
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Runs until the feed ends. When a group was handed to everyone, `presence` is told how far that is.
pub async fn dispatch(mut feed: Feed, presence: Arc<Presence>, observers: Vec<Arc<dyn Observer>>) {
    while let Some(events) = feed.next().await {
        for observer in &observers {
            observer.committed(&events).await;
        }
        if let Some(last) = events.last() {
            presence.mark_dispatched(last.position);
        }
    }
}
