//! The ephemeral lane: for each key a bounded ring of recent messages, and subscriptions that read it, each from its
//! own cursor. A subscription has no queue, only a position in the ring and a wake-up, so a slow one costs nothing
//! and is dropped when the ring has passed it. A message is encoded once and shared by all readers.
//! Must not know: the content of a message, its source, or the reader's output.

mod clock;
mod housekeeping;
mod limits;
mod member;
mod ring;
mod senders;
mod subscription;
#[cfg(test)]
mod tests;

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
use std::{collections::HashMap, fmt};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tokio::time::Instant;

pub use self::clock::lane_now;
pub use self::limits::LaneLimits;
pub use self::ring::ENTRY_BYTES;
pub use self::subscription::{Delivery, EndReason, Subscription};
use self::{
    member::Member,
    ring::Ring,
    senders::{Charge, Senders},
};

/// Selects the subscriptions that get a message, by their facts. It runs when the message is emitted and
/// again when it is read, so it must give the same result each time.
pub type Matches<F> = Arc<dyn Fn(&F) -> bool + Send + Sync>;

/// A message on its way into the ring of a key.
pub struct Emission<F, M> {
    /// Its number among the messages of its key. Numbers rise; a number that does not rise starts the
    /// key anew, and no client can resume from before it.
    pub number: u64,
    /// The message; a clone must be cheap (`Bytes`, `Arc`).
    pub message: M,
    /// Its size in bytes, for the limits.
    pub bytes: usize,
    /// When it must be forgotten (FO-89), on the clock of [`lane_now`]. From then on, subscriptions that began after the message do not get it;
    /// earlier ones may still read it for up to a second after it was emitted.
    pub forget_at: Option<Instant>,
    /// Selects its readers.
    pub matches: Matches<F>,
}

/// Why a subscription was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// The key has [`LaneLimits::subscriptions_max`] of them.
    #[error("the key has too many subscriptions")]
    TooMany,
    /// [`LaneLimits::keys_max`] keys have subscriptions.
    #[error("too many keys have subscriptions")]
    TooManyKeys,
    /// The lane is closed: the server shuts down.
    #[error("the lane is closed")]
    Closed,
}

/// The current content of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneSize {
    /// Keys with subscriptions or messages.
    pub keys: usize,
    /// Bytes of messages, including the overhead of each.
    pub bytes: usize,
    /// Subscriptions.
    pub subscriptions: usize,
    /// Subscriptions that were dropped because they stalled, since the start.
    pub stalled: u64,
}

/// The lane: `F` are the facts of a subscription, `M` is a message. Cheap to clone.
pub struct Lane<F, M>(Arc<Inner<F, M>>);

struct Inner<F, M> {
    limits: LaneLimits,
    rings: RwLock<Rings<F, M>>,
    /// Bytes that the rings hold separately; what they share is counted with its senders.
    bytes: AtomicUsize,
    subscriptions: AtomicUsize,
    stalled: AtomicU64,
    /// Counts subscriptions, to tell them apart.
    subscribed: AtomicU64,
    /// Counts messages over all keys, to compare their age.
    emitted: AtomicU64,
    /// The senders that have messages in rings of others.
    senders: Senders<F, M>,
    /// Held by the task that frees memory.
    shedding: Mutex<()>,
}

/// A message that is in a ring.
struct StoredMessage<F, M> {
    ring: Arc<Ring<F, M>>,
    offset: u64,
    /// The number of subscriptions that it matches.
    matching: usize,
}

struct Rings<F, M> {
    by_key: HashMap<Arc<str>, Arc<Ring<F, M>>>,
    closed: bool,
}

impl<F, M> Clone for Lane<F, M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F, M> fmt::Debug for Lane<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> Lane<F, M> {
    /// An empty lane.
    pub fn new(limits: LaneLimits) -> Self {
        Self(Arc::new(Inner {
            limits,
            rings: RwLock::new(Rings { by_key: HashMap::new(), closed: false }),
            bytes: AtomicUsize::new(0),
            subscriptions: AtomicUsize::new(0),
            stalled: AtomicU64::new(0),
            subscribed: AtomicU64::new(0),
            emitted: AtomicU64::new(0),
            senders: Senders::new(),
            shedding: Mutex::new(()),
        }))
    }

