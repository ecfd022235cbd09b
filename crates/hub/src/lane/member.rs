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

use super::EndReason;

/// Nothing waits.
const NOTHING: u64 = u64::MAX;

/// One subscription.
pub(super) struct Member<F> {
    id: u64,
    pub(super) facts: F,
    /// Where it stands among the members of its ring; changed only under their lock.
    place: AtomicUsize,
    /// The place in the ring of the first message that waits for it, or [`NOTHING`].
    waiting: AtomicU64,
    /// When it last took something, in milliseconds after it came.
    taken_ms: AtomicU64,
    came: Instant,
    ended: AtomicU8,
    reader: AtomicWaker,
}

impl<F> Member<F> {
    pub(super) fn new(id: u64, facts: F, place: usize, waiting: Option<u64>) -> Self {
        Self {
            id,
            facts,
            place: AtomicUsize::new(place),
            waiting: AtomicU64::new(waiting.unwrap_or(NOTHING)),
            taken_ms: AtomicU64::new(0),
            came: Instant::now(),
            ended: AtomicU8::new(0),
            reader: AtomicWaker::new(),
        }
    }

    /// A message waits at a place that was written before. Only the first one since the last look wakes.
    ///
    /// It must be a read-modify-write whatever it finds: only then whoever takes it sees what stands at the place.
    pub(super) fn wake(&self, place: u64) {
        if self.waiting.fetch_min(place, Ordering::AcqRel) == NOTHING {
            self.reader.wake();
        }
    }

    /// Takes the wake-up, before the ring is looked at. The place is that of the first message that waits; it may have
    /// been read already.
    pub(super) fn take(&self) -> Option<u64> {
        if self.waiting.load(Ordering::Relaxed) == NOTHING {
            return None;
        }
        Some(self.waiting.swap(NOTHING, Ordering::AcqRel)).filter(|place| *place != NOTHING)
    }

    /// Something is left for the next turn.
    pub(super) fn left(&self, place: u64) {
        self.waiting.fetch_min(place, Ordering::AcqRel);
    }

    /// Where the first message waits.
    pub(super) fn waiting(&self) -> Option<u64> {
        Some(self.waiting.load(Ordering::Acquire)).filter(|place| *place != NOTHING)
    }

    /// It has taken something.
    pub(super) fn took(&self, now: Instant) {
        let ms = u64::try_from(now.duration_since(self.came).as_millis()).unwrap_or(u64::MAX);
        self.taken_ms.store(ms, Ordering::Relaxed);
    }

    /// When it last took something, or came.
    pub(super) fn taken(&self) -> Instant {
        self.came + Duration::from_millis(self.taken_ms.load(Ordering::Relaxed))
    }

    /// Its reader finds that it was ended.
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

    /// Where wake-ups go from now on. To be looked at again after this, so that none is lost.
    pub(super) fn wake_by(&self, waker: &Waker) {
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
    /// Takes one off; false when it was off already.
    pub(super) fn take_off(&mut self, member: &Member<F>) -> bool {
        let place = member.place.load(Ordering::Relaxed);
        if self.list.get(place).is_none_or(|found| found.id != member.id) {
            return false;
        }
        self.list.swap_remove(place);
        if let Some(moved) = self.list.get(place) {
            moved.place.store(place, Ordering::Relaxed);
        }
        true
    }
}
