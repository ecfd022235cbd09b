//! The order of runs: a limited number at a time, one of each thread, first come first served.
//! Must not know: what a run is.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_runs::id::ThreadId;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// The turns of one agent.
#[derive(Debug)]
pub(super) struct Turns {
    places: Arc<Semaphore>,
    /// Those that somebody has or waits for.
    threads: Mutex<HashMap<ThreadId, Arc<Queue<()>>>>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct TurnGuard {
    _place: OwnedSemaphorePermit,
    _thread: OwnedMutexGuard<()>,
}

impl Turns {
    pub(super) fn new(at_once_max: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(at_once_max)), threads: Mutex::default() }
    }

    /// Waits for a turn. After a lost connection a thread's run may still be on its way out when the next one comes.
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