    /// The bounds.
    pub fn limits(&self) -> &LaneLimits {
        &self.0.limits
    }

    /// Puts a message in the ring of a key and wakes the subscriptions that it matches; returns their
    /// number. Messages of one key must be emitted one after another, in the order of their numbers.
    /// Never waits.
    ///
    /// Beyond [`LaneLimits::keys_max`] a message of a new key is not kept; such a key has no
    /// subscription that could read it.
    pub fn emit(&self, key: &str, emission: Emission<F, M>) -> usize {
        let put = self.put(key, emission, None);
        self.make_room();
        put.map_or(0, |put| put.matching)
    }

    /// Emits a message from another sender to several keys: all rings share its bytes, which
    /// count once. [`LaneLimits::sender_bytes_max`] bounds all messages of one sender in the rings of
    /// others: its own oldest messages there make room for a new one.
    pub fn emit_from<K: AsRef<str>>(&self, sender: &str, to: Vec<(K, Emission<F, M>)>) -> usize {
        let sender = self.0.senders.get(sender);
        let mut sent = sender.sent();
        let bytes = to.iter().map(|(_, emission)| emission.bytes).max().unwrap_or(0);
        let charge = self.0.senders.charge(&sender, &mut sent, (bytes, to.len()), &self.0);
        let put = to
            .into_iter()
            .filter_map(|(key, emission)| self.put(key.as_ref(), emission, Some(charge.clone())));
        let put: Vec<_> = put.collect();
        let matching = put.iter().map(|put| put.matching).sum();
        sent.add(put.iter().map(|put| (&put.ring, put.offset)), &charge);
        drop(sent);
        self.make_room();
        matching
    }

    fn make_room(&self) {
        if self.0.bytes() > self.0.limits.bytes_max {
            self.0.drop_excess();
        }
    }

    /// Puts a message in a ring.
    fn put(
        &self,
        key: &str,
        emission: Emission<F, M>,
        charge: Option<Arc<Charge>>,
    ) -> Option<StoredMessage<F, M>> {
        loop {
            let ring = self.0.ring_for_message(key)?;
            let members = ring.members();
            if members.freed {
                continue;
            }
            let matches = emission.matches.clone();
            let offset = ring.change(&self.0.bytes, |entries| {
                let order = self.0.emitted.fetch_add(1, Ordering::Relaxed);
                let is_read = !members.list.is_empty();
                entries.push(emission, charge, order, lane_now(), &self.0.limits, is_read)
            });
            let matching = members.list.iter().filter(|member| matches(&member.facts));
            let matching = matching.map(|member| member.wake(offset)).count();
            drop(members);
            return Some(StoredMessage { ring, offset, matching });
        }
    }

    /// Subscribes to a key. With `after`, the number of the last received message, it continues after
    /// that one if the ring still has everything since (FO-60). Otherwise it begins with the next
    /// message that is emitted.
    ///
    /// # Errors
    /// See [`SubscribeError`].
    pub fn subscribe(
        &self,
        key: &str,
        facts: F,
        after: Option<u64>,
    ) -> Result<Subscription<F, M>, SubscribeError> {
        loop {
            let ring = self.0.ring_for_member(key)?;
            let mut members = ring.members_mut();
            if members.freed {
                continue;
            }
            if members.list.len() >= self.0.limits.subscriptions_max {
                return Err(SubscribeError::TooMany);
            }
            let (cursor, end) = ring.change(&self.0.bytes, |entries| {
                let now = lane_now();
                entries.prune(now, &self.0.limits);
                let from = after.map_or(entries.end(), |after| entries.after(after, &self.0.limits));
                (entries.first_for(&facts, from, now), entries.end())
            });
            let id = self.0.subscribed.fetch_add(1, Ordering::Relaxed);
            let member =
                Arc::new(Member::new(id, facts, members.list.len(), (cursor < end).then_some(cursor)));
            members.list.push(member.clone());
            self.0.subscriptions.fetch_add(1, Ordering::Relaxed);
            drop(members);
            let subscription = Subscription::new(self.clone(), ring, member, cursor, end);
            // The lane may have been closed since the ring was looked up.
            return if self.0.rings().closed { Err(SubscribeError::Closed) } else { Ok(subscription) };
        }
    }

