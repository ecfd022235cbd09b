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
    values: HashMap<ThreadId, T>,
    oldest: VecDeque<ThreadId>,
}

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self { values: HashMap::new(), oldest: VecDeque::new() }
    }
}

impl<T> Threads<T> {
    /// The value of a thread.
    pub(crate) fn get(&self, thread: ThreadId) -> Option<&T> {
        self.values.get(&thread)
    }

    /// Sets the value of a thread.
    pub(crate) fn insert(&mut self, thread: ThreadId, value: T) {
        if self.values.insert(thread, value).is_none() {
            self.oldest.push_back(thread);
        }
        if self.oldest.len() > THREADS_MAX
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.values.remove(&oldest);
        }
    }
}

/// The longest id of another agent's thread that is kept, in bytes; a longer one is lost with the process.
const STORED_ID_BYTES_MAX: usize = 1_024;

/// The thread of another agent that continues each thread here. A server keeps it in its store; other hosts of the agent
/// know it as long as they run.
#[derive(Debug)]
pub(crate) struct RemoteThreads {
    /// The URL of the other agent: a thread of another one is none of its threads.
    url: String,
    threads: Mutex<Threads<String>>,
}

impl RemoteThreads {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), threads: Mutex::default() }
    }

    /// The other agent's thread for the thread of a run. `Err` with the problem, for people.
    pub(crate) async fn find(&self, thread: ThreadId, output: &Output) -> Result<Option<String>, String> {
        if let Some(remote_thread) = self.threads.lock().get(thread) {
            return Ok(Some(remote_thread.clone()));
        }
        let text = output.stored_text().await.map_err(|fault| {
            tracing::error!(%fault, "the thread of another agent cannot be read");
            "the other agent's thread cannot be read".to_owned()
        })?;
        let stored: Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let remote_thread = stored["thread"].as_str().filter(|_| stored["url"] == *self.url);
        Ok(remote_thread.map(str::to_owned))
    }

    /// Keeps the other agent's thread for the thread of a run.
    pub(crate) async fn store(&self, thread: ThreadId, remote_thread: &str, output: &Output) {
        let is_known = self.threads.lock().get(thread).is_some_and(|id| id == remote_thread);
        if is_known {
            return;
        }
        self.threads.lock().insert(thread, remote_thread.to_owned());
        if remote_thread.len() > STORED_ID_BYTES_MAX {
            return;
        }
        if let Err(fault) =
            output.store_text(json!({"url": self.url, "thread": remote_thread}).to_string()).await
        {
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
        ids.iter().for_each(|id| threads.insert(*id, "t"));
        assert_eq!(threads.values.len(), THREADS_MAX);
        assert!(threads.get(ids[0]).is_none() && threads.get(ids[1]).is_some());
    }
}
