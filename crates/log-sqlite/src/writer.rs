//! The writer's thread: takes the waiting jobs, commits them as one group, answers, publishes; between commits it
//! updates the indexes and the write-ahead log. It ends when the log is dropped, or at the first failed write.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use plenary_kernel::LinePause;
use plenary_log::{Fault, Feeder, Job, Jobs};
use rusqlite::Connection;

use crate::{
    commit::{Committer, Counters, Failure},
    unindexed::SharedTail,
};

/// Most bytes of one group, except a single larger batch; it bounds a commit's time and memory.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// At this many pages the write-ahead log (16 MiB) is checkpointed.
pub(crate) const CHECKPOINT_PAGES: u32 = 2_048;
/// If readers blocked the checkpoint, it is repeated after this many more pages.
const CHECKPOINT_AGAIN_PAGES: u32 = 512;
/// At this many pages the writer waits for the readers, and the log restarts: it stays under 64 MiB.
const WAL_PAGES_MAX: u32 = 6_144;

/// The state of the thread.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) shared: Arc<SharedTail>,
    pub(crate) counters: Counters,
    pub(crate) jobs: Jobs,
    pub(crate) feeder: Feeder,
    pub(crate) wal_pages: Arc<AtomicU32>,
    pub(crate) index_every: usize,
}

impl Writer {
    /// Runs until no job will ever come again, or a write fails.
    pub(crate) fn run(self) {
        let Self { connection, shared, counters, jobs, feeder, wal_pages, index_every } = self;
        let ended = Committer::new(&connection, &shared, counters)
            .map_err(|error| Fault::Unavailable(error.to_string()));
        let ended = ended.and_then(|committer| {
            let log =
                WriteAheadLog { connection: &connection, pages: wal_pages, due: CHECKPOINT_PAGES, seen: 0 };
            serve(committer, log, jobs, &feeder, index_every)
        });
        if let Err(fault) = ended {
            feeder.fail(fault);
        }
    }
}

fn serve(
    mut committer: Committer<'_>,
    mut log: WriteAheadLog<'_>,
    mut jobs: Jobs,
    feeder: &Feeder,
    index_every: usize,
) -> Result<(), Fault> {
    let mut queued = Vec::new();
    loop {
        jobs.take_blocking(&mut queued);
        if queued.is_empty() {
            break;
        }
        let mut waiting = queued.drain(..).peekable();
        while waiting.peek().is_some() {
            let group = group(&mut waiting);
            commit(&mut committer, group, feeder)?;
            if committer.is_due(index_every) {
                survived(committer.index())?;
            }
            survived(log.keep_short())?;
        }
    }
    survived(committer.index())?;
    survived(log.checkpoint("TRUNCATE"))
}

/// The next jobs, as many as fit one group.
fn group(waiting: &mut std::iter::Peekable<impl Iterator<Item = Job>>) -> Vec<Job> {
    let mut remaining = GROUP_BYTES_MAX;
    let mut group = Vec::new();
    while let Some(job) = waiting.next_if(|job| group.is_empty() || job.batch.bytes() <= remaining) {
        remaining = remaining.saturating_sub(job.batch.bytes());
        group.push(job);
    }
    group
}

/// Groups that were not written. On a full disk every group fails until there is space.
static FAILED: LinePause = LinePause::new(Duration::from_secs(10));

/// Processes one group: writes, answers, publishes.
fn commit(committer: &mut Committer<'_>, group: Vec<Job>, feeder: &Feeder) -> Result<(), Fault> {
    let (batches, replies): (Vec<_>, Vec<_>) = group.into_iter().map(|job| (job.batch, job.reply)).unzip();
    let (fault, fatal) = match committer.commit(batches.into_iter()) {
        Ok((outcomes, events)) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let _ = reply.send(outcome);
            }
            feeder.publish_blocking(events);
            return Ok(());
        }
        Err(Failure::Refused(fault)) => (fault, false),
        Err(Failure::Fatal(fault)) => (fault, true),
    };
    if let Some(groups) = FAILED.count(Instant::now()) {
        tracing::warn!(%fault, groups, "appends failed");
    }
    for reply in replies {
        let _ = reply.send(Err(fault.clone()));
    }
    if fatal { Err(fault) } else { Ok(()) }
}

/// Postpones what failed without harm; only a failed write ends the writer.
pub(crate) fn survived(done: Result<(), Failure>) -> Result<(), Fault> {
    match done {
        Ok(()) => Ok(()),
        Err(Failure::Refused(fault)) => {
            tracing::warn!(%fault, "the store could not be cleaned up; it is tried again");
            Ok(())
        }
        Err(Failure::Fatal(fault)) => Err(fault),
    }
}

/// Keeps the write-ahead log short.
pub(crate) struct WriteAheadLog<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) pages: Arc<AtomicU32>,
    /// The next checkpoint is due at this many pages.
    pub(crate) due: u32,
    /// The number of pages last time; fewer now means that the log has restarted.
    pub(crate) seen: u32,
}

impl WriteAheadLog<'_> {
    pub(crate) fn keep_short(&mut self) -> Result<(), Failure> {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            self.due = CHECKPOINT_PAGES;
        }
        self.seen = pages;
        if pages < self.due {
            return Ok(());
        }
        self.due = pages + CHECKPOINT_AGAIN_PAGES;
        self.checkpoint(if pages < WAL_PAGES_MAX { "PASSIVE" } else { "RESTART" })
    }

    pub(crate) fn checkpoint(&self, mode: &str) -> Result<(), Failure> {
        let pragma = self.connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"));
        // The first column says whether a reader blocked it; then it is done next time.
        pragma.and_then(|mut pragma| pragma.query_row([], |_| Ok(()))).map_err(|error| Failure::of(&error))
    }
}
