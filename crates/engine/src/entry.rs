//! The state of one stream in memory. It runs ahead of the disk: a command evolves it when its batch is queued,
//! so that the next one need not wait for the commit. The batches form a chain, so that none is written on top of
//! one that was not; with its chain broken, the state is loaded again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use plenary_kernel::Version;
use plenary_log::{Chain, StreamName};
use tokio::sync::Mutex;

/// A state, and what it took to know it.
#[derive(Debug)]
pub struct LookedUp<S> {
    /// The state.
    pub state: Arc<S>,
    /// Its version.
    pub version: Version,
    /// Whether the store had to be asked.
    pub asked: bool,
}

/// A state and the version it is the fold of.
#[derive(Debug)]
pub(crate) struct Loaded<S> {
    pub(crate) state: Arc<S>,
    pub(crate) version: Version,
    /// The version of the last snapshot.
    pub(crate) snapshot: Version,
    /// Every batch that was decided on this state or on what became of it.
    pub(crate) chain: Chain,
    /// The newest version of this chain that is known to be on disk. What is on disk at a version of another chain
    /// says nothing of this one.
    pub(crate) confirmed: Arc<AtomicU64>,
}

impl<S> Loaded<S> {
    /// Whether there is something in the state that is not known to be on disk.
    pub(crate) fn is_ahead(&self) -> bool {
        self.version.0 > self.confirmed.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
pub(crate) struct Entry<S> {
    pub(crate) stream: StreamName,
    pub(crate) loaded: Mutex<Option<Loaded<S>>>,
    stale: AtomicBool,
    /// The newest version that was observed, or found at a load.
    observed: AtomicU64,
    /// The version of the state in memory.
    ahead: AtomicU64,
}

impl<S> Entry<S> {
    pub(crate) fn new(stream: StreamName) -> Arc<Self> {
        Arc::new(Self {
            stream,
            loaded: Mutex::new(None),
            stale: AtomicBool::new(false),
            observed: AtomicU64::new(0),
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
    pub(crate) fn mark_ahead(&self, version: Version) {
        self.ahead.store(version.0, Ordering::Release);
    }
    /// An event was committed: one past the state in memory was written by somebody else.
    pub(crate) fn observe(&self, version: Version) {
        self.mark_observed(version);
        if version.0 > self.ahead.load(Ordering::Acquire) {
            self.stale.store(true, Ordering::Release);
        }
    }
    pub(crate) fn mark_observed(&self, version: Version) {
        self.observed.fetch_max(version.0, Ordering::AcqRel);
    }
    pub(crate) fn observed(&self) -> Version {
        Version(self.observed.load(Ordering::Acquire))
    }
}
