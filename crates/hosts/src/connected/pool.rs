//! The attached instances of one agent, and the choice of the instance for a run: the instance of its thread,
//! otherwise the least busy one.
//! Must not know: connections.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::AgentHandle;
use plenary_runs::RunRequest;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout_at},
};

use super::instance::{Assignment, Instance};
use crate::threads::Threads;

/// The attached instances of one agent.
#[derive(Debug)]
pub(super) struct InstancePool {
    /// The agent whose token the instances use.
    pub(super) handle: AgentHandle,
    present: Mutex<Present>,
    /// The number of attachments so far.
    attachments: watch::Sender<u64>,
    /// Whether the server no longer runs the agent.
    is_closed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Present {
    last_number: u64,
    instances: BTreeMap<u64, Arc<Instance>>,
    /// A thread stays at its instance as long as that is attached.
    threads: Threads<u64>,
}

impl InstancePool {
    pub(super) fn new(handle: AgentHandle) -> Self {
        let (attachments, is_closed) = (watch::Sender::new(0), watch::Sender::new(false));
        Self { handle, present: Mutex::default(), attachments, is_closed }
    }

    /// Refuses new instances and ends the attached ones.
    pub(super) fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// Whether the pool is closed.
    pub(super) fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    /// Waits until the pool is closed.
    pub(super) async fn closed(&self) {
        // Cannot fail: `self` holds the sender.
        let _ = self.is_closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock()
    }

    /// Adds an instance that gets its runs through `frames`.
    pub(super) fn attach(&self, frames: mpsc::Sender<String>) -> Arc<Instance> {
        let mut present = self.present();
        present.last_number += 1;
        let instance = Arc::new(Instance::new(present.last_number, frames));
        present.instances.insert(instance.number, instance.clone());
        drop(present);
        self.attachments.send_modify(|attachments| *attachments += 1);
        instance
    }

    /// Removes an instance: it gets no more runs, and its runs get no more output. `is_revoked`: its token was
    /// revoked.
    pub(super) fn detach(&self, instance: &Instance, is_revoked: bool) {
        self.present().instances.remove(&instance.number);
        instance.mark_gone(is_revoked);
    }

    /// The number of instances.
    pub(super) fn instances(&self) -> usize {
        self.present().instances.len()
    }

    /// Assigns a run to an instance. Waits for an instance if there is none; `None` after the wait.
    pub(super) async fn assign(&self, request: &RunRequest, wait: Duration) -> Option<Assignment> {
        let deadline = Instant::now() + wait;
        let mut attachments = self.attachments.subscribe();
        loop {
            attachments.borrow_and_update();
            if let Some(assignment) = self.take(request) {
                return Some(assignment);
            }
            timeout_at(deadline, attachments.changed()).await.ok()?.ok()?;
        }
    }

    fn take(&self, request: &RunRequest) -> Option<Assignment> {
        let mut present = self.present();
        let instance_of_thread =
            present.threads.get(request.thread_id).and_then(|number| present.instances.get(number));
        let least_busy = || present.instances.values().min_by_key(|instance| instance.run_count());
        let instance = instance_of_thread.or_else(least_busy)?.clone();
        let assignment = instance.take(request)?;
        present.threads.insert(request.thread_id, instance.number);
        Some(assignment)
    }
}
