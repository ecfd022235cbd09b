//! The state of one stream in memory. It is ahead of the disk: a command evolves it when its batch is queued, so that
//! the next command need not wait for the commit. The batches form a chain, so that none is written after a failed
//! one; when its chain breaks, the state is loaded again.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_kernel::Version;
use plenary_log::{Chain, StreamName};
use tokio::sync::Mutex;

use crate::SNAPSHOT_EVERY;

/// A state with its version and its basis.
#[derive(Debug)]
pub struct LookedUp<S> {
    /// The state.
    pub state: Arc<S>,
    /// Its version.
    pub version: Version,
    /// The chain that it was decided in, if it may not be on disk.
    pub upon: Option<Chain>,
    /// Whether the store was read.
    pub was_read: bool,
}

/// A state with the version that it folds.
#[derive(Debug)]
pub(crate) struct LoadedState<S> {
    pub(crate) state: Arc<S>,
    pub(crate) version: Version,
    /// The version of the last snapshot.
    pub(crate) snapshot: Version,
    /// The chain of all batches that were decided on this state or its successors.
    pub(crate) chain: Chain,
    /// The newest version of this chain that is known to be on disk. A version of another chain says
    /// nothing about this one.
    pub(crate) confirmed: Arc<AtomicU64>,
    /// The state to restart from after the chain breaks.
    base: Option<Base<S>>,
}

/// The state on disk at a load after a broken chain. A process that has lost to another writer may lose
/// again, and then reads only the newer events: reading a long stream from its snapshot takes so long
/// that it would lose every time.
#[derive(Debug)]
struct Base<S> {
    state: Arc<S>,
    version: Version,
    snapshot: Version,
}

impl<S> LoadedState<S> {
    pub(crate) fn on_disk(stream: &StreamName, state: S, version: Version) -> Self {
        Self::from_base(stream, Base { state: Arc::new(state), version, snapshot: version })
    }
    fn from_base(stream: &StreamName, Base { state, version, snapshot }: Base<S>) -> Self {
        let confirmed = Arc::new(AtomicU64::new(version.0));
        Self { state, version, snapshot, chain: Chain::new(stream.clone()), confirmed, base: None }
    }
    /// The kept base state, if there is one, unless it is so far behind the `newest` observed version
    /// that a snapshot is nearer.
    pub(crate) fn again(self, stream: &StreamName, newest: Version) -> Option<Self> {
        let newest = newest.0.max(self.confirmed.load(Ordering::Acquire));
        let base = self.base.filter(|base| newest.saturating_sub(base.version.0) < SNAPSHOT_EVERY);
        base.map(|base| Self::from_base(stream, base))
    }
    /// Keeps the current state, which is on disk, as the base for a restart.
    pub(crate) fn keep_base(&mut self) {
        let (state, version, snapshot) = (self.state.clone(), self.version, self.snapshot);
        self.base = Some(Base { state, version, snapshot });
    }
    /// Notes that the state is on disk up to this version.
    pub(crate) fn confirm(&self, version: Version) {
        self.confirmed.fetch_max(version.0, Ordering::AcqRel);
    }
    /// Whether part of the state is not known to be on disk.
    pub(crate) fn is_ahead(&self) -> bool {
        self.version.0 > self.confirmed.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
pub(crate) struct Entry<S> {
    pub(crate) stream: StreamName,
    pub(crate) loaded: Mutex<Option<LoadedState<S>>>,
    /// The newest version that was observed, or found by a load.
    observed: AtomicU64,
    /// The version of the state in memory; after it was dropped, its last version.
    ahead: AtomicU64,
}

impl<S> Entry<S> {
    pub(crate) fn new(stream: StreamName) -> Arc<Self> {
        Arc::new(Self {
            stream,
            loaded: Mutex::new(None),
            observed: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        })
    }
    /// Whether the state in memory lacks an observed event: another process wrote it.
    pub(crate) fn is_stale(&self) -> bool {
        self.observed().0 > self.ahead().0
    }
    pub(crate) fn ahead(&self) -> Version {
        Version(self.ahead.load(Ordering::Acquire))
    }
    pub(crate) fn mark_ahead(&self, version: Version) {
        self.ahead.store(version.0, Ordering::Release);
    }
    /// Notes that an event of this version is committed.
    pub(crate) fn observe(&self, version: Version) {
        self.observed.fetch_max(version.0, Ordering::AcqRel);
    }
    pub(crate) fn observed(&self) -> Version {
        Version(self.observed.load(Ordering::Acquire))
    }
}
