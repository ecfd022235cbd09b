//! The current requests on an HTTP/2 connection, and their deadlines.
//! Must not know: frames; the meaning of a request.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::{Class, Refusal};
use tokio::time::Instant;

use crate::{
    admission::{PeerPermits, Permit},
    answers::Allowance,
    config::{Config, HTTP2_ABANDONED_MAX},
    reader::{Reader, WriteProgress},
};

/// The decision about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Stays,
    /// There was no request for too long.
    Idle,
    /// The peer does not read, cancels too many requests, or others need its budget.
    Cut,
}

/// All current requests of a connection.
pub(super) struct Exchanges {
    /// The connection counts for one request; each further one needs a permit of its own.
    permits: PeerPermits,
    table: Mutex<Table>,
}

struct Table {
    open: HashMap<u64, Exchange>,
    started: u64,
    /// The number of requests that ended before their answer since the last check.
    abandoned: u32,
    idle_since: Instant,
}

struct Exchange {
    reader: Reader,
    written: WriteProgress,
}

/// One request, until it is dropped.
pub(super) struct OpenExchange {
    all: Arc<Exchanges>,
    number: u64,
    is_answered: bool,
    _permit: Option<Permit>,
}

impl Exchanges {
    pub(super) fn new(permits: PeerPermits) -> Arc<Self> {
        let idle_since = Instant::now();
        let table = Table { open: HashMap::new(), started: 0, abandoned: 0, idle_since };
        Arc::new(Self { permits, table: Mutex::new(table) })
    }

    /// Begins a request; it is refused beyond the limits of connections, and after too many cancelled
    /// ones.
    pub(super) fn begin(self: &Arc<Self>, allowance: Allowance) -> (OpenExchange, Result<(), Refusal>) {
        let mut table = self.table.lock();
        let permit = (!table.open.is_empty()).then(|| self.permits.take());
        let admitted = if table.abandoned >= HTTP2_ABANDONED_MAX {
            let text = "Too many requests were taken back.";
            Err(Refusal::new(Class::TooMany, "too_many_abandoned", text))
        } else if matches!(permit, Some(None)) {
            Err(Refusal::new(Class::Unavailable, "too_many_connections", "Too many connections."))
        } else {
            Ok(())
        };
        table.started += 1;
        let number = table.started;
        table
            .open
            .insert(number, Exchange { reader: Reader::new(allowance), written: WriteProgress::default() });
        let is_answered = admitted.is_err();
        (OpenExchange { all: self.clone(), number, is_answered, _permit: permit.flatten() }, admitted)
    }

    pub(super) fn look(&self, config: &Config) -> Verdict {
        let table = &mut *self.table.lock();
        let is_flooding = std::mem::take(&mut table.abandoned) >= HTTP2_ABANDONED_MAX;
        let mut exchanges = table.open.values_mut();
        if is_flooding || exchanges.any(|open| open.reader.is_overdue(config, open.written)) {
            return Verdict::Cut;
        }
        let is_idle = table.open.is_empty() && Instant::now() >= table.idle_since + config.idle_deadline;
        if is_idle { Verdict::Idle } else { Verdict::Stays }
    }
}

impl OpenExchange {
    /// Notes the answer: an end after this does not count as cancelled.
    pub(super) fn answered(&mut self) {
        self.is_answered = true;
    }

    /// Notes written bytes, and whether they wait for space at the peer.
    pub(super) fn wrote(&self, bytes: usize, is_stalled: bool) {
        if let Some(exchange) = self.all.table.lock().open.get_mut(&self.number) {
            exchange.written = WriteProgress { bytes: exchange.written.bytes + bytes as u64, is_stalled };
        }
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let mut table = self.all.table.lock();
        let ended = table.open.remove(&self.number);
        table.abandoned += u32::from(!self.is_answered);
        table.idle_since = Instant::now();
        drop(table);
        drop(ended);
    }
}
