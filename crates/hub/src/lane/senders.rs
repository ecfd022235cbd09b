//! The share of each sender in the rings of others: a limit, so that no sender can fill the memory by sending to many
//! keys. Beyond it the sender's own oldest messages are dropped, in every ring. A message is in many rings, but its
//! bytes are stored once.
//! Must not know: the identity of a sender.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};

use super::{
    Inner,
    ring::{ENTRY_BYTES, Ring},
};

/// The senders that have messages in rings of others.
pub(super) struct Senders<F, M> {
    by_name: Mutex<ByName<F, M>>,
    /// Bytes of their messages together, without the overhead of each ring.
    bytes: Arc<AtomicUsize>,
}

type ByName<F, M> = HashMap<Arc<str>, Arc<Sender<F, M>>>;

pub(super) struct Sender<F, M> {
    /// Bytes that its messages use now, including the overhead in each ring.
    bytes: Arc<AtomicUsize>,
    sent: Mutex<SenderQueue<F, M>>,
}

/// The messages of a sender, oldest first. Rings may have dropped some of them.
pub(super) struct SenderQueue<F, M>(VecDeque<Message<F, M>>);

struct Message<F, M> {
    entries: Vec<(Weak<Ring<F, M>>, u64)>,
    charge: Weak<Charge>,
}

/// The bytes of a message, counted until the last ring has dropped it.
pub(super) struct Charge {
    message: usize,
    with_entries: usize,
    of_sender: Arc<AtomicUsize>,
    of_all: Arc<AtomicUsize>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.of_sender.fetch_sub(self.with_entries, Ordering::Relaxed);
        self.of_all.fetch_sub(self.message, Ordering::Relaxed);
    }
}

impl<F, M> Senders<F, M> {
    pub(super) fn new() -> Self {
        Self { by_name: Mutex::new(HashMap::new()), bytes: Arc::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn get(&self, name: &str) -> Arc<Sender<F, M>> {
        let mut by_name = self.by_name.lock();
        if let Some(sender) = by_name.get(name) {
            return sender.clone();
        }
        let sender =
            Arc::new(Sender { bytes: Arc::default(), sent: Mutex::new(SenderQueue(VecDeque::new())) });
        by_name.insert(name.into(), sender.clone());
        sender
    }

    /// Drops the record of messages that no ring has any more, and of senders without messages.
    pub(super) fn sweep(&self) {
        self.by_name.lock().retain(|_, sender| {
            let mut sent = sender.sent();
            sent.0.retain(|message| message.charge.strong_count() > 0);
            !sent.0.is_empty() || Arc::strong_count(sender) > 1
        });
    }

    /// Makes room for a message to several keys by dropping the sender's own oldest messages. Unread
    /// messages are dropped only beyond the second limit.
    pub(super) fn charge(
        &self,
        sender: &Sender<F, M>,
        sent: &mut SenderQueue<F, M>,
        (bytes, keys): (usize, usize),
        lane: &Inner<F, M>,
    ) -> Arc<Charge> {
        let with_entries = bytes + keys * ENTRY_BYTES;
        let size = || sender.bytes.load(Ordering::Relaxed) + with_entries;
        let limits = &lane.limits;
        while size() > limits.sender_bytes_max
            && (size() > limits.sender_backlog_bytes_max || !sent.is_oldest_awaited())
            && sent.forget_oldest(&lane.bytes)
        {}
        sender.bytes.fetch_add(with_entries, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (of_sender, of_all) = (sender.bytes.clone(), self.bytes.clone());
        Arc::new(Charge { message: bytes, with_entries, of_sender, of_all })
    }

    /// Cuts the largest senders to one equal size.
    pub(super) fn cut(&self, fair_size: impl FnOnce(Vec<usize>) -> usize, bytes: &AtomicUsize) {
        let senders: Vec<_> = self.by_name.lock().values().cloned().collect();
        let bytes_of = |sender: &Arc<Sender<F, M>>| sender.bytes.load(Ordering::Relaxed);
        let size = fair_size(senders.iter().map(bytes_of).collect());
        for sender in senders {
            while bytes_of(&sender) > size && sender.sent().forget_oldest(bytes) {}
        }
    }
}

impl<F, M> Sender<F, M> {
    /// The queue, locked while a message is sent: messages of one sender are sent one after another.
    pub(super) fn sent(&self) -> MutexGuard<'_, SenderQueue<F, M>> {
        self.sent.lock()
    }
}

impl<F, M> SenderQueue<F, M> {
    pub(super) fn add<'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a Arc<Ring<F, M>>, u64)>,
        charge: &Arc<Charge>,
    ) where
        F: 'a,
        M: 'a,
    {
        let entries = entries.map(|(ring, offset)| (Arc::downgrade(ring), offset)).collect();
        self.0.push_back(Message { entries, charge: Arc::downgrade(charge) });
    }

    fn is_oldest_awaited(&self) -> bool {
        let awaits = |(ring, offset): &(Weak<Ring<F, M>>, u64)| {
            ring.upgrade().is_some_and(|ring| ring.awaits(*offset))
        };
        self.0
            .front()
            .is_some_and(|oldest| oldest.charge.strong_count() > 0 && oldest.entries.iter().any(awaits))
    }

    /// Drops the oldest message from all rings; false if there is none.
    fn forget_oldest(&mut self, bytes: &AtomicUsize) -> bool {
        let Some(oldest) = self.0.pop_front() else { return false };
        for (ring, offset) in &oldest.entries {
            if let Some(ring) = ring.upgrade() {
                ring.forget(bytes, *offset);
            }
        }
        true
    }
}
