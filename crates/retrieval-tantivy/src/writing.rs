//! The one thread that writes. It and the threads that it starts step back for whoever answers requests.
//! Must not know: how an index is searched.

use std::collections::HashMap;

use plenary_kernel::Position;
use plenary_retrieval::{Change, Fault, Put};
use tantivy::{Index, IndexReader, IndexWriter, Term, indexer::IndexWriterOptions};
use tokio::sync::{mpsc, oneshot};

use crate::{
    fields::Fields,
    opening::{Mark, cursor},
    unavailable,
};

/// Octets that wait in memory for a commit; past it a part of it is written out before.
const BUFFER_OCTETS: usize = 48 << 20;
/// Threads that join small parts of the index into larger ones.
const MERGING_THREADS: usize = 1;
/// How far writing steps back, as `nice` counts.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// What the thread is asked for.
pub(crate) enum Job {
    Put { changes: Vec<Change>, from: Position, to: Position, reply: oneshot::Sender<Result<Put, Fault>> },
    Clear { reply: oneshot::Sender<Result<(), Fault>> },
    Close { reply: oneshot::Sender<Result<(), Fault>> },
}

/// What the thread holds.
pub(crate) struct Writer {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    /// Made by the first write: who never deposits pays nothing.
    writer: Option<IndexWriter>,
}

impl Writer {
    pub(crate) fn new(index: Index, reader: IndexReader, fields: Fields) -> Self {
        Self { index, reader, fields, writer: None }
    }

    /// Until it is closed, or nobody can ask any more.
    pub(crate) fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        step_back();
        while let Some(job) = jobs.blocking_recv() {
            match job {
                Job::Put { changes, from, to, reply } => {
                    let done = self.put(&changes, from, to);
                    let _nobody_waits = reply.send(self.settled(done));
                }
                Job::Clear { reply } => {
                    let done = self.clear();
                    let _nobody_waits = reply.send(self.settled(done));
                }
                Job::Close { reply } => {
                    // What was not joined is joined another time.
                    drop(self.writer.take());
                    let _nobody_waits = reply.send(Ok(()));
                    return;
                }
            }
        }
    }

    /// A writer that met a fault is of no more use, and what it had not committed is forgotten with it.
    fn settled<T>(&mut self, done: Result<T, Fault>) -> Result<T, Fault> {
        if done.is_err() {
            self.writer = None;
        }
        done
    }

    fn writer(&mut self) -> Result<&mut IndexWriter, Fault> {
        if self.writer.is_none() {
            let options = IndexWriterOptions::builder()
                .num_worker_threads(1)
                .num_merge_threads(MERGING_THREADS)
                .memory_budget_per_thread(BUFFER_OCTETS)
                .build();
            self.writer = Some(self.index.writer_with_options(options).map_err(unavailable)?);
        }
        self.writer.as_mut().ok_or_else(|| unavailable("no writer"))
    }

    fn put(&mut self, changes: &[Change], from: Position, to: Position) -> Result<Put, Fault> {
        let stands = cursor(&self.index)?;
        if stands != from {
            return Ok(Put::Moved(stands));
        }
        let fields = self.fields;
        let last: HashMap<String, usize> =
            changes.iter().enumerate().map(|(nth, change)| (change.id().to_owned(), nth)).collect();
        let writer = self.writer()?;
        for (nth, change) in changes.iter().enumerate() {
            if last.get(change.id()) != Some(&nth) {
                continue;
            }
            writer.delete_term(Term::from_field_text(fields.id, change.id()));
            if let Change::Put(document) = change {
                writer.add_document(fields.document(document)).map_err(unavailable)?;
            }
        }
        self.commit(to)?;
        Ok(Put::Done)
    }

    fn clear(&mut self) -> Result<(), Fault> {
        self.writer()?.delete_all_documents().map_err(unavailable)?;
        self.commit(Position(0))
    }

    /// Documents and cursor in one file's replacement.
    fn commit(&mut self, at: Position) -> Result<(), Fault> {
        let mut commit = self.writer()?.prepare_commit().map_err(unavailable)?;
        commit.set_payload(&Mark::at(at));
        commit.commit().map_err(unavailable)?;
        self.reader.reload().map_err(unavailable)
    }
}

#[cfg(target_os = "linux")]
fn step_back() {
    // There a thread has a priority of its own. Where it may not be changed, writing is as urgent as everything else.
    let _stays = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
