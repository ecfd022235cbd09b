//! The last assigned number of each counter. Bounded: beyond the limit all are dropped. Pure.
//! Must not know: the numbered objects.

use std::{collections::HashMap, sync::Arc};

/// Most counters that are remembered; beyond it all are dropped and begin again above the highest of
/// them.
const COUNTERS_MAX: usize = 65_536;

/// The last numbers.
#[derive(Default)]
pub(super) struct Counters {
    last: HashMap<Arc<str>, u64>,
    /// The highest number of any dropped counter.
    forgotten: u64,
}

impl Counters {
    /// The next number of a counter that begins at `start`.
    pub(super) fn next(&self, name: &str, start: u64) -> u64 {
        self.last.get(name).map_or_else(|| start.max(self.forgotten + 1), |last| last + 1)
    }

    pub(super) fn take(&mut self, name: &str, number: u64) {
        if let Some(last) = self.last.get_mut(name) {
            *last = number.max(*last);
            return;
        }
        if self.last.len() >= COUNTERS_MAX {
            self.forgotten = self.last.values().copied().max().unwrap_or_default().max(self.forgotten);
            self.last.clear();
        }
        self.last.insert(name.into(), number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_their_limit_counters_are_dropped_and_still_rise() {
        let mut counters = Counters::default();
        for nth in 0..COUNTERS_MAX {
            counters.take(&nth.to_string(), 5);
        }
        counters.take("0", 9);
        assert_eq!((counters.next("0", 1), counters.next("new", 3)), (10, 3));
        counters.take("new", 3);
        assert_eq!(counters.next("0", 1), 10, "above the highest that was forgotten");
        assert_eq!(counters.next("1", 70), 70);
        assert!(counters.last.len() <= COUNTERS_MAX);
    }
}
