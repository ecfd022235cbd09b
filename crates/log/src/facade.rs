//! The interface of the log: one bounded queue to the one writer, concurrent reads, and the feed of
//! commits. A backend takes `Jobs`, commits them in groups, answers each, and publishes to the `Feeder`.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

use parking_lot::Mutex;
use plenary_kernel::{Position, Version};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    Batch, Chain, Charge, ExceededQuota, FEED_WAITING_MAX, Fault, FoundRow, IndexRow, JOBS_PER_COMMIT_MAX,
    JOBS_WAITING_MAX, KeyRecord, Ledger, Order, Outcome, Pledge, Reads, Row, Signals, StoredEvent,
    StreamName, StreamNews, Usage,
    measured::{AppendMetrics, AppendTimer},
};

/// A batch on its way to the writer.
#[derive(Debug)]
pub struct Job {
    /// The batch to write.
    pub batch: Batch,
    /// The channel for the outcome, after the commit.
    pub reply: Reply,
}

/// The channel for the outcome of one batch. A batch that is not known to be written breaks its chain
/// before the writer looks at the next batch.
#[derive(Debug)]
pub struct Reply {
    to: Option<oneshot::Sender<Result<Outcome, Fault>>>,
    chain: Option<Chain>,
    written: Arc<LastWrite>,
    measured: AppendTimer,
}

/// Whether the last answered write succeeded.
#[derive(Debug, Default)]
struct LastWrite {
    has_failed: AtomicBool,
    fault: Mutex<Option<Fault>>,
    metrics: AppendMetrics,
}

impl LastWrite {
    fn note(&self, outcome: &Result<Outcome, Fault>) {
        let fault = match outcome {
            // Damaged data says nothing about the next write.
            Ok(_) | Err(Fault::Corrupt(_)) => None,
            Err(fault) => Some(fault.clone()),
        };
        if fault.is_some() || self.has_failed.load(Ordering::Acquire) {
            self.has_failed.store(fault.is_some(), Ordering::Release);
            *self.fault.lock() = fault;
        }
    }
}

impl Reply {
    /// When the append began to wait.
    pub fn since(&self) -> Instant {
        self.measured.since()
    }
    /// Sends the outcome; returns it if the receiver is gone.
    pub fn send(mut self, outcome: Result<Outcome, Fault>) -> Result<(), Result<Outcome, Fault>> {
        if matches!(outcome, Ok(Outcome::Appended(_))) {
            self.chain = None;
        }
        self.written.note(&outcome);
        match self.to.take() {
            Some(to) => to.send(outcome),
            None => Err(outcome),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(chain) = &self.chain {
            chain.break_off();
        }
    }
}

/// An entry of the queue: a job, or `None` to close the queue.
type Item = Option<Job>;

/// The writer's end of the queue.
#[derive(Debug)]
pub struct Jobs {
    queue: mpsc::Receiver<Item>,
    items: Vec<Item>,
}

impl Jobs {
    /// Blocks until there are jobs; takes all waiting ones, up to one commit's worth. Leaves `into`
    /// empty if no job will ever come again.
    pub fn take_blocking(&mut self, into: &mut Vec<Job>) {
        while into.is_empty() && self.queue.blocking_recv_many(&mut self.items, JOBS_PER_COMMIT_MAX) > 0 {
            self.unpack(into);
        }
    }
    /// Waits until there are jobs; takes them as [`Jobs::take_blocking`] does.
    pub async fn take(&mut self, into: &mut Vec<Job>) {
        while into.is_empty() && self.queue.recv_many(&mut self.items, JOBS_PER_COMMIT_MAX).await > 0 {
            self.unpack(into);
        }
    }

