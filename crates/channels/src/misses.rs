//! Counts requests for absent and foreign channels. Ids are short, so guessing has a budget: one for an owner with all its
//! agents and tokens, and one for an address (wire.md D.6).
//! Must not know: the existing channels.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::{OwnerName, TimestampMs};
use quick_cache::sync::Cache;

use crate::{GUESSERS_REMEMBERED_MAX, MISSES_MAX};

/// The period of a budget.
const WINDOW_MS: u64 = 60_000;

/// The holder of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Guesser {
    Owner(OwnerName),
    Address(IpAddr),
}

#[derive(Debug, Default)]
struct Window {
    since: TimestampMs,
    missed: u32,
}

/// A budget is used up; it is renewed after these seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedUp {
    pub(crate) retry_after_s: u64,
}

pub(crate) struct Misses(Cache<Guesser, Arc<Mutex<Window>>>);

impl Default for Misses {
    fn default() -> Self {
        Self(Cache::new(GUESSERS_REMEMBERED_MAX))
    }
}

impl Window {
    /// Checks the budget. A window begins with its first miss, and again after its end or when the clock was set back.
    fn check(&mut self, now: TimestampMs) -> Result<(), UsedUp> {
        let age_ms = now.0.saturating_sub(self.since.0);
        if age_ms >= WINDOW_MS || now < self.since {
            *self = Self { since: now, missed: 0 };
        }
        if self.missed < MISSES_MAX {
            return Ok(());
        }
        Err(UsedUp { retry_after_s: (WINDOW_MS - age_ms).div_ceil(1_000) })
    }
}

impl Misses {
    /// Checks that all of these budgets have something left.
    pub(crate) fn check(&self, guessers: &[Guesser], now: TimestampMs) -> Result<(), UsedUp> {
        guessers.iter().try_for_each(|guesser| match self.0.get(guesser) {
            Some(window) => window.lock().check(now),
            None => Ok(()),
        })
    }

    /// Counts a miss against every budget; an error if one of them is used up.
    pub(crate) fn count(&self, guessers: &[Guesser], now: TimestampMs) -> Result<(), UsedUp> {
        guessers.iter().map(|guesser| self.count_one(guesser, now)).fold(Ok(()), Result::and)
    }

    fn count_one(&self, guesser: &Guesser, now: TimestampMs) -> Result<(), UsedUp> {
        let entry: Result<_, Infallible> = self.0.get_or_insert_with(guesser, || Ok(Arc::default()));
        let Ok(window) = entry;
        let mut window = window.lock();
        window.check(now)?;
        window.missed += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_30_sixty_misses_a_minute_and_then_none() {
        let (misses, owner) = (Misses::default(), |name: &str| Guesser::Owner(name.parse().unwrap()));
        let guessers = [owner("a")];
        let time = |ms| TimestampMs(1_000_000 + ms);
        for n in 0..u64::from(MISSES_MAX) {
            assert_eq!(misses.check(&guessers, time(n)), Ok(()));
            assert_eq!(misses.count(&guessers, time(n)), Ok(()));
        }
        assert_eq!(misses.count(&guessers, time(500)), Err(UsedUp { retry_after_s: 60 }));
        assert_eq!(misses.check(&guessers, time(59_001)), Err(UsedUp { retry_after_s: 1 }));
        assert_eq!(misses.count(&[owner("b")], time(500)), Ok(()), "each has its own");
        assert_eq!(misses.count(&guessers, time(60_000)), Ok(()));
    }

    #[test]
    fn d_6_owners_behind_one_address_share_its_budget_and_keep_their_own() {
        let misses = Misses::default();
        let (address, now) = (Guesser::Address([192, 0, 2, 7].into()), TimestampMs(1_000_000));
        let both = |name: &str| [Guesser::Owner(name.parse().unwrap()), address.clone()];
        for _ in 0..MISSES_MAX / 2 {
            assert_eq!(misses.count(&both("a"), now), Ok(()));
            assert_eq!(misses.count(&both("b"), now), Ok(()));
        }
        assert!(misses.count(&both("c"), now).is_err(), "the address has none left");
        assert_eq!(
            misses.check(&both("a")[..1], now),
            Ok(()),
            "from elsewhere the owner has half of its own"
        );
    }

    #[test]
    fn a_clock_that_went_back_begins_a_new_window() {
        let (misses, guessers) = (Misses::default(), [Guesser::Owner("a".parse().unwrap())]);
        for _ in 0..MISSES_MAX {
            assert_eq!(misses.count(&guessers, TimestampMs(9_000_000)), Ok(()));
        }
        assert_eq!(misses.check(&guessers, TimestampMs(1_000_000)), Ok(()));
    }
}
