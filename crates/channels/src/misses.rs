//! How many channels somebody asked for that are not there: ids are short, so guessing is budgeted (wire.md D.6).
//! Must not know: which channels there are.

use std::{
    convert::Infallible,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use plenary_accounts::TokenDigest;
use plenary_kernel::TimestampMs;
use quick_cache::sync::Cache;

use crate::{GUESSERS_REMEMBERED_MAX, MISSES_MAX};

/// How long a budget lasts.
const WINDOW_MS: u64 = 60_000;

/// Whose budget it is: a token's, or an address's where no token is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Guesser {
    Token(TokenDigest),
    Address(IpAddr),
}

#[derive(Debug, Default)]
struct Window {
    since: TimestampMs,
    missed: u32,
}

/// The budget is used up; seconds until there is a new one.
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
    /// A window begins with its first miss.
    fn left(&mut self, now: TimestampMs) -> Result<(), UsedUp> {
        let age_ms = now.0.saturating_sub(self.since.0);
        if age_ms >= WINDOW_MS {
            *self = Self { since: now, missed: 0 };
        }
        if self.missed < MISSES_MAX {
            return Ok(());
        }
        Err(UsedUp { retry_after_s: (WINDOW_MS - age_ms).div_ceil(1_000) })
    }
}

impl Misses {
    /// Whether somebody may still miss.
    pub(crate) fn left(&self, who: &Guesser, now: TimestampMs) -> Result<(), UsedUp> {
        match self.0.get(who) {
            Some(window) => window.lock().unwrap_or_else(PoisonError::into_inner).left(now),
            None => Ok(()),
        }
    }

    /// Counts a miss that is within the budget.
    pub(crate) fn count(&self, who: &Guesser, now: TimestampMs) -> Result<(), UsedUp> {
        let made: Result<_, Infallible> = self.0.get_or_insert_with(who, || Ok(Arc::default()));
        let window = match made {
            Ok(window) => window,
            Err(never) => match never {},
        };
        let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
        window.left(now)?;
        window.missed += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_30_sixty_misses_a_minute_and_then_none() {
        let (misses, who) = (Misses::default(), Guesser::Token(TokenDigest::of("a")));
        let at = |ms| TimestampMs(1_000_000 + ms);
        for n in 0..u64::from(MISSES_MAX) {
            assert_eq!(misses.left(&who, at(n)), Ok(()));
            assert_eq!(misses.count(&who, at(n)), Ok(()));
        }
        assert_eq!(misses.count(&who, at(500)), Err(UsedUp { retry_after_s: 60 }));
        assert_eq!(misses.left(&who, at(59_001)), Err(UsedUp { retry_after_s: 1 }));
        assert_eq!(misses.count(&Guesser::Token(TokenDigest::of("b")), at(500)), Ok(()), "each has its own");
        assert_eq!(misses.count(&who, at(60_000)), Ok(()));
    }
}
