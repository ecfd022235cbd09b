//! Housekeeping of a lane: creates and frees rings, drops old messages and stalled subscriptions.
//! Must not know: how messages are read.

use std::{
    future::Future,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior};

use super::{
    EndReason, Inner, Lane, Rings, SubscribeError,
    clock::lane_now,
    member::Member,
    ring::{Entries, Ring},
};

/// How often a lane looks for old messages and stalled subscriptions.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

impl<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> Lane<F, M> {
    /// Drops old messages and stalled subscriptions, and frees unused rings. Cheap: it looks at each key
    /// and subscription once.
    pub fn sweep(&self) {
        self.0.sweep(lane_now());
    }

    /// Sweeps once a second until the lane is dropped; to be spawned.
    pub fn sweeping(&self) -> impl Future<Output = ()> + Send + 'static {
        let lane = Arc::downgrade(&self.0);
        async move {
            let mut tick = tokio::time::interval(SWEEP_EVERY);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                match Weak::upgrade(&lane) {
                    Some(lane) => lane.sweep(lane_now()),
                    None => return,
                }
            }
        }
    }
}

impl<F, M> Inner<F, M> {
    /// The ring of a key, created if absent; `None` beyond the limit of keys.
    pub(super) fn ring_for_message(&self, key: &str) -> Option<Arc<Ring<F, M>>> {
        match self.ring(key) {
            Some(ring) => Some(ring),
            None => self.make_ring(key).ok(),
        }
    }

    /// The ring of a key, created if absent.
    pub(super) fn ring_for_member(&self, key: &str) -> Result<Arc<Ring<F, M>>, SubscribeError> {
        let rings = self.rings();
        if rings.closed {
            return Err(SubscribeError::Closed);
        }
        if let Some(ring) = rings.by_key.get(key) {
            return Ok(ring.clone());
        }
        drop(rings);
        self.make_ring(key)
    }

    fn make_ring(&self, key: &str) -> Result<Arc<Ring<F, M>>, SubscribeError> {
        let mut rings = self.rings.write();
        if let Some(ring) = rings.by_key.get(key) {
            return Ok(ring.clone());
        }
        if rings.by_key.len() >= self.limits.keys_max && !self.free_oldest_ring(&mut rings) {
            return Err(SubscribeError::TooManyKeys);
        }
        let ring = Arc::new(Ring::new());
        rings.by_key.insert(key.into(), ring.clone());
        Ok(ring)
    }

    /// Frees the ring without subscriptions whose newest message is the oldest.
    fn free_oldest_ring(&self, rings: &mut Rings<F, M>) -> bool {
        let unread = rings.by_key.iter().filter(|(_, ring)| ring.members().list.is_empty());
        let newest = |ring: &Ring<F, M>| ring.entries().all().last().map(|entry| entry.order);
        let Some(key) = unread.min_by_key(|(_, ring)| newest(ring)).map(|(key, _)| key.clone()) else {
            return false;
        };
        self.free(rings, &key, true)
    }

    /// Frees a ring that has no subscription and no message; with `gives_way`, its messages are dropped.
    fn free(&self, rings: &mut Rings<F, M>, key: &str, gives_way: bool) -> bool {
        let Some(ring) = rings.by_key.get(key) else { return false };
        let mut members = ring.members_mut();
        if !members.list.is_empty() || !(gives_way || ring.entries().is_empty()) {
            return false;
        }
        members.freed = true;
        ring.change(&self.bytes, |entries| entries.drop_to(0));
        drop(members);
        rings.by_key.remove(key);
        true
    }

    fn sweep(&self, now: Instant) {
        self.senders.sweep();
        let mut unused = false;
        for ring in self.all() {
            ring.change(&self.bytes, |entries| entries.prune(now, &self.limits));
            for member in self.stalled(&ring, now) {
                self.end(&ring, &member, EndReason::Stalled);
            }
            let members = ring.members();
            ring.change(&self.bytes, |entries| {
                let unread = members.list.iter().filter_map(|member| member.waiting()).min();
                entries.trim(unread.unwrap_or(entries.end()), &self.limits);
                unused |= members.list.is_empty() && entries.is_empty();
            });
        }
        if unused {
            let mut rings = self.rings.write();
            let keys: Vec<_> = rings.by_key.keys().cloned().collect();
            for key in keys {
                self.free(&mut rings, &key, false);
            }
        }
    }

    /// The subscriptions that have left messages waiting for too long.
    fn stalled(&self, ring: &Ring<F, M>, now: Instant) -> Vec<Arc<Member<F>>> {
        let (members, entries) = (ring.members(), ring.entries());
        let stalls = |member: &&Arc<Member<F>>| {
            let Some(waiting) = member.waiting() else { return false };
            match entries.from(waiting).next() {
                Some(entry) => entry.at.max(member.last_taken()) + self.limits.stall_max <= now,
                None => waiting < entries.lost(),
            }
        };
        members.list.iter().filter(stalls).cloned().collect()
    }

    /// Frees an eighth of the limit. The messages of senders in rings of others may use at most half of
    /// the rest: the largest senders are cut to one equal size. Then the largest keys lose the messages
    /// that are kept only for slow readers, and are cut to one equal size, oldest messages first. A key
    /// below that size loses nothing, so no key's readers pay for another key.
    pub(super) fn drop_excess(&self) {
        let Some(_shedding) = self.shedding.try_lock() else { return };
        let rings = self.all();
        let room = self.limits.bytes_max - self.limits.bytes_max / 8;
        if self.senders.bytes() > room / 2 {
            self.senders.cut(|sizes| fair_size(sizes, room / 2), &self.bytes);
        }
        let room = room.saturating_sub(self.senders.bytes());
        let size = || fair_size(rings.iter().map(|ring| ring.entries().bytes).collect(), room);
        let cut = |size: usize, cut: &dyn Fn(&mut Entries<F, M>)| {
            let large = rings.iter().filter(|ring| ring.entries().bytes > size);
            large.for_each(|ring| ring.change(&self.bytes, cut));
        };
        cut(size(), &|entries| entries.trim(u64::MAX, &self.limits));
        let size = size();
        cut(size, &|entries| entries.drop_to(size));
        tracing::debug!(size, "the lane is full: the keys that hold the most lost their oldest messages");
    }
}

/// The size to which the largest are cut so that the sum fits into `room`.
fn fair_size(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let (mut remaining, count) = (room, sizes.len());
    for (nth, bytes) in sizes.into_iter().enumerate() {
        let share = remaining / (count - nth);
        if bytes > share {
            return share;
        }
        remaining -= bytes;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_are_cut_to_one_size() {
        for (sizes, room, size) in [
            (vec![], 10, usize::MAX),
            (vec![4, 6], 10, usize::MAX),
            (vec![1, 100, 3], 10, 6),
            (vec![100, 100, 1], 21, 10),
            (vec![7, 7, 7], 0, 0),
        ] {
            assert_eq!(fair_size(sizes.clone(), room), size, "{sizes:?} in {room}");
        }
    }

    proptest! {
        #[test]
        fn all_fit_and_whoever_holds_an_equal_part_or_less_keeps_it(
            sizes in proptest::collection::vec(0_usize..1_000, 1..20),
            room in 0_usize..5_000,
        ) {
            let size = fair_size(sizes.clone(), room);
            prop_assert!(sizes.iter().map(|bytes| *bytes.min(&size)).sum::<usize>() <= room);
            prop_assert!(size >= room / sizes.len());
        }
    }
}
