//! The shared state of searches and the writing thread: the file's connections, and the caches.
//! Must not know: words.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use plenary_retrieval::Fault;
use rusqlite::{Connection, ErrorCode, Result};

use crate::{
    dense::DenseLists,
    documents::{Documents, Head, Project},
    entries, open,
};

/// Most open connections for searches; a further one is closed after its use.
const READERS_IDLE_MAX: usize = 8;

/// An open index.
pub(crate) struct Shelf {
    /// The writing connection. An index in memory uses it for searches too, because no other connection can see
    /// the data.
    pub(crate) writer: Mutex<Connection>,
    pub(crate) documents: Mutex<Documents>,
    pub(crate) lists: Mutex<DenseLists>,
    file: Option<PathBuf>,
    readers: Mutex<Readers>,
    is_closing: AtomicBool,
    /// A read met damage.
    is_damaged: AtomicBool,
    /// The index was rebuilt, and the follower does not know yet.
    is_new: AtomicBool,
}

/// Open connections to the current file; those to an earlier one are closed.
#[derive(Default)]
struct Readers {
    generation: u64,
    idle: Vec<Connection>,
}

impl Shelf {
    pub(crate) fn new(writer: Connection, head: Head, file: Option<PathBuf>) -> Self {
        Self {
            writer: Mutex::new(writer),
            documents: Mutex::new(Documents::new(head)),
            lists: Mutex::default(),
            file,
            readers: Mutex::default(),
            is_closing: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
            is_new: AtomicBool::new(false),
        }
    }

    /// Runs a read on one snapshot of the file.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.noting(|| {
            let Some(file) = &self.file else { return work(&self.writer.lock()) };
            let (generation, idle) = {
                let mut readers = self.readers.lock();
                (readers.generation, readers.idle.pop())
            };
            let mut connection = idle.map_or_else(|| open::reader(file), Ok)?;
            let transaction = connection.transaction()?;
            let done = work(&transaction)?;
            transaction.finish()?;
            let mut readers = self.readers.lock();
            if readers.generation == generation && readers.idle.len() < READERS_IDLE_MAX {
                readers.idle.push(connection);
            }
            Ok(done)
        })
    }

    /// Runs work, and records damage of the file.
    pub(crate) fn noting<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = work();
        if let Err(error) = &done
            && matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        done
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Replaces a damaged file by an empty index. Does nothing for an index in memory.
    pub(crate) fn renew(&self) -> Result<(), Fault> {
        let Some(file) = &self.file else { return Ok(()) };
        tracing::warn!(file = %file.display(), "the search index is damaged and is rebuilt from the log");
        let mut writer = self.writer.lock();
        let writes = self.documents.lock().head.writes;
        *writer = open::anew(file)?;
        {
            let mut readers = self.readers.lock();
            *readers = Readers { generation: readers.generation + 1, idle: Vec::new() };
        }
        self.documents.lock().clear(writes + 1);
        self.lists.lock().clear();
        self.is_damaged.store(false, Ordering::Relaxed);
        self.is_new.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the index was rebuilt since the last call.
    pub(crate) fn was_renewed(&self) -> bool {
        self.is_new.swap(false, Ordering::Relaxed)
    }

    /// A project by its name, from the cache or from the file as `connection` sees it; `None` if it does not
    /// exist.
    pub(crate) fn project(
        &self,
        connection: &Connection,
        name: &str,
        writes: i64,
    ) -> Result<Option<Arc<RwLock<Project>>>> {
        let cached = self.documents.lock().cached(name);
        if cached.is_some() {
            return Ok(cached);
        }
        let Some((key, _)) = entries::named(connection, name)? else { return Ok(None) };
        let project = entries::project(connection, key)?;
        Ok(Some(self.documents.lock().keep(name, project, writes)))
    }

    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Whether to skip work that can wait.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }
}
