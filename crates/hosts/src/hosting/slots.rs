//! Schedules runs: a limited number at a time, one per thread, first come first served.
//! Must not know: what a run is.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_runs::id::ThreadId;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// The turns of one agent.
#[derive(Debug)]
pub(super) struct Turns {
    places: Arc<Semaphore>,
    /// The threads with an active or waiting run.
    threads: Mutex<HashMap<ThreadId, Arc<Queue<()>>>>,
}

/// A turn; dropping it releases the turn.
#[derive(Debug)]
pub(super) struct TurnGuard {
    _place: OwnedSemaphorePermit,
    _thread: OwnedMutexGuard<()>,
}

impl Turns {
    pub(super) fn new(at_once_max: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(at_once_max)), threads: Mutex::default() }
    }

    /// Waits for a turn. After a lost connection, the previous run of a thread may still be ending when the next one
    /// arrives.
    pub(super) async fn take(&self, thread: ThreadId) -> TurnGuard {
        let thread = self.thread(thread).lock_owned().await;
        let place = self.places.clone().acquire_owned().await.expect("the places are never closed");
        TurnGuard { _place: place, _thread: thread }
    }

    fn thread(&self, thread: ThreadId) -> Arc<Queue<()>> {
        let mut threads = self.threads.lock();
        threads.retain(|_, queue| Arc::strong_count(queue) > 1);
        threads.entry(thread).or_default().clone()
    }
}
