//! The shared tail: recently committed events of streams with live readers, encoded once for all of them. A reader
//! that falls behind it reads storage.

use std::{collections::VecDeque, sync::Arc};

use hashbrown::HashMap;
use parking_lot::Mutex;
use plenary_kernel::Version;
use plenary_log::{StoredEvent, StreamName};

/// An event with `E`, its encoding for a protocol, computed once.
#[derive(Debug)]
pub struct Row<E> {
    /// The event.
    pub event: StoredEvent,
    /// The encoding.
    pub encoded: E,
}

impl<E: Default> From<StoredEvent> for Row<E> {
    fn from(event: StoredEvent) -> Self {
        Self { event, encoded: E::default() }
    }
}

/// Recent events by stream.
#[derive(Debug)]
pub struct Tail<E> {
    inner: Mutex<Inner<E>>,
    bytes_max: usize,
}

#[derive(Debug)]
struct Inner<E> {
    streams: HashMap<StreamName, VecDeque<Arc<Row<E>>>>,
    /// The order in which events were added, including dropped ones.
    order: VecDeque<(StreamName, Version)>,
    /// How many entries of `order` belong to dropped events.
    dropped: usize,
    bytes: usize,
}

/// Most entries of dropped events, unless more events are present.
const DROPPED_MAX: usize = 64;

fn bytes(event: &StoredEvent) -> usize {
    // Up to three encodings may be attached to it.
    512 + 4 * (event.envelope.len() + event.payload.len())
}

impl<E: Default> Tail<E> {
    /// An empty tail that holds about this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        let inner = Inner { streams: HashMap::new(), order: VecDeque::new(), dropped: 0, bytes: 0 };
        Self { inner: Mutex::new(inner), bytes_max }
    }

    /// Adds committed events of one stream, in order.
    pub fn push<'a>(&self, events: impl Iterator<Item = &'a StoredEvent>) {
        let mut inner = self.inner.lock();
        for event in events {
            inner.push(event);
        }
        inner.shrink(self.bytes_max);
    }

    /// Up to `max` events after `after`; `None` if the tail does not reach back that far.
    pub fn read(&self, stream: &StreamName, after: Version, max: usize) -> Option<Vec<Arc<Row<E>>>> {
        let inner = self.inner.lock();
        let rows = inner.streams.get(stream)?;
        let first = rows.front()?.event.version;
        let skip = usize::try_from(after.next().0.checked_sub(first.0)?).ok()?;
        if skip >= rows.len() {
            return None;
        }
        Some(rows.iter().skip(skip).take(max).cloned().collect())
    }
}

impl<E: Default> Inner<E> {
    fn push(&mut self, event: &StoredEvent) {
        let rows = self.streams.entry(event.stream.clone()).or_default();
        if let Some(last) = rows.back()
            && last.event.version.next() != event.version
        {
            // No reader wanted the events between: the run begins anew.
            self.bytes -= rows.iter().map(|row| bytes(&row.event)).sum::<usize>();
            self.dropped += rows.len();
            rows.clear();
        }
        self.bytes += bytes(event);
        rows.push_back(Arc::new(Row::from(event.clone())));
        self.order.push_back((event.stream.clone(), event.version));
        if self.dropped > DROPPED_MAX.max(self.order.len() / 2) {
            let streams = &self.streams;
            self.order.retain(|(stream, version)| {
                let first = streams.get(stream).and_then(VecDeque::front);
                first.is_some_and(|row| row.event.version <= *version)
            });
            self.dropped = 0;
        }
    }

    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max {
            let Some((stream, version)) = self.order.pop_front() else { return };
            let rows = self.streams.get_mut(&stream);
            let Some(rows) = rows.filter(|rows| rows.front().is_some_and(|row| row.event.version == version))
            else {
                self.dropped = self.dropped.saturating_sub(1);
                continue;
            };
            if let Some(row) = rows.pop_front() {
                self.bytes -= bytes(&row.event);
            }
            if rows.is_empty() {
                self.streams.remove(&stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Position, TimestampMs};

    use super::*;

    fn event(stream: &str, version: u64) -> StoredEvent {
        StoredEvent {
            position: Position(version),
            stream: StreamName::new("t.t", stream),
            version: Version(version),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: bytes::Bytes::new(),
            payload: bytes::Bytes::from_static(&[0; 100]),
        }
    }

    fn versions(tail: &Tail<()>, stream: &str, after: u64) -> Option<Vec<u64>> {
        let rows = tail.read(&StreamName::new("t.t", stream), Version(after), 10)?;
        Some(rows.iter().map(|row| row.event.version.0).collect())
    }

    #[test]
    fn a_reader_gets_the_events_after_its_cursor_or_nothing() {
        let tail = Tail::<()>::new(1 << 20);
        tail.push([event("a", 4), event("a", 5), event("b", 1)].iter());
        assert_eq!(versions(&tail, "a", 3), Some(vec![4, 5]));
        assert_eq!(versions(&tail, "a", 4), Some(vec![5]));
        assert_eq!(versions(&tail, "a", 2), None, "3 is not there: storage has it");
        assert_eq!(versions(&tail, "a", 5), None);
        assert_eq!(versions(&tail, "c", 0), None);
    }

    #[test]
    fn a_run_with_a_hole_begins_anew() {
        let tail = Tail::<()>::new(1 << 20);
        tail.push([event("a", 1), event("a", 2), event("a", 5)].iter());
        assert_eq!(versions(&tail, "a", 0), None);
        assert_eq!(versions(&tail, "a", 4), Some(vec![5]));
    }

    #[test]
    fn past_its_limit_the_oldest_go() {
        let tail = Tail::<()>::new(10 * bytes(&event("a", 1)));
        for version in 1..=100 {
            tail.push([event("a", version)].iter());
        }
        assert_eq!(versions(&tail, "a", 89), None);
        assert_eq!(versions(&tail, "a", 90).map(|v| v.len()), Some(10));
    }

    #[test]
    fn a_run_that_begins_anew_drops_the_former_one() {
        let tail = Tail::<()>::new(1 << 20);
        tail.push([event("idle", 1)].iter());
        // A reader comes and goes, and each time the run begins anew.
        for version in (1..40_000).step_by(2) {
            tail.push([event("a", version)].iter());
        }
        let inner = tail.inner.lock();
        assert_eq!(inner.streams.values().map(VecDeque::len).sum::<usize>(), 2);
        assert!(inner.order.len() < 100, "{} places are remembered for 2 events", inner.order.len());
        assert_eq!(inner.bytes, 2 * bytes(&event("a", 1)));
    }

    #[test]
    fn past_its_limit_a_run_that_began_anew_goes_in_its_own_turn() {
        let tail = Tail::<()>::new(3 * bytes(&event("a", 1)));
        tail.push([event("a", 1), event("b", 1), event("a", 7), event("b", 2), event("c", 1)].iter());
        assert_eq!(versions(&tail, "b", 0), None, "the oldest went");
        assert_eq!(versions(&tail, "a", 6), Some(vec![7]));
        assert_eq!(versions(&tail, "b", 1), Some(vec![2]));
    }
}
