//! A memory log with fault injection, for the tests of other rooms: several processes on one store, each with a
//! writer that can be paused or made to fail, and reads that can be made to fail.
//! Must not know: any room.

use std::{future::Future, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::{Position, Version};
use tokio::sync::watch;

use crate::{
    Fault, Feed, Feeder, FoundRow, Job, Jobs, KeyRecord, Log, OpenedLog, Order, Read, Reads, Row,
    StoredEvent, StreamName, StreamNews, Usage, channel, open_memory, signals::Network,
};

/// A store that outlives its processes.
pub struct Store {
    log: Log,
    feeders: Arc<Mutex<Vec<Feeder>>>,
    network: Network,
}

/// One process on the store.
pub struct Process {
    /// Its log.
    pub log: Log,
    /// The events that are committed from now on, by any process.
    pub feed: Feed,
    /// Its fault injection.
    pub rigging: FaultControl,
}

/// The behaviour of the writer with the next batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectedFault {
    /// Writes nothing and answers with this fault.
    Before(Fault),
    /// Writes the batch and answers with this fault.
    After(Fault),
    /// Writes the batch and answers as usual; a later one may fail.
    Not,
}

/// Injects faults into a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FaultControl(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    paused: watch::Sender<bool>,
    writes: Mutex<Vec<InjectedFault>>,
    reads: Mutex<Option<Fault>>,
    counted: Mutex<ReadCounts>,
}

/// The reads of a process.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ReadCounts {
    /// The number of reads.
    pub reads: usize,
    /// The number of events, rows, keys and index entries that they returned.
    pub rows: usize,
}

/// The size of a read's result.
trait RowCount {
    fn rows(&self) -> usize;
}

impl<T> RowCount for Vec<T> {
    fn rows(&self) -> usize {
        self.len()
    }
}

impl<T> RowCount for Option<T> {
    fn rows(&self) -> usize {
        usize::from(self.is_some())
    }
}

impl RowCount for Usage {
    fn rows(&self) -> usize {
        0
    }
}

impl RowCount for Position {
    fn rows(&self) -> usize {
        0
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store. Needs a tokio runtime.
    pub fn new() -> Self {
        let OpenedLog { log, mut feed } = open_memory();
        let feeders = Arc::new(Mutex::new(Vec::<Feeder>::new()));
        let targets = feeders.clone();
        tokio::spawn(async move {
            while let Some(events) = feed.next().await {
                let feeders = lock(&targets).clone();
                for feeder in feeders {
                    feeder.publish(events.clone()).await;
                }
            }
        });
        Self { log, feeders, network: Network::new() }
    }

    /// Adds a process. `shared` says whether it expects other writers.
    pub fn process(&self, shared: bool) -> Process {
        let (channel, jobs, feeder) = channel();
        let rigging = FaultControl(Arc::default());
        lock(&self.feeders).push(feeder);
        tokio::spawn(write(self.log.clone(), jobs, rigging.clone()));
        let reads = FaultyProcess { log: self.log.clone(), rigging: rigging.clone() };
        let OpenedLog { log, feed } = channel.open_with(Arc::new(reads), self.network.join(), shared);
        Process { log, feed, rigging }
    }
}

impl FaultControl {
    /// Pauses the writer: it takes nothing from its queue.
    pub fn hold(&self) {
        self.0.paused.send_replace(true);
    }
    /// Resumes the writer.
    pub fn release(&self) {
        self.0.paused.send_replace(false);
    }
    /// Sets the faults of the next batches, one for each.
    pub fn fail_writes(&self, failing: impl IntoIterator<Item = InjectedFault>) {
        let mut writes = lock(&self.0.writes);
        *writes = failing.into_iter().collect();
        writes.reverse();
    }
    /// The reads since the last call.
    pub fn counted(&self) -> ReadCounts {
        std::mem::take(&mut lock(&self.0.counted))
    }
    /// Makes every read fail with this fault; `None` ends that.
    pub fn fail_reads(&self, fault: Option<Fault>) {
        *lock(&self.0.reads) = fault;
    }
}

async fn write(store: Log, mut jobs: Jobs, FaultControl(rigging): FaultControl) {
    let (mut queued, mut waiting) = (Vec::new(), Vec::new());
    let mut paused = rigging.paused.subscribe();
    loop {
        jobs.take(&mut queued).await;
        if queued.is_empty() || paused.wait_for(|paused| !paused).await.is_err() {
            return;
        }
        for Job { batch, reply } in queued.drain(..) {
            let failing = lock(&rigging.writes).pop();
            match failing {
                None | Some(InjectedFault::Not) => match store.reserve().await {
                    Ok(slot) => waiting.push((slot.submit(batch), reply)),
                    Err(fault) => drop(reply.send(Err(fault))),
                },
                Some(InjectedFault::Before(fault)) => drop(reply.send(Err(fault))),
                Some(InjectedFault::After(fault)) => {
                    let _ = store.append(batch).await;
                    drop(reply.send(Err(fault)));
                }
            }
        }
        for (pending, reply) in waiting.drain(..) {
            let _ = reply.send(pending.await);
        }
    }
}

struct FaultyProcess {
    log: Log,
    rigging: FaultControl,
}

impl FaultyProcess {
    fn read<'a, T: RowCount>(
        &'a self,
        read: impl Future<Output = Result<T, Fault>> + Send + 'a,
    ) -> Read<'a, T> {
        let fault = lock(&self.rigging.0.reads).clone();
        Box::pin(async move {
            if let Some(fault) = fault {
                return Err(fault);
            }
            let answer = read.await?;
            let mut counted = lock(&self.rigging.0.counted);
            counted.reads += 1;
            counted.rows += answer.rows();
            drop(counted);
            Ok(answer)
        })
    }
}

impl Reads for FaultyProcess {
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>> {
        self.read(self.log.read_stream(stream, after, max))
    }
    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>> {
        self.read(self.log.read_log(after, max))
    }
    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>> {
        self.read(self.log.reads().read_index(name, prefix, after, max, order))
    }
    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>> {
        self.read(self.log.read_row(name))
    }
    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>> {
        self.read(self.log.read_rows(prefix, after, max))
    }
    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>> {
        self.read(self.log.read_key(scope, key))
    }
    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage> {
        self.read(self.log.read_usage(account))
    }
    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>> {
        self.read(self.log.streams_between(category, after, until))
    }
    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>> {
        self.read(self.log.streams_after(streams, after))
    }
    fn head(&self) -> Read<'_, Position> {
        self.read(self.log.head())
    }
}
