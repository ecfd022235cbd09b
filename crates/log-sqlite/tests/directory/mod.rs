//! What the tests of this crate share: a directory that goes when the test ends, a store in it, and short batches.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use plenary_kernel::TimestampMs;
use plenary_log::{Batch, Feed, Log, NewEvent, OpenedLog, StreamName};
use plenary_log_sqlite::{OpenError, Options, StoreClose, open};

/// A new directory, removed when dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{}-{nth}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    pub(crate) fn open(&self, options: Options) -> Result<Store, OpenError> {
        let (OpenedLog { log, feed }, closing) = open(&self.0, options)?;
        Ok(Store { log, feed, closing })
    }
    /// Changes the file behind the store's back, while it is closed or to break it.
    pub(crate) fn tamper(&self, sql: &str) {
        self.connection().execute_batch(sql).expect("the change is made");
    }
    pub(crate) fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file("plenary.db")).expect("the file opens")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An open store.
pub(crate) struct Store {
    pub(crate) log: Log,
    pub(crate) feed: Feed,
    pub(crate) closing: StoreClose,
}

impl Store {
    pub(crate) async fn close(self) {
        drop((self.log, self.feed));
        self.closing.wait().await;
    }
}

pub(crate) fn stream(id: &str) -> StreamName {
    StreamName::new("test.stream", id)
}

/// One event with a payload.
pub(crate) fn message(stream: &StreamName, payload: impl Into<Bytes>) -> Batch {
    let event =
        NewEvent { kind: "Said", form: 1, envelope: Bytes::from_static(b"e"), payload: payload.into() };
    Batch { events: vec![(stream.clone(), event)], at: TimestampMs(1), ..Batch::default() }
}
