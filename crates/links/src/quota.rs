//! How much one peer asks: so many requests a minute.
//! Must not know: clocks; the time comes in.

use std::collections::HashMap;

use parking_lot::Mutex;
use plenary_kernel::{AccordId, TimestampMs};

use crate::limits::{PEERS_MAX, REQUESTS_PER_MINUTE_MAX};

const MINUTE_MS: u64 = 60_000;

/// What the peers asked in their present minutes. Only accords that hold are counted.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<AccordId, Minute>>);

#[derive(Debug, Clone, Copy)]
struct Minute {
    since: TimestampMs,
    asked: u32,
}

/// A peer's quota is used up; seconds until there is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaUsed {
    pub(crate) retry_after_s: u64,
}

impl Quotas {
    /// Counts one more request of a peer.
    pub(crate) fn take(&self, accord: &AccordId, now: TimestampMs) -> Result<(), QuotaUsed> {
        let mut minutes = self.0.lock();
        if minutes.len() >= 2 * PEERS_MAX && !minutes.contains_key(accord) {
            minutes.retain(|_, minute| now.0.saturating_sub(minute.since.0) < MINUTE_MS);
        }
        let minute = minutes.entry(accord.clone()).or_insert(Minute { since: now, asked: 0 });
        let age = now.0.saturating_sub(minute.since.0);
        if age >= MINUTE_MS || now < minute.since {
            *minute = Minute { since: now, asked: 0 };
        }
        if minute.asked >= REQUESTS_PER_MINUTE_MAX {
            return Err(QuotaUsed { retry_after_s: (MINUTE_MS - age).div_ceil(1_000) });
        }
        minute.asked += 1;
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
    fn minutes_that_are_over_are_forgotten() {
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let quotas = Quotas::default();
        for nth in 0..2 * PEERS_MAX as u64 {
            quotas.take(&accord(nth), TimestampMs(1)).unwrap();
        }
        quotas.take(&accord(9_999), TimestampMs(1 + MINUTE_MS)).unwrap();
        assert_eq!(quotas.0.lock().len(), 1);
    }
}
