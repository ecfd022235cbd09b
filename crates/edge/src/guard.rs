//! The head guard: a byte stream below hyper that passes only well-framed requests (RFC 9112). hyper
//! never sees a partial head, or bytes after a fault; a fault reaches the server as a request with an
//! internal method, so that it is answered in its turn.
//! Must not know: routes, or the answer's form.

mod chunked;
mod fault;
mod framing;
mod head;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use self::fault::Fault;
use self::framing::{NextStep, RequestScanner, ScanResult};
pub(crate) use self::{
    head::STAND_IN_METHOD,
    wire::{GuardState, Upgrade, Wire},
};
use crate::linger::Linger;

/// Bytes read at once while a head is incomplete.
const HOLD_READ_BYTES: usize = 2048;

/// How the guard treats its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Frames requests.
    Framed,
    /// A WebSocket handshake is pending; nothing is read.
    Upgrading,
    /// Passes everything on.
    Open,
    /// A fault was passed on; nothing more is read.
    Refused,
    /// A body was refused; the next read fails.
    Broken(Fault),
}

/// A byte stream that passes only well-framed requests, and after a WebSocket handshake everything.
pub(crate) struct Guard<IO> {
    io: IO,
    wire: Arc<Wire>,
    mode: Mode,
    framing: RequestScanner,
    /// Bytes that were read and not yet passed on; the first `ready` of them are checked.
    buffer: Vec<u8>,
    ready: usize,
    linger: Linger,
}

impl<IO> Guard<IO> {
    pub(crate) fn new(io: IO, wire: Arc<Wire>) -> Self {
        let framing = RequestScanner::new();
        Self {
            io,
            wire,
            mode: Mode::Framed,
            framing,
            buffer: Vec::new(),
            ready: 0,
            linger: Linger::default(),
        }
    }

    fn report(&self, waiting: GuardState) {
        self.wire.report(waiting, self.framing.heads(), self.framing.body_bytes());
    }

    /// Passes on the checked bytes.
    fn pass_on(&mut self, buf: &mut ReadBuf<'_>) {
        let length = self.ready.min(buf.remaining());
        buf.put_slice(&self.buffer[..length]);
        self.ready -= length;
        if length == self.buffer.len() {
            self.buffer = Vec::new();
        } else {
            self.buffer.drain(..length);
        }
    }

    /// Scans the held bytes, which begin where the scanner has stopped.
    fn scan_buffer(&mut self) {
        let scanned = self.framing.scan(&self.buffer);
        self.ready = scanned.passed;
        self.follow(scanned.then);
    }

    fn follow(&mut self, then: NextStep) {
        match then {
            NextStep::Go | NextStep::Hold => {}
            NextStep::Upgrade => self.mode = Mode::Upgrading,
            NextStep::RefuseHead(fault) => self.refuse_head(fault),
            NextStep::RefuseBody(fault) => self.refuse_body(fault),
        }
    }

    /// Replaces the refused head by an internal request, which is answered with the fault.
    fn refuse_head(&mut self, fault: Fault) {
        self.wire.set_head_fault(fault);
        self.buffer.truncate(self.ready);
        let stand_in = format!("{STAND_IN_METHOD} / HTTP/1.1\r\nhost: -\r\nconnection: close\r\n\r\n");
        self.buffer.extend_from_slice(stand_in.as_bytes());
        self.ready = self.buffer.len();
        self.mode = Mode::Refused;
        self.linger.expect_input();
    }

    fn refuse_body(&mut self, fault: Fault) {
        self.buffer.truncate(self.ready);
        self.mode = Mode::Broken(fault);
        self.linger.expect_input();
    }

    /// Handles a missed deadline: a head gets its answer, a body fails.
    fn overdue(&mut self) {
        if self.framing.in_body() {
            self.refuse_body(Fault::BodyTooSlow);
        } else {
            self.refuse_head(Fault::HeadTooSlow);
        }
    }

