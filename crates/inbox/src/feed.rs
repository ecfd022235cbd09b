//! The shared state of one agent's readers in this process: the streams that may have news, the news found so far,
//! and the waiting readers.
//! Must not know: how news are found.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use plenary_kernel::{Position, Version};
use plenary_log::StreamName;
use tokio::sync::watch;

use crate::shelf::Shelves;

/// The start of unread events on a stream: a version, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamGrowth {
    pub(crate) version: Version,
    pub(crate) at: Position,
}

/// One agent's readers.
#[derive(Debug)]
pub(crate) struct AgentFeed {
    /// Streams with new events, each with the first unread one.
    grown: Mutex<HashMap<StreamName, StreamGrowth>>,
    /// Whether events may have been missed.
    is_stale: AtomicBool,
    changed: watch::Sender<()>,
    waits: AtomicUsize,
    pub(crate) shelves: tokio::sync::Mutex<Shelves>,
    /// Whether a background task looks for its items.
    pub(crate) is_gathering: AtomicBool,
    /// When it was last used, on a logical clock that counts requests.
    pub(crate) used: AtomicU64,
}

/// One of an agent's waits; dropping it ends the wait.
pub(crate) struct Wait(Arc<AgentFeed>);

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Default for AgentFeed {
    fn default() -> Self {
        Self {
            grown: Mutex::default(),
            is_stale: AtomicBool::new(false),
            changed: watch::Sender::new(()),
            waits: AtomicUsize::new(0),
            shelves: tokio::sync::Mutex::default(),
            is_gathering: AtomicBool::new(false),
            used: AtomicU64::new(0),
        }
    }
}

impl AgentFeed {
    /// Marks a stream as having new events from this one on.
    pub(crate) fn mark(&self, stream: &StreamName, first: StreamGrowth) {
        let mut grown = self.grown.lock();
        let known = grown.entry(stream.clone()).or_insert(first);
        *known = first.min(*known);
        drop(grown);
        self.wake();
    }

    /// Wakes readers after a change that is not on a stream.
    pub(crate) fn wake(&self) {
        self.changed.send_replace(());
    }

    /// Notes that events may have been missed: everything is searched again.
    pub(crate) fn invalidate(&self) {
        self.is_stale.store(true, Ordering::Release);
        self.wake();
    }

    /// Takes the note that events may have been missed.
    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Moves the marks since the last look into the streams to read.
    pub(crate) fn move_grown(&self, into: &mut HashMap<StreamName, StreamGrowth>) {
        for (stream, first) in self.grown.lock().drain() {
            let known = into.entry(stream).or_insert(first);
            *known = first.min(*known);
        }
    }

    /// A receiver that is notified of every change from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Begins a wait; `None` beyond `max`.
    pub(crate) fn wait(self: &Arc<Self>, max: usize) -> Option<Wait> {
        let counted = |waits: usize| (waits < max).then_some(waits + 1);
        self.waits.fetch_update(Ordering::AcqRel, Ordering::Acquire, counted).ok().map(|_| Wait(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_beyond_the_limit_are_refused() {
        let feed = Arc::new(AgentFeed::default());
        let first = feed.wait(2).unwrap();
        let _second = feed.wait(2).unwrap();
        assert!(feed.wait(2).is_none());
        drop(first);
        assert!(feed.wait(2).is_some());
    }

    #[tokio::test]
    async fn a_mark_wakes_all_waiters_and_keeps_the_lowest_version() {
        let (feed, stream) = (AgentFeed::default(), StreamName::new("t.t", "a"));
        let (mut one, mut other) = (feed.listen(), feed.listen());
        let grown = |version| StreamGrowth { version: Version(version), at: Position(version) };
        feed.mark(&stream, grown(7));
        feed.mark(&stream, grown(5));
        feed.mark(&stream, grown(9));
        one.changed().await.unwrap();
        other.changed().await.unwrap();
        let mut moved = HashMap::new();
        feed.move_grown(&mut moved);
        assert_eq!(moved, HashMap::from([(stream.clone(), grown(5))]));
        feed.mark(&stream, grown(6));
        feed.move_grown(&mut moved);
        assert_eq!(moved, HashMap::from([(stream, grown(5))]));
    }
}
