//! The one writing thread, at lower priority than request handling.
//! Must not know: how an index is searched.

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry as MapEntry},
    sync::Arc,
};

use plenary_kernel::Position;
use plenary_retrieval::{Change, Document, Fault, Lexemes, PutOutcome};
use rusqlite::{OptionalExtension as _, Result, Transaction};
use tokio::sync::{mpsc, oneshot};

use crate::{
    documents::{Entry, Head},
    entries::{self, Block},
    lists::List,
    merging,
    shelf::Shelf,
    unavailable,
};

/// The `nice` value of the writing thread.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A job of the writing thread.
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
    /// Sent after a search met damage.
    Renew,
    Close {
        reply: oneshot::Sender<Result<(), Fault>>,
    },
}

/// The state of the thread.
pub(crate) struct Writer {
    shelf: Arc<Shelf>,
}

/// The change of a cached document, applied after the commit.
struct Effect {
    project: String,
    nr: u32,
    entry: Entry,
}

/// The documents of one write.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    head: Head,
    /// The key of each changed project, and the number of its next document.
    next: HashMap<String, (i64, u32)>,
    blocks: BTreeMap<i64, Block>,
    lists: HashMap<i64, HashMap<String, List>>,
    effects: Vec<Effect>,
}

impl Writer {
    pub(crate) fn new(shelf: Arc<Shelf>) -> Self {
        Self { shelf }
    }

    /// Runs until the index is closed, or all senders are gone.
    pub(crate) fn run(self, mut jobs: mpsc::Receiver<Job>) {
        step_back();
        while let Some(job) = jobs.blocking_recv() {
            if self.shelf.is_damaged()
                && let Err(error) = self.shelf.renew()
            {
                tracing::error!(%error, "the damaged search index cannot be begun anew");
            }
            match job {
                Job::Renew => {}
                Job::Put { changes, from, to, reply } => {
                    let put = self.shelf.noting(|| self.put(&changes, from, to));
                    let _nobody_waits = reply.send(put.map_err(unavailable));
                    if let Err(error) = self.shelf.noting(|| merging::merge(&self.shelf)) {
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
        // No race: only this thread changes the head.
        let head = self.shelf.documents.lock().head;
        if head.cursor != from {
            return Ok(PutOutcome::Moved(head.cursor));
        }
        let mut batch = Batch {
            transaction: &transaction,
            head: Head { writes: head.writes + 1, cursor: to, ..head },
            next: HashMap::new(),
            blocks: BTreeMap::new(),
            lists: HashMap::new(),
            effects: Vec::new(),
        };
        for change in last_of_each(changes) {
            batch.take(change)?;
        }
        let (head, effects) = batch.written()?;
        transaction.commit()?;
        let mut documents = self.shelf.documents.lock();
        for Effect { project, nr, entry } in effects {
            documents.change(&project, |project| project.set(nr, entry));
        }
        documents.head = head;
        Ok(PutOutcome::Done)
    }

    fn clear(&self) -> Result<()> {
        let mut writer = self.shelf.writer.lock();
        let writes = self.shelf.documents.lock().head.writes + 1;
        let transaction = writer.transaction()?;
        transaction.execute_batch(
            "DELETE FROM list; DELETE FROM held; DELETE FROM run; DELETE FROM entries; DELETE FROM document;
             DELETE FROM project;",
        )?;
        entries::set_head(&transaction, Head { writes, ..Head::default() })?;
        transaction.commit()?;
        self.shelf.documents.lock().clear(writes);
        self.shelf.lists.lock().clear();
        Ok(())
    }
}

/// The last change of each document.
fn last_of_each(changes: &[Change]) -> impl Iterator<Item = &Change> {
    let last: HashMap<&str, usize> =
        changes.iter().enumerate().map(|(nth, change)| (change.id(), nth)).collect();
    changes
        .iter()
        .enumerate()
        .filter(move |(nth, change)| last.get(change.id()) == Some(nth))
        .map(|(_, change)| change)
}

impl Batch<'_> {
    fn take(&mut self, change: &Change) -> Result<()> {
        let mut old = self.transaction.prepare_cached(
            "DELETE FROM document WHERE id = ?
             RETURNING project, (SELECT name FROM project WHERE key = project), nr",
        )?;
        let old: Option<(i64, String, u32)> =
            old.query_row([change.id()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        if let Some((key, project, nr)) = old {
            let gone = self.set(key, nr, Entry::default())?;
            self.head.take(gone);
            self.effects.push(Effect { project, nr, entry: Entry::default() });
        }
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
        self.transaction.prepare_cached("INSERT INTO document VALUES(?, ?, ?)")?.execute((
            key,
            nr,
            &document.id,
        ))?;
        self.set(key, nr, entry)?;
        self.head.add(entry);
        let lists = self.lists.entry(key).or_default();
        for word in lexemes.words {
            let often = word.weighted();
            lists.entry(word.text).or_default().push(nr, often);
        }
        self.effects.push(Effect { project: document.project.clone(), nr, entry });
        Ok(())
    }

    /// Sets the entry of a document and returns the previous one.
    fn set(&mut self, key: i64, nr: u32, entry: Entry) -> Result<Entry> {
        let (at, within) = entries::place(key, nr);
        let block = match self.blocks.entry(at) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(place) => place.insert(Block::read(self.transaction, at)?),
        };
        let before = block.get(within);
        block.set(within, entry);
        Ok(before)
    }

    /// The key of a project, and a new document number in it.
    fn number(&mut self, project: &str) -> Result<(i64, u32)> {
        if let Some((key, next)) = self.next.get_mut(project) {
            *next += 1;
            return Ok((*key, *next - 1));
        }
        let (key, nr) = match entries::named(self.transaction, project)? {
            Some(known) => known,
            None => {
                let mut new =
                    self.transaction.prepare_cached("INSERT INTO project(name, next) VALUES(?, 0)")?;
                (new.insert([project])?, 0)
            }
        };
        self.next.insert(project.to_owned(), (key, nr + 1));
        Ok((key, nr))
    }

    /// Writes blocks and counts, and a run with all words, sorted as in the file.
    fn written(self) -> Result<(Head, Vec<Effect>)> {
        for (at, block) in &self.blocks {
            block.write(self.transaction, *at)?;
        }
        for (key, next) in self.next.values() {
            self.transaction
                .prepare_cached("UPDATE project SET next = ? WHERE key = ?")?
                .execute((next, key))?;
        }
        entries::set_head(self.transaction, self.head)?;
        if !self.lists.is_empty() {
            let run = merging::begin(self.transaction, 0)?;
            for (project, lists) in self.lists.into_iter().collect::<BTreeMap<_, _>>() {
                let lists: BTreeMap<_, _> = lists.into_iter().collect();
                merging::hold(self.transaction, project, run)?;
                merging::write(
                    self.transaction,
                    run,
                    lists.iter().map(|(word, list)| (project, word.as_str(), list)),
                )?;
            }
        }
        Ok((self.head, self.effects))
    }
}

#[cfg(target_os = "linux")]
fn step_back() {
    // On Linux the priority belongs to the thread. If it may not be changed, the thread keeps the normal
    // priority.
    let _stays = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
