//! A bounded map of values by thread, lost with the process.
//! Must not know: the values.

use std::collections::{HashMap, VecDeque};

use plenary_runs::id::ThreadId;

/// Most threads with a value per agent; beyond it the oldest are dropped.
pub(crate) const THREADS_MAX: usize = 10_000;

/// A value for each thread.
#[derive(Debug)]
pub(crate) struct Threads<T> {
    known: HashMap<ThreadId, T>,
    oldest: VecDeque<ThreadId>,
}

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), oldest: VecDeque::new() }
    }
}

impl<T> Threads<T> {
    /// The value of a thread.
    pub(crate) fn get(&self, thread: ThreadId) -> Option<&T> {
        self.known.get(&thread)
    }

    /// Sets the value of a thread.
    pub(crate) fn learn(&mut self, thread: ThreadId, value: T) {
        if self.known.insert(thread, value).is_none() {
            self.oldest.push_back(thread);
        }
        if self.oldest.len() > THREADS_MAX
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    #[test]
    fn threads_past_the_limit_are_forgotten_oldest_first() {
        let stamp = |n| Stamp::new(TimestampMs(n), [0; 10]);
        let ids: Vec<_> = (0..=THREADS_MAX as u64).map(|n| ThreadId::mint(&stamp(n), 0)).collect();
        let mut threads = Threads::default();
        ids.iter().for_each(|id| threads.learn(*id, "t"));
        assert_eq!(threads.known.len(), THREADS_MAX);
        assert!(threads.get(ids[0]).is_none() && threads.get(ids[1]).is_some());
    }
}
