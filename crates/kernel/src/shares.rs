//! Bounded resources that several owners share. There is one limit for all owners and a smaller one for each, so that no owner
//! can use up the resource.
//! Must not know: the counted resource, or the text of a refusal.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

/// A counted resource of the process. Cheap to clone; all clones share the counts.
#[derive(Debug)]
pub struct Shares<K>(Arc<Counts<K>>);

#[derive(Debug)]
struct Counts<K> {
    total_max: usize,
    per_key_max: usize,
    used: Mutex<Usage<K>>,
}

#[derive(Debug)]
struct Usage<K> {
    total: usize,
    by_key: HashMap<K, usize>,
}

/// The limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SharesFull {
    /// The key has reached its own limit.
    #[error("the share of one owner is used up")]
    Key,
    /// All keys together have reached the total limit.
    #[error("no more is available on this server")]
    Total,
}

/// A taken amount. It is given back on drop.
#[derive(Debug)]
pub struct Share<K: Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
    amount: usize,
}

impl<K> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash + Clone> Shares<K> {
    /// A resource with a limit for all keys together and one for each key.
    pub fn new(total_max: usize, per_key_max: usize) -> Self {
        let used = Mutex::new(Usage { total: 0, by_key: HashMap::new() });
        Self(Arc::new(Counts { total_max, per_key_max, used }))
    }

    /// Takes `amount` for a key.
    ///
    /// # Errors
    /// The limit that would be exceeded; then nothing is taken.
    pub fn take(&self, key: K, amount: usize) -> Result<Share<K>, SharesFull> {
        let counts = &self.0;
        counts.take(&key, amount)?;
        Ok(Share { counts: counts.clone(), key, amount })
    }

    /// The amount that a key has taken.
    pub fn used_by(&self, key: &K) -> usize {
        self.0.used().by_key.get(key).copied().unwrap_or(0)
    }

    /// The amount that all keys have taken.
    pub fn used(&self) -> usize {
        self.0.used().total
    }
}

impl<K> Counts<K> {
    fn used(&self) -> MutexGuard<'_, Usage<K>> {
        self.used.lock()
    }
}

impl<K: Eq + Hash + Clone> Counts<K> {
    fn take(&self, key: &K, amount: usize) -> Result<(), SharesFull> {
        let mut used = self.used();
        let of_key = used.by_key.get(key).copied().unwrap_or(0);
        if of_key.saturating_add(amount) > self.per_key_max {
            return Err(SharesFull::Key);
        }
        if used.total.saturating_add(amount) > self.total_max {
            return Err(SharesFull::Total);
        }
        used.total += amount;
        *used.by_key.entry(key.clone()).or_default() += amount;
        Ok(())
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Takes more until it holds at least `amount`.
    ///
    /// # Errors
    /// The limit that would be exceeded; then nothing more is taken.
    pub fn grow(&mut self, amount: usize) -> Result<(), SharesFull> {
        let missing = amount.saturating_sub(self.amount);
        self.counts.take(&self.key, missing)?;
        self.amount += missing;
        Ok(())
    }
}

impl<K: Eq + Hash> Share<K> {
    /// Keeps at most `amount` and gives the rest back.
    pub fn shrink(&mut self, amount: usize) {
        let rest = self.amount.saturating_sub(amount);
        self.amount -= rest;
        self.counts.give_back(&self.key, rest);
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn give_back(&self, key: &K, amount: usize) {
        let mut used = self.used();
        used.total -= amount;
        let remaining = used.by_key.get_mut(key).map(|count| {
            *count -= amount;
            *count
        });
        if remaining == Some(0) {
            used.by_key.remove(key);
        }
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        self.counts.give_back(&self.key, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_never_takes_what_is_left_for_the_others() {
        let shares = Shares::new(3, 2);
        let first = shares.take("a", 1).unwrap();
        let _second = shares.take("a", 1).unwrap();
        assert_eq!(shares.take("a", 1).unwrap_err(), SharesFull::Key);
        let _third = shares.take("b", 1).unwrap();
        assert_eq!(shares.take("c", 1).unwrap_err(), SharesFull::Total);
        drop(first);
        assert_eq!((shares.used(), shares.used_by(&"a")), (2, 1));
        let mut grown = shares.take("c", 1).unwrap();
        assert_eq!(grown.grow(2), Err(SharesFull::Total));
        assert_eq!(grown.grow(1), Ok(()));
        drop(grown);
        assert_eq!((shares.used(), shares.used_by(&"c")), (2, 0));
    }

    #[test]
    fn what_a_share_gives_back_others_may_take() {
        let shares = Shares::new(10, 10);
        let mut share = shares.take("a", 10).unwrap();
        share.shrink(20);
        assert_eq!(shares.used(), 10);
        share.shrink(4);
        let other = shares.take("b", 6).unwrap();
        assert_eq!((shares.used_by(&"a"), shares.used()), (4, 10));
        share.shrink(0);
        drop(share);
        drop(other);
        assert_eq!(shares.used(), 0);
        assert!(shares.0.used().by_key.is_empty());
    }

    #[test]
    fn what_is_refused_takes_nothing_and_what_is_dropped_is_forgotten() {
        let shares = Shares::new(10, 10);
        let share = shares.take("a", 6).unwrap();
        assert_eq!(shares.take("b", 5).unwrap_err(), SharesFull::Total);
        assert_eq!(shares.take("a", usize::MAX).unwrap_err(), SharesFull::Key);
        assert_eq!((shares.used(), shares.used_by(&"b")), (6, 0));
        drop(share);
        assert_eq!(shares.used(), 0);
        assert!(shares.0.used().by_key.is_empty());
    }
}
