//! Recently committed events that may not be in the index yet. Bounded: older ones are read from the log again.
//! Must not know: the index.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use plenary_hub as hub;
use plenary_kernel::Position;
use plenary_log::{HighWater, StoredEvent, StreamName};
use tokio::sync::Notify;

use crate::RECENT_BYTES_MAX;

/// How long to wait until this process has seen committed events.
const SEEN_WITHIN: Duration = Duration::from_millis(200);

/// The recent end of the log, as far as this process has seen it.
pub(super) struct Recent {
    inner: Mutex<Inner>,
    news: Notify,
    /// Signals that many events wait.
    plenty: Notify,
    /// So many events are many.
    plenty_events: usize,
    /// The position up to which this process has seen the log.
    seen: HighWater,
}

struct Inner {
    /// Recently committed events of the indexed streams that are not in the index.
    events: hub::Recent,
    /// The index contains all events up to here.
    indexed: Position,
    /// Whether the progress of the index is known.
    is_known: bool,
    /// Whether this process writes the index. If another one does, the events after its cursor are not known
    /// here.
    leads: bool,
}

impl Recent {
    /// An empty one, which signals when this many events wait.
    pub(super) fn new(plenty_events: usize) -> Self {
        let events = hub::Recent::new(RECENT_BYTES_MAX);
        let inner = Mutex::new(Inner { events, indexed: Position(0), is_known: false, leads: false });
        let (news, plenty) = (Notify::new(), Notify::new());
        Self { inner, news, plenty, plenty_events, seen: HighWater::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Adds committed events, in order and without gaps. Returns whether some belong to indexed streams.
    pub(super) fn push(&self, events: &[StoredEvent], holds: &dyn Fn(&StreamName) -> bool) -> bool {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return false };
        let is_news = events.iter().any(|event| holds(&event.stream));
        let relevant = events.iter().filter(|event| holds(&event.stream)).cloned();
        let mut inner = self.inner();
        inner.events.push(first.position, last.position, relevant);
        let is_plenty =
            inner.events.events().len() >= self.plenty_events || inner.events.bytes() >= RECENT_BYTES_MAX / 2;
        drop(inner);
        self.seen(last.position);
        if is_news {
            self.news.notify_one();
        }
        if is_news && is_plenty {
            self.plenty.notify_one();
        }
        is_news
    }

    /// Notes that this process has seen the log up to `position`.
    pub(super) fn seen(&self, position: Position) {
        self.seen.raise(position);
    }

    /// Waits until `position` is seen, up to a limit; usually that takes milliseconds.
    pub(super) async fn until(&self, position: Position) {
        let _as_far_as_it_is = self.seen.reached(position, SEEN_WITHIN).await;
    }

    /// At most `max` events after a position, and the position that they reach; `None` if the log must be read.
    pub(super) fn after(&self, position: Position, max: usize) -> Option<(Vec<StoredEvent>, Position)> {
        self.inner().events.after(position, max)
    }

    /// Notes that the index contains all events up to `position`, and whether this process leads.
    pub(super) fn indexed(&self, position: Position, leads: bool) {
        let mut inner = self.inner();
        (inner.indexed, inner.leads, inner.is_known) = (position, leads, true);
        inner.events.forget(position);
    }

    /// Number of events still to be indexed; above 0 while the progress of the index is unknown.
    pub(super) fn lag(&self) -> u64 {
        let inner = self.inner();
        if !inner.is_known {
            return 1 + inner.events.events().len() as u64;
        }
        // Before the first commit the log alone has what is not indexed.
        let from = inner.events.from().unwrap_or_else(|| self.seen.position());
        let unread = if inner.leads { from.0.saturating_sub(inner.indexed.0) } else { 0 };
        unread + inner.events.events().len() as u64
    }

    /// The ids of the streams with events that may not be in the index yet, newest first, each once.
    pub(super) fn waiting(&self, max: usize) -> Vec<String> {
        let inner = self.inner();
        let mut ids = Vec::<String>::new();
        for event in inner.events.events().rev() {
            if ids.len() == max {
                break;
            }
            if !ids.iter().any(|id| id == event.stream.id()) {
                ids.push(event.stream.id().to_owned());
            }
        }
        ids
    }

    /// Waits for an event. An event since the last wait counts.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Waits until many events wait, before the oldest of them fall out.
    pub(super) async fn plenty(&self) {
        self.plenty.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    const PLENTY: usize = 4;

    fn event(position: u64, category: &str, bytes: usize) -> StoredEvent {
        StoredEvent {
            position: Position(position),
            stream: StreamName::new(category, &format!("p/{position}")),
            version: Version(1),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: "".into(),
            payload: vec![0; bytes].into(),
        }
    }

    fn push(recent: &Recent, events: &[StoredEvent]) -> bool {
        recent.push(events, &|stream| stream.category() == "context.package")
    }

    fn after(recent: &Recent, position: u64, max: usize) -> Option<(Vec<u64>, u64)> {
        let (events, until) = recent.after(Position(position), max)?;
        Some((events.iter().map(|event| event.position.0).collect(), until.0))
    }

    #[test]
    fn seen_events_are_returned_and_others_are_read() {
        let recent = Recent::new(PLENTY);
        assert_eq!((after(&recent, 0, 9), recent.lag()), (None, 1));
        assert!(!push(&recent, &[event(11, "sessions.session", 1)]));
        assert!(push(
            &recent,
            &[
                event(12, "context.package", 1),
                event(13, "t.t", 1),
                event(14, "context.package", 1),
                event(15, "t.t", 1),
            ]
        ));
        assert_eq!(after(&recent, 9, 9), None, "nobody has seen 10");
        assert_eq!(after(&recent, 10, 9), Some((vec![12, 14], 15)));
        assert_eq!(
            after(&recent, 10, 1),
            Some((vec![12], 12)),
            "13 is not passed over with what is left out"
        );
        assert_eq!(after(&recent, 14, 9), Some((vec![], 15)));
        assert_eq!(recent.waiting(9), ["p/14", "p/12"]);
        recent.indexed(Position(10), true);
        assert_eq!(recent.lag(), 2);
        recent.indexed(Position(12), true);
        assert_eq!((recent.lag(), recent.waiting(9)), (1, vec!["p/14".to_owned()]));
        assert_eq!(after(&recent, 12, 9), Some((vec![14], 15)));
        recent.indexed(Position(15), true);
        assert_eq!(recent.lag(), 0);
    }

    #[test]
    fn past_its_bytes_the_oldest_fall_out_and_are_read_again() {
        let recent = Recent::new(PLENTY);
        push(&recent, &[event(1, "context.package", 1), event(2, "context.package", 1)]);
        push(&recent, &[event(3, "context.package", RECENT_BYTES_MAX - 50)]);
        assert_eq!(after(&recent, 0, 9), None);
        assert_eq!(after(&recent, 1, 9), Some((vec![2, 3], 3)));
        recent.indexed(Position(0), true);
        assert_eq!(recent.lag(), 1 + 2, "one to read, two at hand");
        recent.indexed(Position(0), false);
        assert_eq!(recent.lag(), 2);
    }

    #[tokio::test]
    async fn many_events_or_bytes_are_signalled() {
        let is_signalled =
            async |recent: &Recent| tokio::time::timeout(Duration::ZERO, recent.plenty()).await.is_ok();
        let package = |position| event(position, "context.package", 1);
        let recent = Recent::new(PLENTY);
        push(&recent, &[package(1), package(2), package(3), event(4, "t.t", 1)]);
        assert!(!is_signalled(&recent).await, "few wait");
        push(&recent, &[package(5)]);
        assert!(is_signalled(&recent).await && !is_signalled(&recent).await);
        recent.indexed(Position(5), true);
        push(&recent, &[event(6, "context.package", RECENT_BYTES_MAX / 2)]);
        assert!(is_signalled(&recent).await, "many bytes wait");
    }

    #[test]
    fn before_the_first_commit_the_rest_of_the_log_is_still_to_be_indexed() {
        let recent = Recent::new(PLENTY);
        recent.seen(Position(40));
        recent.indexed(Position(30), true);
        assert_eq!(recent.lag(), 10);
        recent.indexed(Position(40), true);
        assert_eq!(recent.lag(), 0);
        push(&recent, &[event(41, "context.package", 1)]);
        assert_eq!(recent.lag(), 1);
    }
}