    fn unpack(&mut self, into: &mut Vec<Job>) {
        for item in self.items.drain(..) {
            match item {
                Some(job) => into.push(job),
                None => self.queue.close(),
            }
        }
    }
}

/// The backend's end of the feed: it publishes committed events, in position order without gaps, and
/// reports a fatal fault.
#[derive(Debug, Clone)]
pub struct Feeder {
    committed: mpsc::Sender<Arc<[StoredEvent]>>,
    fatal: watch::Sender<Option<Fault>>,
}

impl Feeder {
    /// Publishes from a thread; blocks while the reader is behind. A dropped reader is not an error.
    pub fn publish_blocking(&self, events: Arc<[StoredEvent]>) {
        if !events.is_empty() {
            let _ = self.committed.blocking_send(events);
        }
    }
    /// Publishes; waits while the reader is behind. A dropped reader is not an error.
    pub async fn publish(&self, events: Arc<[StoredEvent]>) {
        if !events.is_empty() {
            let _ = self.committed.send(events).await;
        }
    }
    /// A write or flush failed: the process must end and recover on its next start.
    pub fn fail(&self, fault: Fault) {
        tracing::error!(%fault, "the store failed; the process ends");
        self.fatal.send_replace(Some(fault));
    }
}

/// Everything that was committed since the log was opened, in position order, without gaps.
#[derive(Debug)]
pub struct Feed(mpsc::Receiver<Arc<[StoredEvent]>>);

impl Feed {
    /// The next group; `None` once the writer is gone.
    pub async fn next(&mut self) -> Option<Arc<[StoredEvent]>> {
        self.0.recv().await
    }

    /// A group joined with the waiting groups after it, up to about `max` events.
    pub fn joined(&mut self, first: Arc<[StoredEvent]>, max: usize) -> Arc<[StoredEvent]> {
        let Ok(second) = self.0.try_recv() else { return first };
        let mut events = [first, second].concat();
        while events.len() < max
            && let Ok(more) = self.0.try_recv()
        {
            events.extend_from_slice(&more);
        }
        events.into()
    }
}

/// An opened log with its only feed.
pub struct OpenedLog {
    /// The log.
    pub log: Log,
    /// The events that are committed from now on.
    pub feed: Feed,
}

/// The log. Cheap to clone.
#[derive(Clone)]
pub struct Log {
    jobs: mpsc::Sender<Item>,
    reads: Arc<dyn Reads>,
    fatal: watch::Receiver<Option<Fault>>,
    signals: Signals,
    shared: bool,
    written: Arc<LastWrite>,
    ledger: Arc<Ledger>,
}

/// The ends of a log's channels, for a backend that is being opened.
pub fn channel() -> (Channel, Jobs, Feeder) {
    let (jobs, jobs_rx) = mpsc::channel(JOBS_WAITING_MAX);
    let (committed, feed) = mpsc::channel(FEED_WAITING_MAX);
    let (fatal, fatal_rx) = watch::channel(None);
    (
        Channel { jobs, feed: Feed(feed), fatal: fatal_rx },
        Jobs { queue: jobs_rx, items: Vec::new() },
        Feeder { committed, fatal },
    )
}

/// The caller's ends, before the reads exist.
#[derive(Debug)]
pub struct Channel {
    jobs: mpsc::Sender<Item>,
    feed: Feed,
    fatal: watch::Receiver<Option<Fault>>,
}

impl Channel {
    /// The log of a store that no other process writes to, with its reads.
    pub fn open(self, reads: Arc<dyn Reads>) -> OpenedLog {
        self.open_with(reads, Signals::alone(), false)
    }
    /// The log with its reads and signals. `shared` says whether other processes may write to the same
    /// store.
    pub fn open_with(self, reads: Arc<dyn Reads>, signals: Signals, shared: bool) -> OpenedLog {
        let (written, ledger) = (Arc::default(), Arc::default());
        let log = Log { jobs: self.jobs, reads, fatal: self.fatal, signals, shared, written, ledger };
        OpenedLog { log, feed: self.feed }
    }
}

/// A slot in the writer's queue. Batches are decided in the order in which their slots are used.
#[derive(Debug)]
pub struct Slot(mpsc::OwnedPermit<Item>, Arc<LastWrite>);

impl Slot {
    /// Queues the batch at once; the outcome comes after the commit.
    pub fn submit(self, batch: Batch) -> Pending {
        let (to, outcome) = oneshot::channel();
        let measured = self.1.metrics.begin();
        let reply = Reply { to: Some(to), chain: batch.chain.clone(), written: self.1, measured };
        self.0.send(Some(Job { batch, reply }));
        Pending(outcome)
    }
}

/// An append in progress. Dropping it does not cancel it.
#[derive(Debug)]
pub struct Pending(oneshot::Receiver<Result<Outcome, Fault>>);

impl Future for Pending {
    type Output = Result<Outcome, Fault>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| {
            answer.unwrap_or_else(|_| Err(Fault::OutcomeUnknown("the writer went away".into())))
        })
    }
}

