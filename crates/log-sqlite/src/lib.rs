//! The log in one SQLite file: one writer thread with group commit that flushes before it answers, and a few
//! read-only connections. Only this crate opens that file.
//! Must not know: any protocol.

mod audit;
mod cache;
mod checks;
mod commit;
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
pub use error::OpenError;
pub use export::{Export, copy, export, leave};
pub use replica::{RepairError, Replica, open_replica, replica_links, set_replica_aside};

/// The database, within the data directory.
pub const DATABASE_FILE: &str = "plenary.db";
/// The side file whose lock keeps a second process out, within the data directory.
pub const LOCK_FILE: &str = "plenary.lock";

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Read-only connections; that many reads go on at once, the others wait.
    pub readers: usize,
    /// Most pages (of 8 KiB) that the database may grow to; past it an append is answered with `Fault::Full`.
    pub pages_max: Option<u32>,
    /// The writer brings the indexes up to date when so many events, keys and rows of indexes have gathered; a start
    /// reads as many.
    pub index_every: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { readers: 3, pages_max: None, index_every: 16_384 }
    }
}

/// Tells when the writer has let go of the store, after the last clone of the log was dropped. Without waiting for
/// it a process may end at any time: nothing acknowledged is lost, the next start has more to recover.
#[derive(Debug)]
pub struct StoreClose(oneshot::Receiver<()>);

impl StoreClose {
    /// Waits until the store is closed and its lock is free.
    pub async fn wait(self) {
        let _ = self.0.await;
    }
}

/// Opens the store in a data directory, which is made if it is not there. Blocks while it looks at the disk. A replica of
/// a cluster's log is refused: what is appended to it alone would part it from the others.
pub fn open(directory: &Path, options: Options) -> Result<(OpenedLog, StoreClose), OpenError> {
    checks::library()?;
    let lock = checks::directory(directory)?;
    let database = directory.join(DATABASE_FILE);
    let mut connection = schema::writer(&database, options)?;
    if schema::last_link(&connection)?.sequence > 0 {
        return Err(OpenError::Replica { directory: directory.to_owned() });
    }
    let (shared, place) = schema::load(&mut connection)?;
    let readers = (0..options.readers.max(1)).map(|_| schema::reader(&database)).collect::<Result<_, _>>()?;
    let shared = Arc::new(shared);
    let pool = Arc::new(pool::Pool::new(readers, shared.clone()));
    let wal_pages = schema::wal_pages(&mut connection)?;

    let (channel, jobs, feeder) = channel();
    let (closed, closing) = oneshot::channel();
    let writer = writer::Writer {
        connection,
        shared,
        place,
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
