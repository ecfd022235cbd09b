//! The read-only connections: lent to one read at a time, on blocking threads.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use plenary_log::{Fault, StreamName};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::{error::ReadError, unindexed::SharedTail};

/// A connection with its caches.
pub(crate) struct Reader {
    pub(crate) connection: Connection,
    pub(crate) names: HashMap<i64, StreamName>,
    pub(crate) kinds: Vec<&'static str>,
}

/// All connections.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    shared: Arc<SharedTail>,
    free: Mutex<Vec<Reader>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(connections: Vec<Connection>, shared: Arc<SharedTail>) -> Self {
        let permits = Arc::new(Semaphore::new(connections.len()));
        let readers = connections.into_iter().map(|connection| Reader {
            connection,
            names: HashMap::new(),
            kinds: Vec::new(),
        });
        Self(Arc::new(Inner { shared, free: Mutex::new(readers.collect()), permits }))
    }

    pub(crate) fn shared(&self) -> &SharedTail {
        &self.0.shared
    }

    /// Runs a read when a connection is free. A read whose caller is gone still runs to its end.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Reader, &SharedTail) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, Fault> {
        let closed = |_| Fault::Unavailable("the store is closed".to_owned());
        let permit = self.0.permits.clone().acquire_owned().await.map_err(closed)?;
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            // Dropped after the loan, so that a connection is free for the next holder of a permit.
            let _permit = permit;
            let mut loan = Loan::of(&inner)?;
            match &mut loan.reader {
                Some(reader) => Ok(read(reader, &inner.shared)?),
                None => Err(Fault::Overloaded),
            }
        });
        done.await.unwrap_or_else(|_| Err(Fault::Unavailable("a read ended early".to_owned())))
    }
}

impl Inner {
    fn free(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.free.lock()
    }
}

/// A borrowed connection; it returns to the pool when the read ends, even by a panic.
struct Loan<'a> {
    inner: &'a Inner,
    reader: Option<Reader>,
}

impl<'a> Loan<'a> {
    fn of(inner: &'a Inner) -> Result<Self, Fault> {
        let reader = inner.free().pop().ok_or(Fault::Overloaded)?;
        Ok(Self { inner, reader: Some(reader) })
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.inner.free().extend(self.reader.take());
    }
}
