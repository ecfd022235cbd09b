//! The events of the last commits, so that a follower of a new stream need not read the file for events of which it
//! was just notified.
//! Must not know: the list of streams, SQLite.

use std::{collections::VecDeque, sync::Arc};

use plenary_log::StoredEvent;

/// Most bytes of events that are kept; one larger commit is kept whole.
const BYTES_MAX: usize = 2 << 20;
/// The overhead of an event besides its bytes.
const EVENT_BYTES: usize = 256;

/// Recent commits, contiguous by position.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    commits: VecDeque<(Arc<[StoredEvent]>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Adds a commit; returns the dropped ones.
    pub(crate) fn push(&mut self, events: &Arc<[StoredEvent]>) -> Vec<Arc<[StoredEvent]>> {
        let mut dropped = Vec::new();
        if events.is_empty() {
            return dropped;
        }
        let bytes = events.iter().map(|event| EVENT_BYTES + event.envelope.len() + event.payload.len()).sum();
        self.commits.push_back((events.clone(), bytes));
        self.bytes += bytes;
        while self.bytes > BYTES_MAX
            && self.commits.len() > 1
            && let Some((events, bytes)) = self.commits.pop_front()
        {
            self.bytes -= bytes;
            dropped.push(events);
        }
        dropped
    }

    pub(crate) fn at(&self, position: i64) -> Option<&StoredEvent> {
        let position = position.cast_unsigned();
        let first = |events: &Arc<[StoredEvent]>| events.first().map_or(0, |event| event.position.0);
        let end = self.commits.partition_point(|(events, _)| first(events) <= position);
        let (events, _) = self.commits.get(end.checked_sub(1)?)?;
        events.get(usize::try_from(position - first(events)).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plenary_kernel::{Position, TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    fn commit(positions: std::ops::Range<u64>, bytes: usize) -> Arc<[StoredEvent]> {
        let event = |position| StoredEvent {
            position: Position(position),
            stream: StreamName::new("t.t", "a"),
            version: Version(position),
            kind: "K".into(),
            form: 1,
            at: TimestampMs(0),
            envelope: Bytes::new(),
            payload: vec![0; bytes].into(),
        };
        positions.map(event).collect()
    }

    fn positions_of(recent: &Recent) -> Vec<u64> {
        (0..200).filter_map(|at| Some(recent.at(at)?.position.0)).collect()
    }

    #[test]
    fn events_are_found_by_their_positions() {
        let mut recent = Recent::default();
        for positions in [7..8, 8..8, 8..11, 11..12] {
            assert!(recent.push(&commit(positions, 1)).is_empty());
        }
        assert_eq!(positions_of(&recent), [7, 8, 9, 10, 11]);
        for at in 7..12 {
            assert_eq!(recent.at(at).unwrap().position.0, at.cast_unsigned());
        }
    }

    #[test]
    fn past_their_bytes_the_oldest_commits_go() {
        let mut recent = Recent::default();
        let quarter = BYTES_MAX / 4;
        for at in 1..=9 {
            recent.push(&commit(at..at + 1, quarter));
        }
        assert_eq!(positions_of(&recent), [7, 8, 9]);
        let dropped = recent.push(&commit(10..12, BYTES_MAX));
        assert_eq!(
            (dropped.len(), positions_of(&recent)),
            (3, vec![10, 11]),
            "one commit is kept however large"
        );
    }
}
