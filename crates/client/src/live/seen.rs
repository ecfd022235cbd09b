//! The events that were already returned (wire.md D.4: a client may see a duplicate, never a gap).
//! Must not know: connections.

use std::collections::{HashMap, VecDeque};

use plenary_kernel::SessionId;

use crate::Event;

/// Maximum number of remembered sessions; beyond it the oldest is dropped, which can only let a duplicate through.
const SESSIONS_MAX: usize = 10_000;
/// Maximum number of separate ranges remembered for one session; beyond it the oldest is dropped.
const STRETCHES_MAX: usize = 64;
/// Maximum number of remembered ids of events without a session.
const LOOSE_MAX: usize = 1_000;

/// Sequences as ranges `first..=last`, increasing and never adjacent. An invited agent sees 2, and when it joins 1 to
/// 9 (ASP-47): a sequence below the highest is not always a duplicate.
#[derive(Default)]
struct Stretches(Vec<(u64, u64)>);

impl Stretches {
    /// Adds a sequence; returns false if it was there already.
    fn insert(&mut self, n: u64) -> bool {
        let list = &mut self.0;
        let index = list.partition_point(|&(_, last)| last < n);
        if list.get(index).is_some_and(|&(first, _)| first <= n) {
            return false;
        }
        let joins_left = index > 0 && list[index - 1].1 + 1 == n;
        let joins_right = list.get(index).is_some_and(|&(first, _)| n + 1 == first);
        match (joins_left, joins_right) {
            (true, true) => {
                list[index - 1].1 = list[index].1;
                list.remove(index);
            }
            (true, false) => list[index - 1].1 = n,
            (false, true) => list[index].0 = n,
            (false, false) => list.insert(index, (n, n)),
        }
        if list.len() > STRETCHES_MAX {
            list.remove(0);
        }
        true
    }
}

/// The events that one follower has returned.
#[derive(Default)]
pub(super) struct SeenEvents {
    sessions: HashMap<SessionId, Stretches>,
    order: VecDeque<SessionId>,
    loose: VecDeque<String>,
}

impl SeenEvents {
    /// Adds an event; returns false if it was returned before.
    pub(super) fn is_new(&mut self, event: &Event) -> bool {
        match (&event.session_id, event.sequence) {
            (Some(session), Some(sequence)) => {
                if !self.sessions.contains_key(session) {
                    self.remember_session(session.clone());
                }
                self.sessions.entry(session.clone()).or_default().insert(sequence)
            }
            _ => {
                let known = self.loose.contains(&event.event_id);
                if !known {
                    self.loose.push_back(event.event_id.clone());
                    if self.loose.len() > LOOSE_MAX {
                        self.loose.pop_front();
                    }
                }
                !known
            }
        }
    }

    fn remember_session(&mut self, session: SessionId) {
        self.order.push_back(session);
        if self.order.len() > SESSIONS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn event(session: &str, sequence: u64) -> Event {
        Event::read(&format!(
            r#"{{"type":"session.ended","session_id":"{session}","event_id":"evt_1","sequence":{sequence},"created_at":1,"payload":{{}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn asp_47_a_repeat_is_dropped_and_an_older_event_never_seen_is_not() {
        let mut seen = SeenEvents::default();
        let new: Vec<u64> =
            [2, 1, 2, 3, 5, 4, 5, 6, 1].into_iter().filter(|n| seen.is_new(&event("sess_A", *n))).collect();
        assert_eq!(new, [2, 1, 3, 5, 4, 6]);
        assert!(seen.is_new(&event("sess_B", 2)));
        assert_eq!(seen.sessions.values().map(|s| s.0.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn stretches_behave_as_a_set() {
        let (mut stretches, mut set) = (Stretches::default(), HashSet::new());
        let mut n: u64 = 7;
        for _ in 0..2_000 {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let sequence = (n >> 33) % 60;
            assert_eq!(stretches.insert(sequence), set.insert(sequence), "{sequence}");
        }
        assert!(stretches.0.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = SeenEvents::default();
        for n in 0..SESSIONS_MAX + 10 {
            assert!(seen.is_new(&event(&format!("sess_{n}"), 1)));
        }
        assert_eq!((seen.sessions.len(), seen.order.len()), (SESSIONS_MAX, SESSIONS_MAX));
        for n in 0..200 {
            seen.is_new(&event("sess_HOLES", n * 2));
        }
        assert!(seen.sessions.values().all(|s| s.0.len() <= STRETCHES_MAX));
    }
}
