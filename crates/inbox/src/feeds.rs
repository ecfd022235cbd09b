//! The feeds of this process: the agents with recent readers, and the wake-ups when a stream grows.
//! Must not know: how news are found.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use plenary_kernel::AgentHandle;

use crate::{AGENT_FEEDS_MAX, feed::AgentFeed};

#[derive(Debug, Default)]
pub(crate) struct AgentFeeds {
    known: Mutex<HashMap<AgentHandle, Arc<AgentFeed>>>,
    uses: AtomicU64,
}

impl AgentFeeds {
    /// The agent's feed; from now on every event that concerns the agent is marked there.
    pub(crate) fn open(&self, handle: &AgentHandle) -> Arc<AgentFeed> {
        let use_number = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut known = self.known.lock();
        if !known.contains_key(handle) && known.len() >= AGENT_FEEDS_MAX {
            // The holder of a feed would no longer be notified, so only unused ones are dropped.
            let idle = known.iter().filter(|(_, feed)| Arc::strong_count(feed) == 1);
            let oldest = idle.min_by_key(|(_, feed)| feed.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(handle, _)| handle.clone()) {
                known.remove(&oldest);
            }
        }
        let feed = known.entry(handle.clone()).or_default().clone();
        feed.used.store(use_number, Ordering::Relaxed);
        feed
    }

    /// Whether there are no feeds.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.lock().is_empty()
    }

    /// The existing feeds of the agents.
    pub(crate) fn of<'a>(&self, handles: impl Iterator<Item = &'a AgentHandle>) -> Vec<Arc<AgentFeed>> {
        let known = self.known.lock();
        handles.filter_map(|handle| known.get(handle).cloned()).collect()
    }

    /// Wakes the waiting agents of an owner.
    pub(crate) fn wake_owner(&self, owner: &str) {
        let known = self.known.lock();
        known.iter().filter(|(handle, _)| handle.owner() == owner).for_each(|(_, feed)| feed.wake());
    }

    pub(crate) fn all(&self) -> Vec<(AgentHandle, Arc<AgentFeed>)> {
        self.known.lock().iter().map(|(handle, feed)| (handle.clone(), feed.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: usize) -> AgentHandle {
        format!("@a.b{n}").parse().unwrap()
    }

    #[test]
    fn beyond_the_limit_the_least_recently_used_idle_feed_is_dropped() {
        let feeds = AgentFeeds::default();
        let in_use = feeds.open(&agent(0));
        for n in 1..AGENT_FEEDS_MAX {
            feeds.open(&agent(n));
        }
        feeds.open(&agent(1));
        feeds.open(&agent(AGENT_FEEDS_MAX));
        let count = |n| feeds.of([agent(n)].iter()).len();
        assert_eq!((count(0), count(1), count(2), count(AGENT_FEEDS_MAX)), (1, 1, 0, 1));
        drop(in_use);
        feeds.open(&agent(AGENT_FEEDS_MAX + 1));
        assert_eq!(count(0), 0);
    }
}