impl Log {
    /// Waits for a slot in the writer's queue.
    pub async fn reserve(&self) -> Result<Slot, Fault> {
        match self.jobs.clone().reserve_owned().await {
            Ok(permit) => Ok(Slot(permit, self.written.clone())),
            Err(_) => Err(Fault::Unavailable("the writer has ended".into())),
        }
    }
    /// Appends a batch; returns after the commit.
    pub async fn append(&self, batch: Batch) -> Result<Outcome, Fault> {
        self.reserve().await?.submit(batch).await
    }
    /// Why the last answered write failed; `None` if it succeeded, or there was none.
    pub fn last_write_fault(&self) -> Option<Fault> {
        if !self.written.has_failed.load(Ordering::Acquire) {
            return None;
        }
        self.written.fault.lock().clone()
    }
    /// The metrics of the writer.
    pub fn metrics(&self) -> &AppendMetrics {
        &self.written.metrics
    }
    /// Closes the queue. Waiting batches are still written; then the writer, the feed and the signals
    /// end, however many clones of the log there are.
    pub async fn close(&self) {
        self.signals.close();
        // If the writer has ended already, the queue is closed.
        let _ = self.jobs.send(None).await;
    }
    /// Whether other processes may write to the same store.
    pub fn shared(&self) -> bool {
        self.shared
    }
    /// Short-lived messages between all processes on the store.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }
    /// The reads of the store.
    #[cfg(any(test, feature = "rigged"))]
    pub(crate) fn reads(&self) -> &dyn Reads {
        &*self.reads
    }
    /// The known use of accounts, and their limits.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    /// Counts a charge before its batch is submitted, if the limits allow it. With `may_exceed` it
    /// may use the reserve beyond them.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn pledge(
        &self,
        charge: &Charge,
        may_exceed: bool,
    ) -> Result<Result<Pledge, ExceededQuota>, Fault> {
        self.ledger.pledge(&*self.reads, self.shared, charge, may_exceed).await
    }
    /// Whether [`Log::pledge`] would have to read the store first.
    pub fn must_look_up(&self, account: &str) -> bool {
        self.ledger.must_look_up(self.shared, account)
    }
    /// Reads the use of an account, so that [`Log::pledge`] need not wait for the store.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn look_up(&self, account: &str) -> Result<(), Fault> {
        self.ledger.look_up(&*self.reads, self.shared, account).await
    }
    /// How many more bytes an account may store; `None` without a limit.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn bytes_left(&self, account: &str) -> Result<Option<u64>, Fault> {
        self.ledger.bytes_left(&*self.reads, self.shared, account).await
    }
    /// Waits for a fatal fault of the store.
    pub async fn failed(&self) -> Fault {
        let mut fatal = self.fatal.clone();
        match fatal.wait_for(Option::is_some).await {
            Ok(fault) => fault.clone().unwrap_or(Fault::Overloaded),
            Err(_) => Fault::Unavailable("the writer has ended".into()),
        }
    }
    /// See [`Reads::read_stream`].
    pub async fn read_stream(
        &self,
        stream: &StreamName,
        after: Version,
        max: usize,
    ) -> Result<Vec<StoredEvent>, Fault> {
        self.reads.read_stream(stream, after, max).await
    }
    /// See [`Reads::read_streams`].
    pub async fn read_streams(
        &self,
        streams: &[(StreamName, Version)],
        max: usize,
    ) -> Result<Vec<Option<Vec<StoredEvent>>>, Fault> {
        self.reads.read_streams(streams, max).await
    }
    /// See [`Reads::read_log`].
    pub async fn read_log(&self, after: Position, max: usize) -> Result<Vec<StoredEvent>, Fault> {
        self.reads.read_log(after, max).await
    }
    /// Reads the log for a caller that must read all of it: damaged events are skipped, with an entry in
    /// the server's log. The position is how far the read went; at the end of the log it is `after`.
    pub async fn read_past_damage(
        &self,
        after: Position,
        max: usize,
    ) -> Result<(Vec<StoredEvent>, Position), Fault> {
        let mut max = max;
        loop {
            match self.read_log(after, max).await {
                Ok(events) => {
                    let until = events.last().map_or(after, |last| last.position);
                    return Ok((events, until));
                }
                Err(Fault::Corrupt(_)) if max > 1 => max /= 2,
                Err(fault @ Fault::Corrupt(_)) if self.head().await? > after => {
                    let position = after.next();
                    tracing::error!(%fault, %position, "a damaged event is skipped");
                    return Ok((Vec::new(), position));
                }
                Err(fault) => return Err(fault),
            }
        }
    }
    /// See [`Reads::read_index`]. A damaged row fails the read.
    pub async fn read_index(
        &self,
        name: &str,
        prefix: &str,
        after: Option<&str>,
        max: usize,
        order: Order,
    ) -> Result<Vec<IndexRow>, Fault> {
        let found = self.reads.read_index(name, prefix, after, max, order).await?;
        found.into_iter().map(|row| row.sound(name)).collect()
    }
    /// The same for lists, which leave a damaged row out: it is logged, and has no value.
    pub async fn read_index_past_damage(
        &self,
        name: &str,
        prefix: &str,
        after: Option<&str>,
        max: usize,
        order: Order,
    ) -> Result<Vec<FoundRow>, Fault> {
        let found = self.reads.read_index(name, prefix, after, max, order).await?;
        for FoundRow { key, .. } in found.iter().filter(|row| row.value.is_none()) {
            tracing::error!(index = name, key, "a damaged row of an index is left out of a list");
        }
        Ok(found)
    }
    /// See [`Reads::keys_of`].
    pub async fn keys_of(&self, name: &str, keys: &[String]) -> Result<Vec<String>, Fault> {
        self.reads.keys_of(name, keys).await
    }
    /// See [`Reads::read_row`].
    pub async fn read_row(&self, name: &str) -> Result<Option<Row>, Fault> {
        self.reads.read_row(name).await
    }
    /// See [`Reads::read_rows`].
    pub async fn read_rows(
        &self,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<(String, Row)>, Fault> {
        self.reads.read_rows(prefix, after, max).await
    }
    /// See [`Reads::read_key`].
    pub async fn read_key(&self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault> {
        self.reads.read_key(scope, key).await
    }
    /// See [`Reads::read_usage`].
    pub async fn read_usage(&self, account: &str) -> Result<Usage, Fault> {
        self.reads.read_usage(account).await
    }
    /// See [`Reads::streams_between`].
    pub async fn streams_between(
        &self,
        category: &str,
        after: Position,
        until: Position,
    ) -> Result<Vec<StreamNews>, Fault> {
        self.reads.streams_between(category, after, until).await
    }
    /// See [`Reads::streams_after`].
    pub async fn streams_after(
        &self,
        streams: &[StreamName],
        after: Position,
    ) -> Result<Vec<StreamNews>, Fault> {
        self.reads.streams_after(streams, after).await
    }
    /// See [`Reads::head`].
    pub async fn head(&self) -> Result<Position, Fault> {
        self.reads.head().await
    }
}
