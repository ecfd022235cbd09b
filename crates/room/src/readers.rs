//! The readers of a live stream: registered, woken, and closed when the server stops. Carries wake-ups only, no
//! payloads.
//! Must not know: HTTP; what a reader does with the events.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use plenary_hub::{CloseReason, Mailbox};
use plenary_kernel::Version;
use plenary_log::StreamName;

/// The readers that follow a stream live in this process. `B` identifies the holder of a budget of live streams, `W`
/// describes the reader. Cheap to clone.
#[derive(Debug)]
pub struct Watchers<B: Eq + Hash + Clone, W> {
    registry: Arc<Mutex<Registry<B, W>>>,
    per_budget_max: usize,
}

impl<B: Eq + Hash + Clone, W> Clone for Watchers<B, W> {
    fn clone(&self) -> Self {
        Self { registry: self.registry.clone(), per_budget_max: self.per_budget_max }
    }
}

#[derive(Debug)]
struct Registry<B, W> {
    closed: bool,
    next: u64,
    by_stream: HashMap<StreamName, Vec<Watcher<W>>>,
    by_budget: HashMap<B, usize>,
}

#[derive(Debug)]
struct Watcher<W> {
    number: u64,
    follower: W,
    mailbox: Arc<Mailbox>,
}

/// Why a reader can't watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotWatch {
    /// The budget is used up.
    TooMany,
    /// The server is stopping.
    Stopping,
}

/// The registration of one watcher; dropping it ends the registration.
#[derive(Debug)]
pub struct Watch<B: Eq + Hash + Clone, W> {
    watchers: Watchers<B, W>,
    number: u64,
    budget: B,
    stream: StreamName,
    mailbox: Arc<Mailbox>,
}

impl<B: Eq + Hash + Clone, W> Watchers<B, W> {
    /// An empty registry; each budget allows `per_budget_max` live streams.
    pub fn new(per_budget_max: usize) -> Self {
        let registry =
            Registry { closed: false, next: 0, by_stream: HashMap::new(), by_budget: HashMap::new() };
        Self { registry: Arc::new(Mutex::new(registry)), per_budget_max }
    }

    /// Registers a watcher. Every later commit on the stream marks its mailbox.
    ///
    /// # Errors
    /// When the budget is used up, or the server is stopping.
    pub fn watch(&self, stream: &StreamName, follower: W, budget: B) -> Result<Watch<B, W>, CannotWatch> {
        let mut registry = self.registry.lock();
        if registry.closed {
            return Err(CannotWatch::Stopping);
        }
        let count = registry.by_budget.entry(budget.clone()).or_default();
        if *count >= self.per_budget_max {
            return Err(CannotWatch::TooMany);
        }
        *count += 1;
        registry.next += 1;
        let (number, mailbox) = (registry.next, Arc::new(Mailbox::default()));
        let watcher = Watcher { number, follower, mailbox: mailbox.clone() };
        registry.by_stream.entry(stream.clone()).or_default().push(watcher);
        Ok(Watch { watchers: self.clone(), number, budget, stream: stream.clone(), mailbox })
    }

    /// Ends every live stream; no new one begins.
    pub fn close(&self) {
        let mut registry = self.registry.lock();
        registry.closed = true;
        registry
            .by_stream
            .values()
            .flatten()
            .for_each(|watcher| watcher.mailbox.close(CloseReason::Shutdown));
    }

    /// Whether anyone follows the stream.
    pub fn has(&self, stream: &StreamName) -> bool {
        self.registry.lock().by_stream.contains_key(stream)
    }

    /// The streams that somebody follows.
    pub fn streams(&self) -> Vec<StreamName> {
        self.registry.lock().by_stream.keys().cloned().collect()
    }

    /// Wakes the followers of the stream: it has new events from version `first` on.
    pub fn wake(&self, stream: &StreamName, first: Version) {
        let registry = self.registry.lock();
        let watchers = registry.by_stream.get(stream).into_iter().flatten();
        watchers.for_each(|watcher| watcher.mailbox.mark(stream, first));
    }

    /// Makes the followers of the stream check their permission again.
    pub fn recheck(&self, stream: &StreamName) {
        let registry = self.registry.lock();
        registry.by_stream.get(stream).into_iter().flatten().for_each(|watcher| watcher.mailbox.recheck());
    }

    /// Makes the followers that a change concerns check their permission again, on every stream.
    pub fn recheck_where(&self, is_concerned: impl Fn(&W) -> bool) {
        let registry = self.registry.lock();
        let watchers = registry.by_stream.values().flatten();
        watchers
            .filter(|watcher| is_concerned(&watcher.follower))
            .for_each(|watcher| watcher.mailbox.recheck());
    }
}

impl<B: Eq + Hash + Clone, W> Watch<B, W> {
    /// The followed stream.
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }

    /// The mailbox that wakes the watcher.
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }
}

impl<B: Eq + Hash + Clone, W> Drop for Watch<B, W> {
    fn drop(&mut self) {
        let mut registry = self.watchers.registry.lock();
        if let Some(watchers) = registry.by_stream.get_mut(&self.stream) {
            watchers.retain(|watcher| watcher.number != self.number);
            if watchers.is_empty() {
                registry.by_stream.remove(&self.stream);
            }
        }
        if let Some(count) = registry.by_budget.get_mut(&self.budget) {
            *count -= 1;
            if *count == 0 {
                registry.by_budget.remove(&self.budget);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(id: &str) -> StreamName {
        StreamName::new("t.t", id)
    }

    #[tokio::test]
    async fn past_the_budget_nobody_watches_until_somebody_leaves() {
        let watchers = Watchers::new(2);
        let watch = |budget| watchers.watch(&stream("a"), (), budget);
        let (first, _second) = (watch(1).unwrap(), watch(1).unwrap());
        assert_eq!(watch(1).err(), Some(CannotWatch::TooMany));
        let _other = watch(2).unwrap();
        drop(first);
        let third = watch(1).unwrap();
        watchers.wake(&stream("b"), Version(1));
        watchers.wake(&stream("a"), Version(7));
        third.mailbox().wait().await;
        assert_eq!(third.mailbox().take().streams.get(&stream("a")), Some(&Version(7)));
        watchers.close();
        assert!(third.mailbox().take().closing.is_some());
        assert_eq!(watch(3).err(), Some(CannotWatch::Stopping));
        drop((_second, _other, third));
        assert!(!watchers.has(&stream("a")), "who left is forgotten");
        assert!(watchers.registry.lock().by_budget.is_empty());
    }
}