    /// Whether the handshake has been answered.
    fn poll_upgrade(&mut self, cx: &Context<'_>) -> Poll<()> {
        match self.wire.upgrade() {
            Upgrade::Accepted => {
                self.mode = Mode::Open;
                self.ready = self.buffer.len();
            }
            Upgrade::Declined => {
                self.wire.reset_upgrade();
                self.mode = Mode::Framed;
                self.framing.resume();
                self.scan_buffer();
            }
            Upgrade::Open => {
                self.wire.on_upgrade(cx.waker());
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }
}

impl<IO: AsyncRead + Unpin> Guard<IO> {
    /// Reads into hyper's own buffer and removes the bytes that it must not see yet. Returns whether the
    /// read is complete.
    fn poll_direct(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let fresh = &buf.filled()[before..];
        if fresh.is_empty() {
            return Poll::Ready(Ok(true));
        }
        let ScanResult { passed, then } = self.framing.scan(fresh);
        if then != NextStep::Go {
            self.buffer.extend_from_slice(&fresh[passed..]);
            buf.set_filled(before + passed);
            self.follow(then);
        }
        Poll::Ready(Ok(passed > 0))
    }

    /// Reads more of a held head. Returns whether the peer has closed instead.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut space = [0; HOLD_READ_BYTES];
        let mut more = ReadBuf::new(&mut space);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut more))?;
        self.buffer.extend_from_slice(more.filled());
        if more.filled().is_empty() {
            return Poll::Ready(Ok(true));
        }
        self.scan_buffer();
        Poll::Ready(Ok(false))
    }

    fn poll_framed(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.ready > 0 {
                self.pass_on(buf);
                self.report(GuardState::Ours);
                return Poll::Ready(Ok(()));
            }
            match self.mode {
                Mode::Open => return Pin::new(&mut self.io).poll_read(cx, buf),
                Mode::Refused => return Poll::Pending,
                Mode::Broken(fault) => {
                    // Only now is this the current request, and not an earlier one.
                    self.wire.set_body_fault(fault);
                    return Poll::Ready(Err(io::Error::other(fault)));
                }
                Mode::Upgrading => {
                    self.report(GuardState::Ours);
                    ready!(self.poll_upgrade(cx));
                    continue;
                }
                Mode::Framed => {}
            }
            let (read, waiting) = if self.buffer.is_empty() {
                let waiting = if self.framing.in_body() { GuardState::Body } else { GuardState::Nothing };
                (self.poll_direct(cx, buf), waiting)
            } else {
                (self.poll_more(cx), GuardState::Head)
            };
            match read {
                Poll::Ready(Ok(true)) => {
                    let between = self.buffer.is_empty() && !self.framing.in_body();
                    self.report(if between { GuardState::Nothing } else { GuardState::Ours });
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault)),
                Poll::Pending if self.wire.is_overdue() => self.overdue(),
                Poll::Pending => {
                    self.report(waiting);
                    return Poll::Pending;
                }
            }
        }
    }

    fn watch(&self, written: usize, is_stalled: bool) {
        if self.mode != Mode::Open {
            self.wire.wrote(written, is_stalled);
        }
    }

    fn watch_write(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let written = if let Poll::Ready(Ok(written)) = &outcome { *written } else { 0 };
        self.watch(written, outcome.is_pending());
        outcome
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Guard<IO> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let guard = self.get_mut();
        if guard.mode == Mode::Open && guard.buffer.is_empty() {
            return Pin::new(&mut guard.io).poll_read(cx, buf);
        }
        guard.poll_framed(cx, buf)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<IO> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let guard = self.get_mut();
        let outcome = Pin::new(&mut guard.io).poll_write(cx, buf);
        guard.watch_write(outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let guard = self.get_mut();
        let outcome = Pin::new(&mut guard.io).poll_write_vectored(cx, bufs);
        guard.watch_write(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let guard = self.get_mut();
        let outcome = Pin::new(&mut guard.io).poll_flush(cx);
        guard.watch(0, outcome.is_pending());
        outcome
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let guard = self.get_mut();
        if guard.framing.in_body() {
            guard.linger.expect_input();
        }
        guard.linger.poll(Pin::new(&mut guard.io), cx)
    }
}
