//! The requests under way on a connection of HTTP/2, and what its peer owes of them.
//! Must not know: frames; what a request means.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::{Class, Refusal};
use tokio::time::Instant;

use crate::{
    admission::{Permit, Places},
    answers::Allowance,
    config::{Config, HTTP2_ABANDONED_MAX},
    reader::{Reader, WriteProgress},
};

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Stays,
    /// Nothing was asked for too long.
    Idle,
    /// A peer does not read, takes back what it asks, or others need the room that its answers take.
    Cut,
}

/// All of them.
pub(super) struct Exchanges {
    /// The connection is the place of one; each further one needs its own.
    places: Places,
    table: Mutex<Table>,
}

struct Table {
    open: HashMap<u64, Exchange>,
    begun: u64,
    /// How many ended before their answer since the connection was looked at.
    abandoned: u32,
    idle_since: Instant,
}

struct Exchange {
    reader: Reader,
    written: WriteProgress,
}

/// One of them, until it is dropped.
pub(super) struct OpenExchange {
    all: Arc<Exchanges>,
    number: u64,
    is_answered: bool,
    _permit: Option<Permit>,
}

impl Exchanges {
    pub(super) fn new(places: Places) -> Arc<Self> {
        let idle_since = Instant::now();
        let table = Table { open: HashMap::new(), begun: 0, abandoned: 0, idle_since };
        Arc::new(Self { places, table: Mutex::new(table) })
    }

    /// Begins one; it is refused past the limits of connections, and where too many were taken back.
    pub(super) fn begin(self: &Arc<Self>, allowance: Allowance) -> (OpenExchange, Result<(), Refusal>) {
        let mut table = self.table.lock();
        let permit = (!table.open.is_empty()).then(|| self.places.take());
        let admitted = if table.abandoned >= HTTP2_ABANDONED_MAX {
            let text = "Too many requests were taken back.";
            Err(Refusal::new(Class::TooMany, "too_many_abandoned", text))
        } else if matches!(permit, Some(None)) {
            Err(Refusal::new(Class::Unavailable, "too_many_connections", "Too many connections."))
        } else {
            Ok(())
        };
        table.begun += 1;
        let number = table.begun;
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
    /// From here on its end is no loss.
    pub(super) fn answered(&mut self) {
        self.is_answered = true;
    }

    /// So much more was written, and whether it waits for the peer to make room.
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
