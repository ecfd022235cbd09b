//! The message rate of one sender to an agent: the answered messages in the last minute of a session, by sending
//! time. Kept in memory: a restart resets it.
//! Must not know: the decision on a message.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::{AgentHandle, SessionId, TimestampMs};
use quick_cache::sync::Cache;

use crate::limits::PAIRS_MAX;

const MINUTE_MS: u64 = 60_000;

/// An agent and one sender in a session.
pub(crate) type Pair = (SessionId, AgentHandle, AgentHandle);

/// The message rates of all pairs.
pub(crate) struct Rates(Cache<Pair, Arc<Mutex<VecDeque<TimestampMs>>>>);

impl Default for Rates {
    fn default() -> Self {
        Self(Cache::new(PAIRS_MAX))
    }
}

impl Rates {
    /// Whether the sender has used up its messages of the last minute at this time.
    pub(crate) fn is_past(&self, pair: &Pair, at: TimestampMs, max: u32) -> bool {
        let Some(times) = self.0.get(pair) else { return false };
        let mut times = times.lock();
        // Times ahead of a clock that was set back count as now, or they would count until it has caught up.
        times.iter_mut().for_each(|time| *time = (*time).min(at));
        while times.front().is_some_and(|first| first.0.saturating_add(MINUTE_MS) <= at.0) {
            times.pop_front();
        }
        times.len() >= usize::try_from(max).unwrap_or(usize::MAX)
    }

    /// Counts an answered message.
    pub(crate) fn count(&self, pair: &Pair, at: TimestampMs) {
        let made: Result<_, std::convert::Infallible> =
            self.0.get_or_insert_with(pair, || Ok(Arc::default()));
        let Ok(times) = made;
        times.lock().push_back(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_and_the_next_one_again() {
        let pair: Pair = ("sess_1".parse().unwrap(), "@a.b".parse().unwrap(), "@c.d".parse().unwrap());
        let rates = Rates::default();
        let past = |at| rates.is_past(&pair, TimestampMs(at), 2);
        assert!(!past(0));
        rates.count(&pair, TimestampMs(1_000));
        assert!(!past(1_000));
        rates.count(&pair, TimestampMs(2_000));
        assert!(past(2_000) && past(60_999));
        assert!(!past(61_000), "the first is a minute old");
        rates.count(&pair, TimestampMs(7_200_000));
        rates.count(&pair, TimestampMs(7_200_000));
        assert!(past(3_600_000) && past(3_659_999) && !past(3_660_000), "the clock was set back by an hour");
    }
}
