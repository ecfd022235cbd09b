//! The shared state of searches and the writing thread: the file's connections, and the documents in memory.
//! Must not know: words.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::{Mutex, RwLock};
use rusqlite::{Connection, Result};

use crate::{documents::Documents, opening};

/// Connections for searches that are kept open; past it one is opened and closed again.
const READERS_KEPT: usize = 8;

/// An index that was opened.
pub(crate) struct Shelf {
    /// The one that writes. In memory searches use it too, for nobody else can see what it holds.
    pub(crate) writer: Mutex<Connection>,
    pub(crate) documents: RwLock<Documents>,
    file: Option<PathBuf>,
    readers: Mutex<Vec<Connection>>,
    is_closing: AtomicBool,
}

impl Shelf {
    pub(crate) fn new(writer: Connection, documents: Documents, file: Option<PathBuf>) -> Self {
        Self {
            writer: Mutex::new(writer),
            documents: RwLock::new(documents),
            file,
            readers: Mutex::default(),
            is_closing: AtomicBool::new(false),
        }
    }

    /// Runs a read on one state of the file.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let Some(file) = &self.file else { return work(&self.writer.lock()) };
        let kept = self.readers.lock().pop();
        let mut connection = kept.map_or_else(|| opening::reader(file), Ok)?;
        let transaction = connection.transaction()?;
        let done = work(&transaction)?;
        transaction.finish()?;
        let mut readers = self.readers.lock();
        if readers.len() < READERS_KEPT {
            readers.push(connection);
        }
        Ok(done)
    }

    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Whether what can wait is to be left.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }
}
