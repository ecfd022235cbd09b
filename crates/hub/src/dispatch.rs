//! The one reader of the feed: hands every committed event, in position order, to all observers.

use async_trait::async_trait;
use std::{sync::Arc, time::Duration};

use plenary_log::{Feed, StoredEvent};
use tokio::time::{Instant, sleep_until};

use crate::Presence;

/// The least time between two rounds. An event after a pause is dispatched at once; events that follow
/// closely are dispatched together.
const SPACING: Duration = Duration::from_millis(1);
/// Each event of a round delays the next round by this much: under load, a reader gets more events with
/// one wake-up.
const SPACING_PER_EVENT: Duration = Duration::from_micros(100);
/// The longest delay of a round.
const SPACING_MAX: Duration = Duration::from_millis(10);
/// Most events that are dispatched together; a single larger group is not split.
const ROUND_EVENTS_MAX: usize = 4_096;

/// A callback for committed events.
#[async_trait]
pub trait Observer: Send + Sync + 'static {
    /// A group of committed events, in position order. Must not wait for an append.
    async fn committed(&self, events: &[StoredEvent]);
}

/// Runs until the feed ends. Reports the position to `presence` after every observer got the group.
pub async fn dispatch(mut feed: Feed, presence: Arc<Presence>, observers: Vec<Arc<dyn Observer>>) {
    while let Some(first) = feed.next().await {
        let began = Instant::now();
        let events = feed.joined(first, ROUND_EVENTS_MAX);
        for observer in &observers {
            observer.committed(&events).await;
        }
        if let Some(last) = events.last() {
            presence.mark_dispatched(last.position);
        }
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let spacing = SPACING.saturating_add(SPACING_PER_EVENT.saturating_mul(count)).min(SPACING_MAX);
        sleep_until(began + spacing).await;
    }
}
