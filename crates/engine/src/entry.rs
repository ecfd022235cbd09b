//! The state of one stream in memory. It runs ahead of the disk: a command evolves it when its batch is queued,
//! so that the next one need not wait for the commit. The batches form a chain, so that none is written on top of
//! one that was not; with its chain broken, the state is loaded again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use plenary_kernel::Version;
use plenary_log::Chain;
use tokio::sync::Mutex;

/// A state and the version it is the fold of.
#[derive(Debug)]
pub(crate) struct Loaded<S> {
    pub(crate) state: Arc<S>,
    pub(crate) version: Version,
    /// The version of the last snapshot.
    pub(crate) snapshot: Version,
    /// Every batch that was decided on this state or on what became of it.
    pub(crate) chain: Chain,
}

#[derive(Debug)]
pub(crate) struct Entry<S> {
    pub(crate) loaded: Mutex<Option<Loaded<S>>>,
    stale: AtomicBool,
    /// The newest version that is known to be on disk, whoever wrote it.
    committed: AtomicU64,
    /// The newest version up to which the state in memory is known to be what is on disk.
    confirmed: AtomicU64,
    /// The version of the state in memory.
    ahead: AtomicU64,
}

impl<S> Entry<S> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            loaded: Mutex::new(None),
            stale: AtomicBool::new(false),
            committed: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        })
    }
    /// Whether somebody else's event was seen since the last call.
    pub(crate) fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }
    /// The state in memory is on disk up to this version.
    pub(crate) fn confirm(&self, version: Version) {
        self.confirmed.fetch_max(version.0, Ordering::AcqRel);
        self.committed.fetch_max(version.0, Ordering::AcqRel);
    }
    pub(crate) fn confirmed(&self) -> Version {
        Version(self.confirmed.load(Ordering::Acquire))
    }
    pub(crate) fn mark_ahead(&self, version: Version) {
        self.ahead.store(version.0, Ordering::Release);
    }
    /// An event was committed: one past the state in memory was written by somebody else.
    pub(crate) fn observe(&self, version: Version) {
        self.committed.fetch_max(version.0, Ordering::AcqRel);
        if version.0 > self.ahead.load(Ordering::Acquire) {
            self.stale.store(true, Ordering::Release);
        }
    }
    pub(crate) fn committed(&self) -> Version {
        Version(self.committed.load(Ordering::Acquire))
    }
}
