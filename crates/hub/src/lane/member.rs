//! One subscription as the emitters see it: its facts, and whether it has unread messages.
//! Must not know: messages.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    task::Waker,
    time::Duration,
};

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::clock::lane_now;

use super::EndReason;

/// No message waits.
const NOTHING: u64 = u64::MAX;

/// One subscription.
pub(super) struct Member<F> {
    id: u64,
    pub(super) facts: F,
    /// Its index among the members of its ring; changed only under their lock.
    index: AtomicUsize,
    /// The offset in the ring of the first message that waits for it, or [`NOTHING`].
    waiting: AtomicU64,
    /// When it last took a message, in milliseconds after `subscribed at`.
    last_taken_ms: AtomicU64,
    subscribed_at: Instant,
    ended: AtomicU8,
    reader: AtomicWaker,
}

impl<F> Member<F> {
    pub(super) fn new(id: u64, facts: F, index: usize, waiting: Option<u64>) -> Self {
        Self {
            id,
            facts,
            index: AtomicUsize::new(index),
            waiting: AtomicU64::new(waiting.unwrap_or(NOTHING)),
            last_taken_ms: AtomicU64::new(0),
            subscribed_at: lane_now(),
            ended: AtomicU8::new(0),
            reader: AtomicWaker::new(),
        }
    }

    /// Notes that the message at `offset`, written before, waits. Only the first message since the last
    /// look wakes the reader.
    ///
    /// It must be a read-modify-write in every case: only then does the reader that takes the mark see
    /// the message at that offset.
    pub(super) fn wake(&self, offset: u64) {
        if self.waiting.fetch_min(offset, Ordering::AcqRel) == NOTHING {
            self.reader.wake();
        }
    }

    /// Takes the wake-up, before the ring is read. Returns the offset of the first waiting message, which
    /// may have been read already.
    pub(super) fn take(&self) -> Option<u64> {
        if self.waiting.load(Ordering::Relaxed) == NOTHING {
            return None;
        }
        Some(self.waiting.swap(NOTHING, Ordering::AcqRel)).filter(|offset| *offset != NOTHING)
    }

    /// Notes that messages from `offset` on are left for the next turn.
    pub(super) fn defer_from(&self, offset: u64) {
        self.waiting.fetch_min(offset, Ordering::AcqRel);
    }

    /// The offset of the first waiting message.
    pub(super) fn waiting(&self) -> Option<u64> {
        Some(self.waiting.load(Ordering::Acquire)).filter(|offset| *offset != NOTHING)
    }

    /// Notes that it has taken a message.
    pub(super) fn took(&self, now: Instant) {
        let ms = u64::try_from(now.duration_since(self.subscribed_at).as_millis()).unwrap_or(u64::MAX);
        self.last_taken_ms.store(ms, Ordering::Relaxed);
    }

    /// When it last took a message, or subscribed.
    pub(super) fn last_taken(&self) -> Instant {
        self.subscribed_at + Duration::from_millis(self.last_taken_ms.load(Ordering::Relaxed))
    }

    /// Ends the subscription; its reader finds the reason at its next look.
    pub(super) fn end(&self, why: EndReason) {
        let code = match why {
            EndReason::Stalled => 1,
            EndReason::Expelled => 2,
            EndReason::Closed => 3,
        };
        self.ended.store(code, Ordering::Release);
        self.reader.wake();
    }

    pub(super) fn ended(&self) -> Option<EndReason> {
        match self.ended.load(Ordering::Acquire) {
            0 => None,
            1 => Some(EndReason::Stalled),
            2 => Some(EndReason::Expelled),
            _ => Some(EndReason::Closed),
        }
    }

    /// Sets the waker for wake-ups. The caller looks again afterwards, so that none is lost.
    pub(super) fn set_waker(&self, waker: &Waker) {
        self.reader.register(waker);
    }
}

/// The subscriptions to one key.
pub(super) struct Members<F> {
    pub(super) list: Vec<Arc<Member<F>>>,
    /// The ring was freed: its holder looks up the key's ring again.
    pub(super) freed: bool,
}

impl<F> Members<F> {
    /// Removes one; false if it was not in the list.
    pub(super) fn take_off(&mut self, member: &Member<F>) -> bool {
        let index = member.index.load(Ordering::Relaxed);
        if self.list.get(index).is_none_or(|found| found.id != member.id) {
            return false;
        }
        self.list.swap_remove(index);
        if let Some(moved) = self.list.get(index) {
            moved.index.store(index, Ordering::Relaxed);
        }
        true
    }
}
