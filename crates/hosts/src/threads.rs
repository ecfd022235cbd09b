//! A bounded map of values by thread, lost with the process; and the threads of another agent, which a server keeps.
//! Must not know: the values.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use plenary_runs::{Output, id::ThreadId};
use serde_json::{Value, json};

/// Most threads with a value per agent; beyond it the oldest are dropped.
pub(crate) const THREADS_MAX: usize = 10_000;

/// A value for each thread.
#[derive(Debug)]
pub(crate) struct Threads<T> {
    known: HashMap<ThreadId, T>,
    oldest: VecDeque<ThreadId>,
}

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), oldest: VecDeque::new() }
    }
}

impl<T> Threads<T> {
    /// The value of a thread.
    pub(crate) fn get(&self, thread: ThreadId) -> Option<&T> {
        self.known.get(&thread)
    }

    /// Sets the value of a thread.
    pub(crate) fn learn(&mut self, thread: ThreadId, value: T) {
        if self.known.insert(thread, value).is_none() {
            self.oldest.push_back(thread);
        }
        if self.oldest.len() > THREADS_MAX
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// The longest id of another agent's thread that is kept, in bytes; a longer one is lost with the process.
const KEPT_BYTES_MAX: usize = 1_024;

/// The thread of another agent that continues each thread here. A server keeps it in its store; other hosts of the agent
/// know it as long as they run.
#[derive(Debug)]
pub(crate) struct RemoteThreads {
    /// The URL of the other agent: a thread of another one is none of its threads.
    url: String,
    known: Mutex<Threads<String>>,
}

impl RemoteThreads {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), known: Mutex::default() }
    }

    /// The other agent's thread for the thread of a run. `Err` with the problem, for people.
    pub(crate) async fn find(&self, thread: ThreadId, output: &Output) -> Result<Option<String>, String> {
        if let Some(theirs) = self.known.lock().get(thread) {
            return Ok(Some(theirs.clone()));
        }
        let kept = output.kept().await.map_err(|fault| {
            tracing::error!(%fault, "the thread of another agent cannot be read");
            "the other agent's thread cannot be read".to_owned()
        })?;
        let kept: Value = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let theirs = kept["thread"].as_str().filter(|_| kept["url"] == *self.url);
        Ok(theirs.map(str::to_owned))
    }

    /// Keeps the other agent's thread for the thread of a run.
    pub(crate) async fn learn(&self, thread: ThreadId, theirs: &str, output: &Output) {
        let is_known = self.known.lock().get(thread).is_some_and(|known| known == theirs);
        if is_known {
            return;
        }
        self.known.lock().learn(thread, theirs.to_owned());
        if theirs.len() > KEPT_BYTES_MAX {
            return;
        }
        if let Err(fault) = output.keep(json!({"url": self.url, "thread": theirs}).to_string()).await {
            tracing::warn!(%fault, "the thread of another agent is known only as long as this process runs");
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    #[test]
    fn threads_past_the_limit_are_forgotten_oldest_first() {
        let stamp = |n| Stamp::new(TimestampMs(n), [0; 10]);
        let ids: Vec<_> = (0..=THREADS_MAX as u64).map(|n| ThreadId::mint(&stamp(n), 0)).collect();
        let mut threads = Threads::default();
        ids.iter().for_each(|id| threads.learn(*id, "t"));
        assert_eq!(threads.known.len(), THREADS_MAX);
        assert!(threads.get(ids[0]).is_none() && threads.get(ids[1]).is_some());
    }
}
