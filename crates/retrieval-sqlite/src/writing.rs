//! The one writing thread, at lower priority than request handling.
//! Must not know: how an index is searched.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use plenary_kernel::Position;
use plenary_retrieval::{Change, Document, Fault, Lexemes, PutOutcome};
use rusqlite::{OptionalExtension as _, Result, Transaction};
use tokio::sync::{mpsc, oneshot};

use crate::{
    documents::{Documents, Entry},
    lists::List,
    merging,
    shelf::Shelf,
    unavailable,
};

/// How far writing steps back, as `nice` counts.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// What the thread is asked for.
pub(crate) enum Job {
    Put {
        changes: Vec<Change>,
        from: Position,
        to: Position,
        reply: oneshot::Sender<Result<PutOutcome, Fault>>,
    },
    Clear {
        reply: oneshot::Sender<Result<(), Fault>>,
    },
    Close {
        reply: oneshot::Sender<Result<(), Fault>>,
    },
}

/// What the thread holds.
pub(crate) struct Writer {
    shelf: Arc<Shelf>,
}

/// What a write changes of the documents in memory, once it is in the file.
enum Effect {
    Put { project: String, key: i64, nr: u32, entry: Entry },
    Remove { project: String, nr: u32 },
}

/// The documents of one write.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    documents: &'a Documents,
    /// Of each project that gets documents its key and the number of its next one.
    next: HashMap<String, (i64, u32)>,
    lists: HashMap<i64, HashMap<String, List>>,
    effects: Vec<Effect>,
}

impl Writer {
    pub(crate) fn new(shelf: Arc<Shelf>) -> Self {
        Self { shelf }
    }

    /// Until it is closed, or nobody can ask any more.
    pub(crate) fn run(self, mut jobs: mpsc::Receiver<Job>) {
        step_back();
        while let Some(job) = jobs.blocking_recv() {
            match job {
                Job::Put { changes, from, to, reply } => {
                    let _nobody_waits = reply.send(self.put(&changes, from, to).map_err(unavailable));
                    if let Err(error) = merging::merge(&self.shelf) {
                        tracing::warn!(%error, "parts of the search index could not be merged; it is tried again");
                    }
                }
                Job::Clear { reply } => {
                    let _nobody_waits = reply.send(self.clear().map_err(unavailable));
                }
                Job::Close { reply } => {
                    let _nobody_waits = reply.send(Ok(()));
                    return;
                }
            }
        }
    }

    fn put(&self, changes: &[Change], from: Position, to: Position) -> Result<PutOutcome> {
        let mut writer = self.shelf.writer.lock();
        let transaction = writer.transaction()?;
        // Only this thread writes to them, so that nothing is held up while they are read here.
        let effects = {
            let documents = self.shelf.documents.read();
            if documents.cursor != from {
                return Ok(PutOutcome::Moved(documents.cursor));
            }
            let mut batch = Batch {
                transaction: &transaction,
                documents: &documents,
                next: HashMap::new(),
                lists: HashMap::new(),
                effects: Vec::new(),
            };
            for change in last_of_each(changes) {
                batch.take(change)?;
            }
            batch.written()?
        };
        transaction.execute("UPDATE head SET cursor = ?", [stored(to)])?;
        transaction.commit()?;
        let mut documents = self.shelf.documents.write();
        for effect in effects {
            match effect {
                Effect::Put { project, key, nr, entry } => documents.put(&project, key, nr, entry),
                Effect::Remove { project, nr } => documents.remove(&project, nr),
            }
        }
        documents.cursor = to;
        Ok(PutOutcome::Done)
    }

    fn clear(&self) -> Result<()> {
        let mut writer = self.shelf.writer.lock();
        let transaction = writer.transaction()?;
        transaction.execute_batch(
            "DELETE FROM list; DELETE FROM run; DELETE FROM document; DELETE FROM project; UPDATE head SET cursor = 0;",
        )?;
        transaction.commit()?;
        *self.shelf.documents.write() = Documents::default();
        Ok(())
    }
}

/// Of several changes of a document the last.
fn last_of_each(changes: &[Change]) -> impl Iterator<Item = &Change> {
    let last: HashMap<&str, usize> =
        changes.iter().enumerate().map(|(nth, change)| (change.id(), nth)).collect();
    changes
        .iter()
        .enumerate()
        .filter(move |(nth, change)| last.get(change.id()) == Some(nth))
        .map(|(_, change)| change)
}

fn stored(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

impl Batch<'_> {
    fn take(&mut self, change: &Change) -> Result<()> {
        let mut old = self.transaction.prepare_cached(
            "DELETE FROM document WHERE id = ? RETURNING (SELECT name FROM project WHERE key = project), nr",
        )?;
        let old: Option<(String, u32)> =
            old.query_row([change.id()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        self.effects.extend(old.map(|(project, nr)| Effect::Remove { project, nr }));
        match change {
            Change::Put(document) => self.put(document),
            Change::Delete(_) => Ok(()),
        }
    }

    fn put(&mut self, document: &Document) -> Result<()> {
        let (key, nr) = self.number(&document.project)?;
        let lexemes = Lexemes::of(document);
        let length = u32::try_from(lexemes.length()).unwrap_or(u32::MAX);
        let entry = Entry::new(document.created_at_ms, length, document.is_draft);
        self.transaction.prepare_cached("INSERT INTO document VALUES(?, ?, ?, ?, ?, ?)")?.execute((
            key,
            nr,
            &document.id,
            entry.created_at_ms,
            entry.length(),
            entry.is_draft(),
        ))?;
        let lists = self.lists.entry(key).or_default();
        for word in lexemes.words {
            let often = word.weighted();
            lists.entry(word.text).or_default().push(nr, often);
        }
        self.effects.push(Effect::Put { project: document.project.clone(), key, nr, entry });
        Ok(())
    }

    /// The key of a project, and the number of its next document.
    fn number(&mut self, project: &str) -> Result<(i64, u32)> {
        if let Some((key, next)) = self.next.get_mut(project) {
            *next += 1;
            return Ok((*key, *next - 1));
        }
        let (key, nr) = match self.documents.projects.get(project) {
            Some(known) => (known.key, known.next()),
            None => {
                let mut new =
                    self.transaction.prepare_cached("INSERT INTO project(name, next) VALUES(?, 0)")?;
                (new.insert([project])?, 0)
            }
        };
        self.next.insert(project.to_owned(), (key, nr + 1));
        Ok((key, nr))
    }

    /// A run of all words, in the order in which the file keeps them.
    fn written(self) -> Result<Vec<Effect>> {
        for (key, next) in self.next.values() {
            self.transaction
                .prepare_cached("UPDATE project SET next = ? WHERE key = ?")?
                .execute((next, key))?;
        }
        if !self.lists.is_empty() {
            let run = merging::begin(self.transaction, 0)?;
            for (project, lists) in self.lists.into_iter().collect::<BTreeMap<_, _>>() {
                let lists: BTreeMap<_, _> = lists.into_iter().collect();
                merging::write(
                    self.transaction,
                    run,
                    lists.iter().map(|(word, list)| (project, word.as_str(), list)),
                )?;
            }
        }
        Ok(self.effects)
    }
}

#[cfg(target_os = "linux")]
fn step_back() {
    // There a thread has a priority of its own. Where it may not be changed, writing is as urgent as everything else.
    let _stays = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
