//! Recently committed events of packages that may not be in the index yet. Bounded: older ones are read from the log
//! again.
//! Must not know: the index.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use plenary_engine::Room as _;
use plenary_hub as hub;
use plenary_kernel::Position;
use plenary_log::{HighWater, StoredEvent};
use tokio::sync::Notify;

use crate::{limits::SEARCH_RECENT_OCTETS_MAX, package::room::PackageRoom};

/// How long is waited for what was committed to be seen.
const SEEN_WITHIN: Duration = Duration::from_millis(200);

/// What is known of the end of the log.
pub(super) struct Recent {
    inner: Mutex<Inner>,
    news: Notify,
    /// How far this process has seen the log.
    seen: HighWater,
}

struct Inner {
    /// Every package's event that was committed lately and was not put into the index.
    events: hub::Recent,
    /// Everything up to here is in the index.
    indexed: Position,
    /// Whether the index was asked how far it is.
    is_known: bool,
    /// Whether this process writes the index. Of another one's cursor it is not known what lies behind it.
    leads: bool,
}

impl Default for Recent {
    fn default() -> Self {
        let events = hub::Recent::new(SEARCH_RECENT_OCTETS_MAX);
        let inner = Mutex::new(Inner { events, indexed: Position(0), is_known: false, leads: false });
        Self { inner, news: Notify::new(), seen: HighWater::default() }
    }
}

impl Recent {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Takes in committed events, in order and without gaps; whether some are packages'.
    pub(super) fn push(&self, events: &[StoredEvent]) -> bool {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return false };
        let of_packages = |event: &&StoredEvent| event.stream.category() == PackageRoom::CATEGORY;
        let is_news = events.iter().any(|event| of_packages(&event));
        let ours = events.iter().filter(of_packages).cloned();
        self.inner().events.push(first.position, last.position, ours);
        self.seen(last.position);
        if is_news {
            self.news.notify_one();
        }
        is_news
    }

    /// The log is seen up to a place.
    pub(super) fn seen(&self, place: Position) {
        self.seen.raise(place);
    }

    /// Waits until a place is seen, but not for long: what was committed is seen within milliseconds.
    pub(super) async fn until(&self, place: Position) {
        let _as_far_as_it_is = self.seen.reached(place, SEEN_WITHIN).await;
    }

    /// At most `max` packages' events past a place, and how far that reaches; `None` when the log must be read.
    pub(super) fn after(&self, place: Position, max: usize) -> Option<(Vec<StoredEvent>, Position)> {
        self.inner().events.after(place, max)
    }

    /// Everything up to a place is in the index.
    pub(super) fn indexed(&self, place: Position, leads: bool) {
        let mut inner = self.inner();
        (inner.indexed, inner.leads, inner.is_known) = (place, leads, true);
        inner.events.forget(place);
    }

    /// How many events have to be looked at until everything is in the index; not none before it was asked.
    pub(super) fn lag(&self) -> u64 {
        let inner = self.inner();
        if !inner.is_known {
            return 1 + inner.events.events().len() as u64;
        }
        let from = inner.events.from().filter(|_| inner.leads);
        let unread = from.map_or(0, |from| from.0.saturating_sub(inner.indexed.0));
        unread + inner.events.events().len() as u64
    }

    /// The streams' ids of what may not be in the index yet, the newest first, each once.
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

    /// Waits for a package's event. One that came since the last wait counts.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    fn event(position: u64, category: &str, octets: usize) -> StoredEvent {
        StoredEvent {
            position: Position(position),
            stream: StreamName::new(category, &format!("p/{position}")),
            version: Version(1),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: bytes::Bytes::new(),
            payload: vec![0; octets].into(),
        }
    }

    fn after(recent: &Recent, place: u64, max: usize) -> Option<(Vec<u64>, u64)> {
        let (events, until) = recent.after(Position(place), max)?;
        Some((events.iter().map(|event| event.position.0).collect(), until.0))
    }

    #[test]
    fn what_was_seen_is_given_and_what_was_not_is_read() {
        let recent = Recent::default();
        assert_eq!((after(&recent, 0, 9), recent.lag()), (None, 1));
        assert!(!recent.push(&[event(11, "sessions.session", 1)]));
        assert!(recent.push(&[
            event(12, "context.package", 1),
            event(13, "t.t", 1),
            event(14, "context.package", 1),
            event(15, "t.t", 1),
        ]));
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
    fn past_its_octets_the_oldest_fall_out_and_are_read_again() {
        let recent = Recent::default();
        recent.push(&[event(1, "context.package", 1), event(2, "context.package", 1)]);
        recent.push(&[event(3, "context.package", SEARCH_RECENT_OCTETS_MAX - 50)]);
        assert_eq!(after(&recent, 0, 9), None);
        assert_eq!(after(&recent, 1, 9), Some((vec![2, 3], 3)));
        recent.indexed(Position(0), true);
        assert_eq!(recent.lag(), 1 + 2, "one to read, two at hand");
        recent.indexed(Position(0), false);
        assert_eq!(recent.lag(), 2);
    }
}
