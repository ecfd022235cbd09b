//! The number of events to read at a time. Event sizes differ by a factor of a thousand: a fixed count
//! could take gigabytes. So it begins small and adapts to the sizes.

use crate::StoredEvent;

/// The target size of one read, in bytes.
const BYTES: usize = 512 << 10;
/// The number of events of the first read.
const FIRST: usize = 16;
/// Most events of one read.
const MOST: usize = 512;

/// The size of the next read of one reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(usize);

impl Default for PageSize {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl PageSize {
    /// The number of events to request.
    pub fn events(self) -> usize {
        self.0
    }

    /// Adapts to the events of a read.
    pub fn learn(&mut self, events: &[StoredEvent]) {
        let bytes: usize = events.iter().map(StoredEvent::bytes).sum();
        if bytes > BYTES {
            self.0 = (self.0 / 4).max(1);
        } else if events.len() >= self.0 && bytes < BYTES / 2 {
            self.0 = (self.0 * 2).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Position, TimestampMs, Version};

    use super::*;
    use crate::StreamName;

    fn events(count: usize, bytes: usize) -> Vec<StoredEvent> {
        let event = StoredEvent {
            position: Position(1),
            stream: StreamName::new("t.t", "a"),
            version: Version(1),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: bytes::Bytes::new(),
            payload: vec![0; bytes].into(),
        };
        vec![event; count]
    }

    #[test]
    fn small_events_are_read_by_the_hundred_and_large_ones_one_by_one() {
        let mut size = PageSize::default();
        for _ in 0..10 {
            size.learn(&events(size.events(), 300));
        }
        assert_eq!(size.events(), MOST);
        for _ in 0..10 {
            size.learn(&events(size.events(), 1 << 20));
        }
        assert_eq!(size.events(), 1);
        size.learn(&events(0, 0));
        assert_eq!(size.events(), 1, "a short read says nothing about size");
    }
}
