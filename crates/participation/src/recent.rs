//! Events that were committed lately and concern an agent. Bounded: what falls out is read from the log again.
//! Must not know: what becomes of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use plenary_kernel::Position;
use plenary_log::StoredEvent;
use tokio::sync::Notify;

use crate::limits::RECENT_OCTETS_MAX;

/// What is known of the end of the log.
#[derive(Default)]
pub(crate) struct Recent {
    inner: Mutex<Inner>,
    /// Something concerns an agent.
    pub(crate) news: Notify,
}

#[derive(Default)]
struct Inner {
    events: VecDeque<StoredEvent>,
    octets: usize,
    /// Everything that concerns an agent past this and up to `until` is in `events`; none before the first event.
    from: Option<Position>,
    until: Position,
}

fn octets(event: &StoredEvent) -> usize {
    event.envelope.len() + event.payload.len() + event.stream.as_str().len()
}

impl Recent {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what concerns an agent of a group that reaches from `first` to `last`, in order and without gaps.
    pub(crate) fn push(&self, first: Position, last: Position, events: Vec<StoredEvent>) {
        let is_news = !events.is_empty();
        let mut inner = self.lock();
        inner.from.get_or_insert(Position(first.0.saturating_sub(1)));
        for event in events {
            inner.octets += octets(&event);
            inner.events.push_back(event);
        }
        inner.until = last;
        while inner.octets > RECENT_OCTETS_MAX {
            let Some(gone) = inner.events.pop_front() else { break };
            inner.octets -= octets(&gone);
            inner.from = Some(gone.position);
        }
        drop(inner);
        if is_news {
            self.news.notify_one();
        }
    }

    /// What concerns an agent behind a place, and how far that reaches; `None` where the log has to be read. What stands
    /// up to there is not needed again.
    pub(crate) fn after(&self, place: Position, max: usize) -> Option<(Vec<StoredEvent>, Position)> {
        let mut inner = self.lock();
        if inner.from? > place || inner.until < place {
            return None;
        }
        while inner.events.front().is_some_and(|event| event.position <= place) {
            if let Some(gone) = inner.events.pop_front() {
                inner.octets -= octets(&gone);
                inner.from = Some(gone.position);
            }
        }
        let events: Vec<_> = inner.events.iter().take(max).cloned().collect();
        let until = if events.len() == max { events.last().map(|last| last.position) } else { None };
        Some((events, until.unwrap_or(inner.until)))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use plenary_kernel::{TimestampMs, Version};
    use plenary_log::StreamName;

    use super::*;

    fn event(position: u64, payload: usize) -> StoredEvent {
        StoredEvent {
            position: Position(position),
            stream: StreamName::new("sessions.session", "sess_1"),
            version: Version(1),
            kind: Cow::Borrowed("MessageSent"),
            form: 1,
            at: TimestampMs(0),
            envelope: bytes::Bytes::new(),
            payload: vec![0; payload].into(),
        }
    }

    fn after(recent: &Recent, place: u64, max: usize) -> Option<(Vec<u64>, u64)> {
        let (events, until) = recent.after(Position(place), max)?;
        Some((events.iter().map(|event| event.position.0).collect(), until.0))
    }

    #[test]
    fn what_is_behind_a_place_is_told_in_order_and_how_far_it_reaches() {
        let recent = Recent::default();
        assert_eq!(after(&recent, 0, 8), None, "nothing was seen yet");
        recent.push(Position(5), Position(9), vec![event(6, 1), event(8, 1)]);
        assert_eq!(after(&recent, 3, 8), None, "before it began");
        assert_eq!(after(&recent, 4, 8), Some((vec![6, 8], 9)));
        assert_eq!(after(&recent, 4, 1), Some((vec![6], 6)));
        assert_eq!(after(&recent, 6, 8), Some((vec![8], 9)));
        assert_eq!(after(&recent, 4, 8), None, "it was not needed again");
        assert_eq!(after(&recent, 9, 8), Some((vec![], 9)));
        assert_eq!(after(&recent, 10, 8), None, "the log knows more");
    }

    #[test]
    fn past_its_octets_the_log_is_read() {
        let recent = Recent::default();
        recent.push(Position(1), Position(2), vec![event(1, RECENT_OCTETS_MAX), event(2, 1)]);
        assert_eq!(after(&recent, 0, 8), None);
        assert_eq!(after(&recent, 1, 8), Some((vec![2], 2)));
    }
}
