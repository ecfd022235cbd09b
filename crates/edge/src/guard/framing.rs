//! Finds the beginning and end of each request of a connection, as a pure scan over its bytes.
//! Must not know: sockets, time, or the meaning of the requests.

use super::{
    Fault,
    chunked::ChunkScan,
    head::{Body, HeadScan},
};

/// The position of the connection within a request.
#[derive(Debug)]
enum State {
    Head(HeadScan),
    Length(u64),
    Chunked(ChunkScan),
    Upgrade,
}

/// The requests of one connection, as far as they were scanned.
#[derive(Debug)]
pub(super) struct RequestScanner {
    state: State,
    /// Complete heads so far.
    heads: u32,
    /// Bytes of bodies so far.
    body_bytes: u64,
}

/// The result of a scan; the first `passed` bytes may be passed on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScanResult {
    pub(super) passed: usize,
    pub(super) then: NextStep,
}

/// What to do with the bytes after the passed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// There are none.
    Go,
    /// They begin a head: hold them until it is complete, and scan again from its first byte.
    Hold,
    /// They follow a WebSocket handshake: hold them until it is answered.
    Upgrade,
    /// The head that they begin is refused.
    RefuseHead(Fault),
    /// The body that they continue is refused.
    RefuseBody(Fault),
}

impl RequestScanner {
    pub(super) fn new() -> Self {
        Self { state: State::Head(HeadScan::default()), heads: 0, body_bytes: 0 }
    }

    pub(super) const fn heads(&self) -> u32 {
        self.heads
    }

    pub(super) const fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether a body is in progress.
    pub(super) const fn in_body(&self) -> bool {
        matches!(self.state, State::Length(_) | State::Chunked(_))
    }

    /// The WebSocket handshake was declined: the next bytes are a head again.
    pub(super) fn resume(&mut self) {
        self.state = State::Head(HeadScan::default());
    }

    pub(super) fn scan(&mut self, bytes: &[u8]) -> ScanResult {
        let mut passed = 0;
        let then = loop {
            let rest = &bytes[passed..];
            if let State::Upgrade = self.state {
                break NextStep::Upgrade;
            }
            if rest.is_empty() {
                break NextStep::Go;
            }
            match &mut self.state {
                State::Upgrade => break NextStep::Upgrade,
                State::Head(head) => match head.advance(rest) {
                    Ok(None) => break NextStep::Hold,
                    Ok(Some((length, body))) => {
                        passed += length;
                        self.heads = self.heads.wrapping_add(1);
                        self.state = Self::state_after_head(body);
                    }
                    Err(fault) => break NextStep::RefuseHead(fault),
                },
                State::Length(remaining) => {
                    let here = usize::try_from(*remaining).unwrap_or(usize::MAX).min(rest.len());
                    *remaining -= here as u64;
                    passed += here;
                    self.body_bytes += here as u64;
                    if *remaining == 0 {
                        self.resume();
                    }
                }
                State::Chunked(chunks) => match chunks.advance(rest) {
                    Ok((here, end)) => {
                        passed += here;
                        self.body_bytes += here as u64;
                        if end {
                            self.resume();
                        }
                    }
                    Err((good, fault)) => {
                        passed += good;
                        break NextStep::RefuseBody(fault);
                    }
                },
            }
        };
        ScanResult { passed, then }
    }

    fn state_after_head(body: Body) -> State {
        match body {
            Body::None => State::Head(HeadScan::default()),
            Body::Length(length) => State::Length(length),
            Body::Chunked => State::Chunked(ChunkScan::new()),
            Body::Upgrade => State::Upgrade,
        }
    }
}
