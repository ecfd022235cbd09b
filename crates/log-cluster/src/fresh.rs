//! Reads that are as fresh as the journal: before a read, the node applies all records that the journal has at that
//! time. Concurrent reads share one request to the journal. A disconnected node reads its own file as it is.
//! A file that turns out to be damaged is marked, so that the next start builds it again.
//! Must not know: how records are applied.

use std::{fs, future::Future, path::PathBuf, sync::Arc, time::Duration};

use plenary_journal::{Journal, ReadError};
use plenary_kernel::{Position, Version};
use plenary_log::{
    Fault, FoundRow, KeyRecord, Order, Read, Reads, Row, StoredEvent, StreamName, StreamNews, Usage,
};
use plenary_log_sqlite::damage;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};

/// Most reads that wait for the journal; beyond it a read waits for a slot in the queue.
const READS_WAITING_MAX: usize = 4_096;
/// How long reads do not wait for a journal that has failed to answer.
const CUT_OFF: Duration = Duration::from_secs(2);

/// The reads of a node.
pub(crate) struct Fresh {
    pub(crate) inner: Arc<dyn Reads>,
    queue: mpsc::Sender<oneshot::Sender<()>>,
    mark: Mark,
}

/// The marker file of a damaged replica: the next start sets the replica aside and builds it again.
#[derive(Debug, Clone)]
pub(crate) struct Mark(pub(crate) PathBuf);

impl Mark {
    /// Marks the replica if a fault says that its file is damaged. Returns whether it does.
    pub(crate) fn mark_if_damaged(&self, fault: &Fault) -> bool {
        let Some(why) = damage(fault) else { return false };
        if !self.0.exists() {
            let marked = fs::write(&self.0, why);
            tracing::error!(
                why,
                is_marked = marked.is_ok(),
                "this node's file is damaged; its next start builds it again"
            );
        }
        true
    }
}

/// The gate that reads pass.
pub(crate) struct Gate {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) applied: watch::Receiver<u64>,
    pub(crate) target: watch::Sender<u64>,
    pub(crate) wait: Duration,
}

impl Fresh {
    /// The reads of a replica behind a gate; starts the gate's task.
    pub(crate) fn new(inner: Arc<dyn Reads>, gate: Gate, mark: Mark) -> Self {
        let (queue, requests) = mpsc::channel(READS_WAITING_MAX);
        tokio::spawn(gate.keep(requests));
        Self { inner, queue, mark }
    }

    /// Reads after the file is as fresh as the journal. Marks the replica if the file turns out to be
    /// damaged.
    fn read<'a, T: 'a>(&'a self, read: impl Future<Output = Result<T, Fault>> + Send + 'a) -> Read<'a, T> {
        Box::pin(async move {
            self.ready().await;
            let answer = read.await;
            if let Err(fault) = &answer {
                self.mark.mark_if_damaged(fault);
            }
            answer
        })
    }

    async fn ready(&self) {
        let (let_through, through) = oneshot::channel();
        if self.queue.send(let_through).await.is_ok() {
            let _ = through.await;
        }
    }
}

impl Gate {
    async fn keep(mut self, mut requests: mpsc::Receiver<oneshot::Sender<()>>) {
        let mut cut_off_until = None;
        while let Some(first) = requests.recv().await {
            let mut waiting = vec![first];
            while let Ok(more) = requests.try_recv() {
                waiting.push(more);
            }
            if cut_off_until.is_none_or(|until| Instant::now() >= until) {
                let fresh = timeout(self.wait, self.reach_target()).await;
                let is_fresh = matches!(fresh, Ok(Ok(())));
                if !is_fresh && cut_off_until.is_none() {
                    tracing::warn!("the journal does not answer: reads are as old as this node's file");
                }
                cut_off_until = (!is_fresh).then(|| Instant::now() + CUT_OFF);
            }
            for reader in waiting {
                let _ = reader.send(());
            }
        }
    }

    async fn reach_target(&mut self) -> Result<(), ReadError> {
        let last = self.journal.extent().await?.last;
        self.target.send_if_modified(|target| {
            let is_more = last > *target;
            *target = last.max(*target);
            is_more
        });
        // A node that has ended applies no more records.
        let _ = self.applied.wait_for(|applied| *applied >= last).await;
        Ok(())
    }
}

impl Reads for Fresh {
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>> {
        self.read(async move { self.inner.read_stream(stream, after, max).await })
    }
    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>> {
        self.read(async move { self.inner.read_log(after, max).await })
    }
    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>> {
        self.read(async move { self.inner.read_index(name, prefix, after, max, order).await })
    }
    fn keys_of<'a>(&'a self, name: &'a str, keys: &'a [String]) -> Read<'a, Vec<String>> {
        self.read(async move { self.inner.keys_of(name, keys).await })
    }
    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>> {
        self.read(async move { self.inner.read_row(name).await })
    }
    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>> {
        self.read(async move { self.inner.read_rows(prefix, after, max).await })
    }
    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>> {
        self.read(async move { self.inner.read_key(scope, key).await })
    }
    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage> {
        self.read(async move { self.inner.read_usage(account).await })
    }
    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>> {
        self.read(async move { self.inner.streams_between(category, after, until).await })
    }
    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>> {
        self.read(async move { self.inner.streams_after(streams, after).await })
    }
    fn head(&self) -> Read<'_, Position> {
        self.read(async move { self.inner.head().await })
    }
}
