//! The one reader of the feed: hands every committed event, in position order, to all observers.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use plenary_log::{Feed, StoredEvent};
use tokio::time::{Instant, sleep_until};

use crate::Presence;

/// The least time between two rounds of waking readers. An event that comes after a pause goes out at once; what
/// comes sooner after another is handed out together with what comes meanwhile.
const SPACING: Duration = Duration::from_millis(1);
/// For each event of a round the next one is put off by so much more: the higher the load, the more a reader gets
/// with one wake-up.
const SPACING_PER_EVENT: Duration = Duration::from_micros(25);
/// The most that a round is put off.
const SPACING_MAX: Duration = Duration::from_millis(10);
/// Most events that are handed out together, but for a single group that is larger.
const ROUND_EVENTS_MAX: usize = 4_096;

/// Somebody who wants to know of committed events.
pub trait Observer: Send + Sync + 'static {
    /// A group of committed events, in position order. Must not wait for an append.
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Runs until the feed ends. After each group was handed to every observer, it reports the position to `presence`.
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
