//! The messages between the two ends of one connection: the guard below hyper and the server above it.
//! Must not know: bytes, or the meaning of a request. One task drives both ends, so relaxed order is enough.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
};
use std::task::Waker;

use hyper::body::Incoming;
use parking_lot::Mutex;

use plenary_kernel::Share;

use super::Fault;
use crate::{answers::Payer, reader::WriteProgress};

/// The input that the guard waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardState {
    /// The first byte of a head.
    Nothing,
    /// The rest of a head.
    Head,
    /// More of a body that the server is reading.
    Body,
    /// Nothing from the peer.
    Ours,
}

/// The answer to a WebSocket handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    Open,
    Accepted,
    Declined,
}

/// The state that both ends share.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    waiting: AtomicU8,
    heads: AtomicU32,
    body_bytes: AtomicU64,
    serving: AtomicBool,
    overdue: AtomicBool,
    write_stalled: AtomicBool,
    written: AtomicU64,
    upgrade: AtomicU8,
    upgrade_waker: Mutex<Option<Waker>>,
    head_fault: OnceLock<Fault>,
    body_fault: OnceLock<Fault>,
    body_open: AtomicBool,
    unread: Mutex<Option<Incoming>>,
    stream: OnceLock<Share<Payer>>,
}

impl Wire {
    pub(super) fn report(&self, waiting: GuardState, heads: u32, body_bytes: u64) {
        let code = match waiting {
            GuardState::Nothing => 0,
            GuardState::Head => 1,
            GuardState::Body => 2,
            GuardState::Ours => 3,
        };
        self.waiting.store(code, Relaxed);
        self.heads.store(heads, Relaxed);
        self.body_bytes.store(body_bytes, Relaxed);
        self.overdue.store(false, Relaxed);
    }

    /// The input that the peer owes now: nothing of its next request while this one is being answered.
    pub(crate) fn waiting(&self) -> GuardState {
        match self.waiting.load(Relaxed) {
            0 | 1 if self.serving.load(Relaxed) => GuardState::Ours,
            0 => GuardState::Nothing,
            1 => GuardState::Head,
            2 => GuardState::Body,
            _ => GuardState::Ours,
        }
    }

    /// Complete heads so far.
    pub(crate) fn heads(&self) -> u32 {
        self.heads.load(Relaxed)
    }

    /// Bytes of bodies so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes.load(Relaxed)
    }

    /// Set from the call of the service until the reply's body is passed on.
    pub(crate) fn set_serving(&self, serving: bool) {
        self.serving.store(serving, Relaxed);
    }

    /// Notes that the deadline of the awaited input has passed; cleared when the input continues.
    pub(crate) fn set_overdue(&self) {
        self.overdue.store(true, Relaxed);
    }

    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue.load(Relaxed)
    }

    /// Notes a write: the bytes that were accepted, and whether it waits for the peer.
    pub(crate) fn wrote(&self, bytes: usize, is_stalled: bool) {
        self.write_stalled.store(is_stalled, Relaxed);
        self.written.store(self.written.load(Relaxed).wrapping_add(bytes as u64), Relaxed);
    }

    /// The bytes written so far, and whether the last write waits for the peer to read.
    pub(crate) fn output(&self) -> WriteProgress {
        WriteProgress { bytes: self.written.load(Relaxed), is_stalled: self.write_stalled.load(Relaxed) }
    }

    pub(super) fn set_head_fault(&self, fault: Fault) {
        // The first one counts: no later input is read.
        let _ = self.head_fault.set(fault);
    }

    pub(super) fn set_body_fault(&self, fault: Fault) {
        let _ = self.body_fault.set(fault);
    }

    /// The fault of the head that the internal request replaces.
    pub(crate) fn head_fault(&self) -> Option<Fault> {
        self.head_fault.get().copied()
    }

    /// The fault of the body of the current request.
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

    /// Sets the task to wake when the handshake is answered.
    pub(super) fn on_upgrade(&self, waker: &Waker) {
        *self.upgrade_waker.lock() = Some(waker.clone());
    }

    pub(super) fn reset_upgrade(&self) {
        self.upgrade.store(0, Relaxed);
    }

    /// Notes the answer to the handshake.
    pub(crate) fn answer_upgrade(&self, accepted: bool) {
        self.upgrade.store(if accepted { 1 } else { 2 }, Relaxed);
        let waker = self.upgrade_waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Notes whether the body of the current request is incomplete.
    pub(crate) fn set_body_open(&self, is_open: bool) {
        self.body_open.store(is_open, Relaxed);
    }

    pub(crate) fn is_body_open(&self) -> bool {
        self.body_open.load(Relaxed)
    }

    /// Keeps a WebSocket's slot among the live streams as long as the connection exists.
    pub(crate) fn keep_stream(&self, share: Option<Share<Payer>>) {
        if let Some(share) = share {
            let _ = self.stream.set(share);
        }
    }

    /// Keeps a body that no handler has read to its end, and returns the one that was kept.
    pub(crate) fn keep_unread(&self, body: Option<Incoming>) -> Option<Incoming> {
        std::mem::replace(&mut *self.unread.lock(), body)
    }
}
