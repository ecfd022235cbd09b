//! Schedules runs: a limited number at a time, one per thread, first come first served.
//! Must not know: what a run is.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_runs::id::ThreadId;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Limits the concurrent runs of one agent, and runs those of one thread one after the other.
#[derive(Debug)]
pub(super) struct RunSlots {
    permits: Arc<Semaphore>,
    /// The threads with an active or waiting run.
    threads: Mutex<HashMap<ThreadId, Arc<Queue<()>>>>,
}

/// The right to run; dropping it lets the next run start.
#[derive(Debug)]
pub(super) struct RunSlot {
    _permit: OwnedSemaphorePermit,
    _thread: OwnedMutexGuard<()>,
}

impl RunSlots {
    pub(super) fn new(at_once_max: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(at_once_max)), threads: Mutex::default() }
    }

    /// Waits until the run may start. After a lost connection, the previous run of a thread may still be ending when the next one
    /// arrives.
    pub(super) async fn take(&self, thread: ThreadId) -> RunSlot {
        let thread = self.thread(thread).lock_owned().await;
        let permit = self.permits.clone().acquire_owned().await.expect("the permits are never closed");
        RunSlot { _permit: permit, _thread: thread }
    }

    fn thread(&self, thread: ThreadId) -> Arc<Queue<()>> {
        let mut threads = self.threads.lock();
        threads.retain(|_, queue| Arc::strong_count(queue) > 1);
        threads.entry(thread).or_default().clone()
    }
}
