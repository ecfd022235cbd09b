//! The quotas of a peer: requests and bytes per minute, the copies that wait because it stores as much here as it may, and the
//! peers that tell no news.
//! Must not know: clocks; callers pass the time.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use plenary_kernel::{AccordId, SessionId, TimestampMs};

use crate::limits::{PEERS_MAX, REQUESTS_PER_MINUTE_MAX};

const MINUTE_MS: u64 = 60_000;
/// How often the log says of one peer that it stores as much here as it may.
const WARNED_EVERY_MS: u64 = 3_600_000;

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

/// The copies of each peer's sessions that wait because the peer stores as much here as it may.
#[derive(Debug, Default)]
pub(crate) struct FullPeers(Mutex<HashMap<AccordId, FullPeer>>);

#[derive(Debug, Default)]
struct FullPeer {
    waiting: HashSet<SessionId>,
    warned: Option<TimestampMs>,
}

impl FullPeers {
    /// Notes that a copy waits; returns whether the log is to say it now.
    pub(crate) fn wait(&self, accord: &AccordId, session: &SessionId, now: TimestampMs) -> bool {
        let mut peers = self.0.lock();
        let peer = peers.entry(accord.clone()).or_default();
        peer.waiting.insert(session.clone());
        let is_due = peer.warned.is_none_or(|warned| now.0.abs_diff(warned.0) >= WARNED_EVERY_MS);
        if is_due {
            peer.warned = Some(now);
        }
        is_due
    }

    /// Notes that a copy does not wait.
    pub(crate) fn clear(&self, accord: &AccordId, session: &SessionId) {
        if let Some(peer) = self.0.lock().get_mut(accord) {
            peer.waiting.remove(session);
        }
    }

    /// Forgets an accord that is over.
    pub(crate) fn forget(&self, accord: &AccordId) {
        self.0.lock().remove(accord);
    }

    /// Whether a copy waits.
    pub(crate) fn waits(&self, accord: &AccordId, session: &SessionId) -> bool {
        self.0.lock().get(accord).is_some_and(|peer| peer.waiting.contains(session))
    }
}

/// The peers that tell no news of sessions: since when, and why.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<HashMap<AccordId, (TimestampMs, String)>>);

impl Outages {
    /// Notes that a peer tells no news; returns whether this is new.
    pub(crate) fn begin(&self, accord: &AccordId, now: TimestampMs, why: &str) -> bool {
        let mut outages = self.0.lock();
        let since = outages.get(accord).map(|(since, _)| *since);
        outages.insert(accord.clone(), (since.unwrap_or(now), why.to_owned()));
        since.is_none()
    }

    /// Notes that a peer tells news; returns whether there was an outage.
    pub(crate) fn end(&self, accord: &AccordId) -> bool {
        self.0.lock().remove(accord).is_some()
    }

    /// The present outage of a peer.
    pub(crate) fn of(&self, accord: &AccordId) -> Option<(TimestampMs, String)> {
        self.0.lock().get(accord).cloned()
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
    fn a_copy_waits_until_it_is_cleared_and_the_log_says_it_once_an_hour() {
        let accord = |nth| AccordId::mint(&Stamp::new(TimestampMs(nth), [0; 10]), 0);
        let session = |nth: usize| -> SessionId { format!("sess_{nth:026}").parse().unwrap() };
        let (full, at) = (FullPeers::default(), |ms: u64| TimestampMs(1_000_000 + ms));
        assert!(full.wait(&accord(1), &session(1), at(0)));
        assert!(!full.wait(&accord(1), &session(2), at(WARNED_EVERY_MS - 1)));
        assert!(full.wait(&accord(2), &session(3), at(1)), "each peer has its own");
        full.clear(&accord(1), &session(1));
        assert!(!full.waits(&accord(1), &session(1)) && full.waits(&accord(1), &session(2)));
        assert!(!full.wait(&accord(1), &session(1), at(1)), "the same hour");
        assert!(full.wait(&accord(1), &session(1), at(WARNED_EVERY_MS)));
        full.forget(&accord(1));
        assert!(!full.waits(&accord(1), &session(1)));
    }

    #[test]
    fn an_outage_begins_once_and_shows_its_last_reason() {
        let accord = AccordId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0);
        let outages = Outages::default();
        assert!(!outages.end(&accord));
        assert!(outages.begin(&accord, TimestampMs(1), "it is away"));
        assert!(!outages.begin(&accord, TimestampMs(2), "it answers 500"));
        assert_eq!(outages.of(&accord), Some((TimestampMs(1), "it answers 500".into())));
        assert!(outages.end(&accord) && outages.of(&accord).is_none());
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
