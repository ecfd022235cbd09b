//! What the two ends of one connection, the guard below hyper and the server above it, tell each other.
//! Must not know: bytes, or what a request means. One task drives both ends, so relaxed order is enough.

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
};
use std::task::Waker;

use super::Fault;

/// What the guard waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The first octet of a head.
    Nothing,
    /// The rest of a head.
    Head,
    /// More of a body that the server is reading.
    Body,
    /// Nothing that the peer owes.
    Ours,
}

/// How a WebSocket handshake was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    Open,
    Accepted,
    Declined,
}

/// The state that both ends see.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    waiting: AtomicU8,
    heads: AtomicU32,
    body_octets: AtomicU64,
    serving: AtomicBool,
    overdue: AtomicBool,
    write_stalled: AtomicBool,
    writes: AtomicU32,
    upgrade: AtomicU8,
    upgrade_waker: Mutex<Option<Waker>>,
    head_fault: OnceLock<Fault>,
    body_fault: OnceLock<Fault>,
}

impl Wire {
    pub(super) fn report(&self, waiting: Waiting, heads: u32, body_octets: u64) {
        let code = match waiting {
            Waiting::Nothing => 0,
            Waiting::Head => 1,
            Waiting::Body => 2,
            Waiting::Ours => 3,
        };
        self.waiting.store(code, Relaxed);
        self.heads.store(heads, Relaxed);
        self.body_octets.store(body_octets, Relaxed);
        self.overdue.store(false, Relaxed);
    }

    /// What the peer owes at this moment: nothing of its next request while this one is being answered.
    pub(crate) fn waiting(&self) -> Waiting {
        match self.waiting.load(Relaxed) {
            0 | 1 if self.serving.load(Relaxed) => Waiting::Ours,
            0 => Waiting::Nothing,
            1 => Waiting::Head,
            2 => Waiting::Body,
            _ => Waiting::Ours,
        }
    }

    /// Heads that came complete.
    pub(crate) fn heads(&self) -> u32 {
        self.heads.load(Relaxed)
    }

    /// Octets of bodies so far.
    pub(crate) fn body_octets(&self) -> u64 {
        self.body_octets.load(Relaxed)
    }

    /// From the call of the service until the reply's body is handed over.
    pub(crate) fn set_serving(&self, serving: bool) {
        self.serving.store(serving, Relaxed);
    }

    /// The deadline of what the guard waits for has passed; forgotten as soon as it moves on.
    pub(crate) fn set_overdue(&self) {
        self.overdue.store(true, Relaxed);
    }

    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue.load(Relaxed)
    }

    pub(super) fn wrote(&self, stalled: bool) {
        self.write_stalled.store(stalled, Relaxed);
        if !stalled {
            self.writes.store(self.writes.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// The count of writes so far, while the last one waits for the peer to read.
    pub(crate) fn write_stalled(&self) -> Option<u32> {
        self.write_stalled.load(Relaxed).then(|| self.writes.load(Relaxed))
    }

    pub(super) fn set_head_fault(&self, fault: Fault) {
        // The first one counts: nothing that comes after it is read.
        let _ = self.head_fault.set(fault);
    }

    pub(super) fn set_body_fault(&self, fault: Fault) {
        let _ = self.body_fault.set(fault);
    }

    /// What is wrong with the head that the stand-in stands for.
    pub(crate) fn head_fault(&self) -> Option<Fault> {
        self.head_fault.get().copied()
    }

    /// What was wrong with the body of the request that is being answered.
    pub(crate) fn body_fault(&self) -> Option<Fault> {
        self.body_fault.get().copied()
    }

    pub(super) fn upgrade(&self) -> Upgrade {
        match self.upgrade.load(Relaxed) {
            1 => Upgrade::Accepted,
            2 => Upgrade::Declined,
            _ => Upgrade::Open,
        }
    }

    /// Remembers whom to wake when the handshake is answered.
    pub(super) fn on_upgrade(&self, waker: &Waker) {
        *self.upgrade_waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    pub(super) fn upgrade_taken(&self) {
        self.upgrade.store(0, Relaxed);
    }

    /// The handshake was answered.
    pub(crate) fn answer_upgrade(&self, accepted: bool) {
        self.upgrade.store(if accepted { 1 } else { 2 }, Relaxed);
        let waker = self.upgrade_waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
