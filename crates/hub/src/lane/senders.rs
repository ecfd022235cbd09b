//! What each sender has in the rings of others: no more than its share, so that nobody can fill the room of all by sending
//! to many keys. Past it the sender's own oldest messages go, wherever they are.
//! Must not know: who a sender is.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};

use super::ring::{ENTRY_OCTETS, Ring};

/// The senders that have messages in rings of others.
pub(super) struct Senders<F, M>(Mutex<ByName<F, M>>);

type ByName<F, M> = HashMap<Arc<str>, Arc<Sender<F, M>>>;

/// One sender.
pub(super) struct Sender<F, M> {
    /// What its messages hold now.
    octets: Arc<AtomicUsize>,
    sent: Mutex<Sent<F, M>>,
}

/// The messages of a sender, oldest first. Some may have gone from their rings.
pub(super) struct Sent<F, M>(VecDeque<Message<F, M>>);

struct Message<F, M> {
    ring: Weak<Ring<F, M>>,
    place: u64,
    charge: Weak<Charge>,
}

/// Octets that count as a sender's until this is dropped.
pub(super) struct Charge {
    octets: usize,
    of: Arc<AtomicUsize>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.of.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

impl<F, M> Senders<F, M> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn by_name(&self) -> MutexGuard<'_, ByName<F, M>> {
        self.0.lock()
    }

    pub(super) fn get(&self, name: &str) -> Arc<Sender<F, M>> {
        let mut by_name = self.by_name();
        if let Some(sender) = by_name.get(name) {
            return sender.clone();
        }
        let sender = Arc::new(Sender { octets: Arc::default(), sent: Mutex::new(Sent(VecDeque::new())) });
        by_name.insert(name.into(), sender.clone());
        sender
    }

    /// Forgets what has gone from its ring, and senders that have nothing there.
    pub(super) fn sweep(&self) {
        self.by_name().retain(|_, sender| {
            let mut sent = sender.sent();
            sent.0.retain(|message| message.charge.strong_count() > 0);
            !sent.0.is_empty() || Arc::strong_count(sender) > 1
        });
    }
}

impl<F, M> Sender<F, M> {
    /// Held while a message is sent: those of one sender go one after another.
    pub(super) fn sent(&self) -> MutexGuard<'_, Sent<F, M>> {
        self.sent.lock()
    }

    /// Makes room for a message, of the sender's own oldest ones.
    pub(super) fn charge(
        &self,
        sent: &mut Sent<F, M>,
        octets: usize,
        (share, all): (usize, &AtomicUsize),
    ) -> Arc<Charge> {
        let octets = octets + ENTRY_OCTETS;
        while self.octets.load(Ordering::Relaxed) + octets > share {
            let Some(oldest) = sent.0.pop_front() else { break };
            if let Some(ring) = oldest.ring.upgrade() {
                ring.change(all, |entries| entries.forget(oldest.place));
            }
        }
        self.octets.fetch_add(octets, Ordering::Relaxed);
        Arc::new(Charge { octets, of: self.octets.clone() })
    }
}

impl<F, M> Sent<F, M> {
    pub(super) fn add(&mut self, ring: &Arc<Ring<F, M>>, place: u64, charge: &Arc<Charge>) {
        self.0.push_back(Message { ring: Arc::downgrade(ring), place, charge: Arc::downgrade(charge) });
    }
}