    /// The kept messages of a key after a number: those that match these facts, or all. For a caller without a
    /// subscription.
    pub fn retained(&self, key: &str, facts: Option<&F>, after: u64) -> Vec<(u64, M)> {
        let Some(ring) = self.0.ring(key) else { return Vec::new() };
        ring.change(&self.0.bytes, |entries| {
            let now = lane_now();
            entries.prune(now, &self.0.limits);
            let messages = entries.all().filter_map(|entry| match facts {
                Some(facts) => entry.message_for(facts, now, false),
                None => entry.message(now, false),
            });
            messages
                .filter(|(number, _)| *number > after)
                .map(|(number, message)| (number, message.clone()))
                .collect()
        })
    }

    /// How many subscriptions a key has.
    pub fn count(&self, key: &str) -> usize {
        self.0.ring(key).map_or(0, |ring| ring.members().list.len())
    }

    /// The number after which a subscription begins with the oldest message that any client may still
    /// get; `None` without a ring.
    pub fn reaches_back_to(&self, key: &str) -> Option<u64> {
        let ring = self.0.ring(key)?;
        Some(ring.change(&self.0.bytes, |entries| {
            entries.prune(lane_now(), &self.0.limits);
            entries.reaches_back_to(&self.0.limits)
        }))
    }

    /// Applies `describe` to the facts of each subscription to a key, in no order (FO-93).
    pub fn roster<T>(&self, key: &str, describe: impl FnMut(&F) -> T) -> Vec<T> {
        let Some(ring) = self.0.ring(key) else { return Vec::new() };
        let members = ring.members();
        members.list.iter().map(|member| &member.facts).map(describe).collect()
    }

    /// Ends the subscriptions to a key whose facts match; returns their number.
    pub fn expel(&self, key: &str, matches: impl Fn(&F) -> bool) -> usize {
        let Some(ring) = self.0.ring(key) else { return 0 };
        let expelled: Vec<_> =
            ring.members().list.iter().filter(|member| matches(&member.facts)).cloned().collect();
        expelled.iter().filter(|member| self.0.end(&ring, member, EndReason::Expelled)).count()
    }

    /// Ends every subscription and refuses new ones.
    pub fn close(&self) {
        self.0.rings.write().closed = true;
        for ring in self.0.all() {
            let members = ring.members().list.clone();
            for member in &members {
                self.0.end(&ring, member, EndReason::Closed);
            }
        }
    }

    /// Its current size.
    pub fn size(&self) -> LaneSize {
        LaneSize {
            keys: self.0.rings().by_key.len(),
            bytes: self.0.bytes(),
            subscriptions: self.0.subscriptions.load(Ordering::Relaxed),
            stalled: self.0.stalled.load(Ordering::Relaxed),
        }
    }
}

impl<F, M> Inner<F, M> {
    /// Bytes of all messages together.
    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.senders.bytes()
    }

    fn rings(&self) -> RwLockReadGuard<'_, Rings<F, M>> {
        self.rings.read()
    }

    fn ring(&self, key: &str) -> Option<Arc<Ring<F, M>>> {
        self.rings().by_key.get(key).cloned()
    }

    fn all(&self) -> Vec<Arc<Ring<F, M>>> {
        self.rings().by_key.values().cloned().collect()
    }

    /// Removes a subscription from its ring. False if it was not in it.
    fn end(&self, ring: &Ring<F, M>, member: &Member<F>, why: EndReason) -> bool {
        let is_removed = ring.members_mut().take_off(member);
        if is_removed {
            self.subscriptions.fetch_sub(1, Ordering::Relaxed);
            member.end(why);
            if why == EndReason::Stalled {
                self.stalled.fetch_add(1, Ordering::Relaxed);
            }
        }
        is_removed
    }
}
