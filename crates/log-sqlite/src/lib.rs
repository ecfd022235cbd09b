//! The log in one SQLite file: one writer thread with group commit that flushes before it answers, and a few
//! read-only connections. Only this crate opens that file.
//! Must not know: any protocol.

mod audit;
mod cache;
mod checks;
mod commit;
mod copy_destination;
mod copy_source;
mod error;
mod events;
mod export;
mod gathered;
mod news;
mod pool;
mod reads;
mod recent;
mod records;
mod replica;
mod schema;
mod streams;
mod unindexed;
mod writer;

use std::{path::Path, sync::Arc};

use plenary_log::{OpenedLog, channel};
use tokio::sync::oneshot;

pub use audit::{add_digests, audit, audit_with, recount};
pub use commit::Link;
pub use copy_destination::{Destination, UNFINISHED_FILE};
pub use copy_source::Source;
pub use error::{OpenError, damage};
pub use export::{Export, copy, export, leave};
pub use replica::{RepairError, Replica, open_replica, replica_links, set_replica_aside};

/// The database, within the data directory.
pub const DATABASE_FILE: &str = "plenary.db";
/// The file whose lock excludes a second process, within the data directory.
pub const LOCK_FILE: &str = "plenary.lock";

/// The options of opening a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The number of read-only connections: that many reads run at once, the others wait.
    pub readers: usize,
    /// Most pages (of 8 KiB) of the database; beyond it an append fails with `Fault::Full`.
    pub pages_max: Option<u32>,
    /// The writer updates the indexes after this many events, keys and index rows; a start reads as
    /// many.
    pub index_every: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { readers: 3, pages_max: None, index_every: 16_384 }
    }
}

/// Resolves when the writer has closed the store, after the last clone of the log was dropped. A process
/// may also end without waiting: nothing acknowledged is lost, but the next start has more to recover.
#[derive(Debug)]
pub struct StoreClose(oneshot::Receiver<()>);

impl StoreClose {
    /// Waits until the store is closed and its lock is free.
    pub async fn wait(self) {
        let _ = self.0.await;
    }
}

/// Opens the store in a data directory, which is created if absent. Blocks while it reads the disk.
/// Refuses a replica of a cluster's log: an append to it alone would make it diverge from the others.
pub fn open(directory: &Path, options: Options) -> Result<(OpenedLog, StoreClose), OpenError> {
    checks::library()?;
    let lock = checks::directory(directory)?;
    let database = directory.join(DATABASE_FILE);
    let mut connection = schema::writer(&database, options)?;
    if schema::last_link(&connection)?.sequence > 0 {
        return Err(OpenError::Replica { directory: directory.to_owned() });
    }
    let (shared, counters) = schema::load(&mut connection)?;
    let readers = (0..options.readers.max(1)).map(|_| schema::reader(&database)).collect::<Result<_, _>>()?;
    let shared = Arc::new(shared);
    let pool = Arc::new(pool::Pool::new(readers, shared.clone()));
    let wal_pages = schema::wal_pages(&mut connection)?;

    let (channel, jobs, feeder) = channel();
    let (closed, closing) = oneshot::channel();
    let writer = writer::Writer {
        connection,
        shared,
        counters,
        jobs,
        feeder,
        wal_pages,
        index_every: options.index_every,
    };
    let run = move || {
        writer.run();
        drop(lock);
        drop(closed);
    };
    std::thread::Builder::new().name("log-writer".to_owned()).spawn(run).map_err(OpenError::Io)?;
    Ok((channel.open(pool), StoreClose(closing)))
}
