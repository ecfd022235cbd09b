//! The waiting jobs, and the selection for the next transaction.

use std::collections::VecDeque;

use futures_util::FutureExt;
use plenary_log::{Batch, Fault, IndexOp, JOBS_PER_COMMIT_MAX, Job, Jobs};

use crate::text::{TEXT_BYTES_MAX, stored};

/// Most bytes of content in one transaction, except the last batch; the rest waits for the next.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// How often other tasks may run before a transaction begins.
const TURNS_MAX: usize = 8;

/// The jobs that were taken and are not yet in a group.
pub(crate) struct Queue {
    jobs: Jobs,
    waiting: VecDeque<Job>,
    arrived: Vec<Job>,
}

impl Queue {
    pub(crate) fn new(jobs: Jobs) -> Self {
        Self { jobs, waiting: VecDeque::new(), arrived: Vec::new() }
    }

    /// Waits for work; false if no job will ever come again.
    pub(crate) async fn wait(&mut self) -> bool {
        while self.waiting.is_empty() {
            self.jobs.take(&mut self.arrived).await;
            if self.arrived.is_empty() {
                return false;
            }
            self.put();
        }
        true
    }

    /// Lets other tasks run, as long as jobs come of it: a transaction costs much more than a job. Without load it
    /// takes no time.
    pub(crate) async fn gather_more(&mut self) {
        for _ in 0..TURNS_MAX {
            tokio::task::yield_now().await;
            if self.waiting.len() >= JOBS_PER_COMMIT_MAX || !self.gather() {
                return;
            }
        }
    }

    /// The jobs of the next transaction, including those that arrived meanwhile.
    pub(crate) fn group(&mut self) -> Vec<Job> {
        if self.waiting.len() < JOBS_PER_COMMIT_MAX {
            self.gather();
        }
        let (mut group, mut bytes) = (Vec::with_capacity(self.waiting.len()), 0);
        while bytes < GROUP_BYTES_MAX
            && group.len() < JOBS_PER_COMMIT_MAX
            && let Some(job) = self.waiting.pop_front()
        {
            bytes += content_bytes(&job.batch);
            group.push(job);
        }
        group
    }

    /// Puts a group back in its place before all others.
    pub(crate) fn put_back(&mut self, group: Vec<Job>) {
        group.into_iter().rev().for_each(|job| self.waiting.push_front(job));
    }

    /// All waiting jobs.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = Job> {
        while self.gather() {}
        self.waiting.drain(..)
    }

    fn gather(&mut self) -> bool {
        let _ = self.jobs.take(&mut self.arrived).now_or_never();
        let more = !self.arrived.is_empty();
        self.put();
        more
    }

    /// Answers a job that can't be stored, so that it does not fail the others.
    fn put(&mut self) {
        for job in self.arrived.drain(..) {
            if fits(&job.batch) {
                self.waiting.push_back(job);
            } else {
                let fault = Fault::Unavailable("a name or key is longer than PostgreSQL can index".into());
                let _ = job.reply.send(Err(fault));
            }
        }
    }
}

fn fits(batch: &Batch) -> bool {
    let bytes = |text: &str| stored(text).len();
    let streams = batch.conditions.iter().map(|condition| &condition.stream);
    let streams =
        streams.chain(batch.events.iter().map(|(stream, _)| stream)).map(|name| bytes(name.as_str()));
    let rows = batch.rows.iter().map(|op| bytes(&op.name));
    let keys = batch.key.iter().map(|claim| bytes(&claim.scope) + bytes(&claim.key));
    let index = batch.index.iter().map(|op| match op {
        IndexOp::Put { name, key, .. } | IndexOp::Delete { name, key } => name.len() + bytes(key),
    });
    streams.chain(rows).chain(keys).chain(index).all(|bytes| bytes <= TEXT_BYTES_MAX)
}

fn content_bytes(batch: &Batch) -> usize {
    let events = batch.events.iter().map(|(_, event)| event.envelope.len() + event.payload.len());
    let rows = batch.rows.iter().filter_map(|op| op.value.as_ref()).map(bytes::Bytes::len);
    let index = batch.index.iter().map(|op| match op {
        IndexOp::Put { value, .. } => value.len(),
        IndexOp::Delete { .. } => 0,
    });
    events.sum::<usize>() + rows.sum::<usize>() + index.sum::<usize>()
}
