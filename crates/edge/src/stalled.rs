//! The connections whose peers read too slowly, the longest first: it selects the connection to close when there are
//! too many, or when others need their memory.
//! Must not know: how a slow peer is detected, or the content of its answer.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::{
    answers::{Allowance, Payer},
    config::STALLED_BEFORE_CUT,
};

/// The start of the stall, and a unique number.
pub(crate) type StallKey = (Instant, u64);

/// All stalled connections.
pub(crate) struct StalledReaders {
    max: usize,
    numbers: AtomicU64,
    readers: Mutex<BTreeMap<StallKey, Allowance>>,
}

impl StalledReaders {
    pub(crate) const fn new(max: usize) -> Self {
        Self { max, numbers: AtomicU64::new(0), readers: Mutex::new(BTreeMap::new()) }
    }

    fn readers(&self) -> MutexGuard<'_, BTreeMap<StallKey, Allowance>> {
        self.readers.lock()
    }

    pub(crate) fn enter(&self, since: Instant, allowance: Allowance) -> StallKey {
        let key = (since, self.numbers.fetch_add(1, Ordering::Relaxed));
        self.readers().insert(key, allowance);
        key
    }

    pub(crate) fn leave(&self, key: StallKey) {
        self.readers().remove(&key);
    }

    /// Cuts those that have stalled longest, down to the limit. Returns whether there are still too
    /// many, which have not stalled for long.
    pub(crate) fn trim(&self) -> bool {
        let now = Instant::now();
        let mut readers = self.readers();
        while readers.len() > self.max {
            let Some(first) = readers.first_entry().filter(|first| is_due(first.key(), now)) else {
                return true;
            };
            first.remove().cut();
        }
        false
    }

    /// Cuts the longest-stalled connection that holds budget: of one payer, or of all.
    pub(crate) fn relieve(&self, payer: Option<&Payer>) {
        let now = Instant::now();
        let mut readers = self.readers();
        let longest = readers
            .iter()
            .take_while(|(key, _)| is_due(key, now))
            .find(|(_, allowance)| allowance.holds(payer))
            .map(|(key, _)| *key);
        if let Some(allowance) = longest.and_then(|key| readers.remove(&key)) {
            allowance.cut();
        }
    }
}

fn is_due(key: &StallKey, now: Instant) -> bool {
    key.0 + STALLED_BEFORE_CUT <= now
}
