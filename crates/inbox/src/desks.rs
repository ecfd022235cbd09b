//! The desks of this process: the agents with recent readers, and the wake-ups when a stream grows.
//! Must not know: how news are found.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::AgentHandle;

use crate::{DESKS_MAX, desk::Desk};

#[derive(Debug, Default)]
pub(crate) struct Desks {
    known: Mutex<HashMap<AgentHandle, Arc<Desk>>>,
    askings: AtomicU64,
}

impl Desks {
    fn lock(&self) -> MutexGuard<'_, HashMap<AgentHandle, Arc<Desk>>> {
        self.known.lock()
    }

    /// The agent's desk; from now on every event that concerns the agent is marked there.
    pub(crate) fn open(&self, handle: &AgentHandle) -> Arc<Desk> {
        let asking = self.askings.fetch_add(1, Ordering::Relaxed);
        let mut known = self.lock();
        if !known.contains_key(handle) && known.len() >= DESKS_MAX {
            // The holder of a desk would no longer be notified, so only unused ones are dropped.
            let idle = known.iter().filter(|(_, desk)| Arc::strong_count(desk) == 1);
            let oldest = idle.min_by_key(|(_, desk)| desk.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(handle, _)| handle.clone()) {
                known.remove(&oldest);
            }
        }
        let desk = known.entry(handle.clone()).or_default().clone();
        desk.used.store(asking, Ordering::Relaxed);
        desk
    }

    /// Whether there are no desks.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The existing desks of the agents.
    pub(crate) fn of<'a>(&self, handles: impl Iterator<Item = &'a AgentHandle>) -> Vec<Arc<Desk>> {
        let known = self.lock();
        handles.filter_map(|handle| known.get(handle).cloned()).collect()
    }

    /// Wakes the waiting agents of an owner.
    pub(crate) fn wake_owner(&self, owner: &str) {
        let known = self.lock();
        known.iter().filter(|(handle, _)| handle.owner() == owner).for_each(|(_, desk)| desk.wake());
    }

    /// All agents with a desk.
    pub(crate) fn all(&self) -> Vec<(AgentHandle, Arc<Desk>)> {
        self.lock().iter().map(|(handle, desk)| (handle.clone(), desk.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: usize) -> AgentHandle {
        format!("@a.b{n}").parse().unwrap()
    }

    #[test]
    fn beyond_the_limit_the_least_recently_used_idle_desk_is_dropped() {
        let desks = Desks::default();
        let held = desks.open(&agent(0));
        for n in 1..DESKS_MAX {
            desks.open(&agent(n));
        }
        desks.open(&agent(1));
        desks.open(&agent(DESKS_MAX));
        let left = |n| desks.of([agent(n)].iter()).len();
        assert_eq!((left(0), left(1), left(2), left(DESKS_MAX)), (1, 1, 0, 1));
        drop(held);
        desks.open(&agent(DESKS_MAX + 1));
        assert_eq!(left(0), 0);
    }
}
