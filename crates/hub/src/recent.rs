//! The end of the log for one follower: the recently committed events of its kinds, in order. Bounded: older ones are
//! read from the log again.
//! Must not know: the follower, and its purpose.

use std::collections::VecDeque;

use plenary_kernel::Position;
use plenary_log::StoredEvent;

/// The recently committed events.
#[derive(Debug)]
pub struct Recent {
    bytes_max: usize,
    events: VecDeque<StoredEvent>,
    bytes: usize,
    /// `events` has all events after this position up to `until`; `None` before the first event.
    from: Option<Position>,
    until: Position,
}

fn bytes(event: &StoredEvent) -> usize {
    event.envelope.len() + event.payload.len() + event.stream.as_str().len()
}

impl Recent {
    /// An empty one that keeps at most this many bytes of events.
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, events: VecDeque::new(), bytes: 0, from: None, until: Position(0) }
    }

    /// Adds the relevant events of a group that reaches from `first` to `last`. Groups come in order and
    /// without gaps.
    pub fn push(&mut self, first: Position, last: Position, events: impl IntoIterator<Item = StoredEvent>) {
        self.from.get_or_insert(Position(first.0.saturating_sub(1)));
        for event in events {
            self.bytes += bytes(&event);
            self.events.push_back(event);
        }
        self.until = last;
        while self.bytes > self.bytes_max && self.drop_first() {}
    }

    /// At most `max` events after a position, and the position up to which they reach; `None` if the log
    /// must be read.
    pub fn after(&self, position: Position, max: usize) -> Option<(Vec<StoredEvent>, Position)> {
        if self.from.is_none_or(|from| position < from) {
            return None;
        }
        let begin = self.events.partition_point(|event| event.position <= position);
        let found: Vec<_> = self.events.range(begin..).take(max).cloned().collect();
        let is_all = begin + found.len() == self.events.len();
        let until = if is_all { self.until } else { found.last().map_or(position, |last| last.position) };
        Some((found, until.max(position)))
    }

    /// Drops the events up to a position, which no reader needs again.
    pub fn forget(&mut self, position: Position) {
        while self.events.front().is_some_and(|event| event.position <= position) && self.drop_first() {}
    }

    fn drop_first(&mut self) -> bool {
        let Some(dropped) = self.events.pop_front() else { return false };
        self.bytes -= bytes(&dropped);
        self.from = Some(dropped.position);
        true
    }

    /// The position after which no event is missing; `None` before the first event.
    pub const fn from(&self) -> Option<Position> {
        self.from
    }

    /// The bytes of the events.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The events, the oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &StoredEvent> + ExactSizeIterator {
        self.events.iter()
    }
}
