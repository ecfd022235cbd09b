//! The quotas of a peer: requests and bytes per minute.
//! Must not know: clocks; callers pass the time.

use std::collections::HashMap;

use parking_lot::Mutex;
use plenary_kernel::{AccordId, TimestampMs};

use crate::limits::{PEERS_MAX, REQUESTS_PER_MINUTE_MAX};

const MINUTE_MS: u64 = 60_000;

/// The requests of each accord, or open invitation, in its current minute.
#[derive(Debug)]
pub(crate) struct Quotas {
    minutes: Mutex<HashMap<AccordId, Minute>>,
    max: u32,
}

impl Default for Quotas {
    fn default() -> Self {
        Self::new(REQUESTS_PER_MINUTE_MAX)
    }
}

#[derive(Debug, Clone, Copy)]
struct Minute {
    since: TimestampMs,
    requests: u32,
}

/// A peer's quota is used up; it is renewed after these seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaUsed {
    pub(crate) retry_after_s: u64,
}

/// The bytes that were copied from each peer in its current minute.
#[derive(Debug, Default)]
pub(crate) struct PeerUsage(Mutex<HashMap<AccordId, (TimestampMs, usize)>>);

impl PeerUsage {
    /// Counts bytes of a peer.
    pub(crate) fn add(&self, accord: &AccordId, bytes: usize, now: TimestampMs) {
        let mut minutes = self.0.lock();
        minutes.retain(|_, (since, _)| now.0.abs_diff(since.0) < MINUTE_MS);
        let (_, bytes_copied) = minutes.entry(accord.clone()).or_insert((now, 0));
        *bytes_copied = bytes_copied.saturating_add(bytes);
    }

    /// The bytes of a peer in its current minute.
    pub(crate) fn of(&self, accord: &AccordId, now: TimestampMs) -> usize {
        let minutes = self.0.lock();
        let minute = minutes.get(accord).filter(|(since, _)| now.0.abs_diff(since.0) < MINUTE_MS);
        minute.map_or(0, |(_, bytes_copied)| *bytes_copied)
    }
}

impl Quotas {
    /// A quota of `max` requests per minute.
    pub(crate) fn new(max: u32) -> Self {
        Self { minutes: Mutex::default(), max }
    }

    /// Counts a request of a peer.
    pub(crate) fn take(&self, accord: &AccordId, now: TimestampMs) -> Result<(), QuotaUsed> {
        let mut minutes = self.minutes.lock();
        if minutes.len() >= 2 * PEERS_MAX && !minutes.contains_key(accord) {
            minutes.retain(|_, minute| now.0.saturating_sub(minute.since.0) < MINUTE_MS);
        }
        let minute = minutes.entry(accord.clone()).or_insert(Minute { since: now, requests: 0 });
        let age = now.0.saturating_sub(minute.since.0);
        if age >= MINUTE_MS || now < minute.since {
            *minute = Minute { since: now, requests: 0 };
        }
        if minute.requests >= self.max {
            return Err(QuotaUsed { retry_after_s: (MINUTE_MS - age).div_ceil(1_000) });
        }
        minute.requests += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Stamp;

    use super::*;

    #[test]
    fn a_peer_asks_so_often_a_minute_and_another_is_not_held_up() {
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let (quotas, at) = (Quotas::default(), |ms: u64| TimestampMs(1_000_000 + ms));
        for _ in 0..REQUESTS_PER_MINUTE_MAX {
            quotas.take(&accord(1), at(0)).unwrap();
        }
        assert_eq!(quotas.take(&accord(1), at(500)), Err(QuotaUsed { retry_after_s: 60 }));
        assert_eq!(quotas.take(&accord(1), at(59_000)), Err(QuotaUsed { retry_after_s: 1 }));
        quotas.take(&accord(2), at(500)).unwrap();
        quotas.take(&accord(1), at(60_000)).unwrap();
    }

    #[test]
    fn what_a_peer_brings_counts_for_its_minute() {
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let usage = PeerUsage::default();
        usage.add(&accord(1), 5, TimestampMs(1_000));
        usage.add(&accord(1), 6, TimestampMs(2_000));
        assert_eq!(usage.of(&accord(1), TimestampMs(60_999)), 11);
        assert_eq!(
            (usage.of(&accord(1), TimestampMs(61_000)), usage.of(&accord(2), TimestampMs(2_000))),
            (0, 0)
        );
    }

    #[test]
    fn minutes_that_are_over_are_forgotten() {
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let quotas = Quotas::default();
        for nth in 0..2 * PEERS_MAX as u64 {
            quotas.take(&accord(nth), TimestampMs(1)).unwrap();
        }
        quotas.take(&accord(9_999), TimestampMs(1 + MINUTE_MS)).unwrap();
        assert_eq!(quotas.minutes.lock().len(), 1);
    }
}
