//! The rate limit of a sender: a token bucket (FO-78).
//! Must not know: clocks; the time is an argument.

use std::{collections::HashMap, time::Duration};

use plenary_kernel::AgentHandle;

/// Most senders whose buckets are kept; beyond it full buckets are dropped, which changes nothing for
/// their senders.
pub(crate) const SENDERS_MAX: usize = 65_536;

/// The rate limit of one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Frames per second on average; 0 means no limit.
    pub per_s: u32,
    /// Frames in a burst.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_s: 200, burst: 400 }
    }
}

/// The buckets of all senders.
#[derive(Debug)]
pub(crate) struct Buckets {
    rate: Rate,
    senders: HashMap<AgentHandle, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// The content in millionths of a frame.
    level: u64,
    since: Duration,
}

const ONE: u64 = 1_000_000;

impl Buckets {
    /// All buckets full.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, senders: HashMap::new() }
    }

    /// Takes one frame out of a sender's bucket. `now` must be monotonic.
    ///
    /// # Errors
    /// The time until the bucket has a frame again.
    pub(crate) fn take(&mut self, sender: &AgentHandle, now: Duration) -> Result<(), Duration> {
        let rate = self.rate;
        if rate.per_s == 0 {
            return Ok(());
        }
        let full = u64::from(rate.burst.max(1)) * ONE;
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(sender) {
            self.senders.retain(|_, bucket| bucket.filled(rate, now) < full);
        }
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(sender) {
            return Err(Duration::from_secs(1));
        }
        let bucket = match self.senders.get_mut(sender) {
            Some(bucket) => bucket,
            None => self.senders.entry(sender.clone()).or_insert(Bucket { level: full, since: now }),
        };
        *bucket = Bucket { level: bucket.filled(rate, now), since: now };
        if bucket.level < ONE {
            let missing = ONE - bucket.level;
            return Err(Duration::from_micros(missing.div_ceil(u64::from(rate.per_s))));
        }
        bucket.level -= ONE;
        Ok(())
    }
}

impl Bucket {
    fn filled(self, rate: Rate, now: Duration) -> u64 {
        let full = u64::from(rate.burst.max(1)) * ONE;
        let micros = u64::try_from(now.saturating_sub(self.since).as_micros()).unwrap_or(u64::MAX);
        self.level.saturating_add(micros.saturating_mul(u64::from(rate.per_s))).min(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentHandle {
        format!("@nick.{name}").parse().unwrap()
    }

    #[test]
    fn fo_78_a_burst_passes_then_the_rate_applies() {
        let mut buckets = Buckets::new(Rate { per_s: 2, burst: 3 });
        let ms = Duration::from_millis;
        for _ in 0..3 {
            assert_eq!(buckets.take(&agent("a"), ms(0)), Ok(()));
        }
        assert_eq!(buckets.take(&agent("a"), ms(0)), Err(ms(500)));
        assert_eq!(buckets.take(&agent("a"), ms(400)), Err(ms(100)));
        assert_eq!(buckets.take(&agent("b"), ms(400)), Ok(()), "each sender has its own");
        assert_eq!(buckets.take(&agent("a"), ms(500)), Ok(()));
        assert_eq!(buckets.take(&agent("a"), ms(500)), Err(ms(500)));
        for _ in 0..3 {
            assert_eq!(buckets.take(&agent("a"), ms(60_000)), Ok(()));
        }
        assert!(buckets.take(&agent("a"), ms(60_000)).is_err(), "it fills up to the burst");
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let mut buckets = Buckets::new(Rate { per_s: 0, burst: 0 });
        assert!((0..10_000).all(|_| buckets.take(&agent("a"), Duration::ZERO).is_ok()));
    }

    #[test]
    fn past_the_limit_of_senders_full_buckets_are_forgotten_and_others_kept() {
        let mut buckets = Buckets::new(Rate { per_s: 1, burst: 1 });
        for nth in 0..SENDERS_MAX {
            buckets.take(&agent(&format!("a{nth}")), Duration::ZERO).unwrap();
        }
        assert!(buckets.take(&agent("late"), Duration::ZERO).is_err());
        assert!(buckets.take(&agent("a0"), Duration::ZERO).is_err());
        buckets.take(&agent("late"), Duration::from_secs(1)).unwrap();
        assert_eq!(buckets.senders.len(), 1);
    }
}
