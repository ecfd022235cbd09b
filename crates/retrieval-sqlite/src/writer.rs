//! The one writing thread, at lower priority than request handling.
//! Must not know: how an index is searched.

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
};

use hashbrown::{HashMap, HashTable, hash_map};
use plenary_kernel::Position;
use plenary_retrieval::{Change, Document, Fault, Lexemes, PutOutcome, Word};
use rusqlite::{OptionalExtension as _, Result, Transaction};
use tokio::sync::{mpsc, oneshot};

use crate::{
    documents::{Entry, Head},
    entries::{self, Block},
    ids::IdRun,
    lists::List,
    merge,
    runs::RunWriter,
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

/// The documents of one write.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    head: Head,
    projects: HashMap<String, ProjectBatch>,
    blocks: BTreeMap<i64, Block>,
}

/// The documents of one write in a project.
struct ProjectBatch {
    key: i64,
    /// The number of its next document.
    next: u32,
    lists: HashTable<WordList>,
    /// The ids of documents that never change.
    ids: Vec<IdRun>,
    /// The changes of cached documents, applied after the commit.
    entries: Vec<(u32, Entry)>,
}

struct WordList {
    word: Box<str>,
    hash: u64,
    list: List,
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
                    if let Err(error) = self.shelf.noting(|| merge::merge(&self.shelf)) {
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
            projects: HashMap::new(),
            blocks: BTreeMap::new(),
        };
        for change in last_of_each(changes) {
            batch.take(change)?;
        }
        batch.write()?;
        let Batch { head, projects, .. } = batch;
        transaction.commit()?;
        let mut documents = self.shelf.documents.lock();
        for (project, ProjectBatch { entries, .. }) in projects {
            documents.change(&project, |project| {
                entries.into_iter().for_each(|(nr, entry)| project.set(nr, entry));
            });
        }
        documents.head = head;
        Ok(PutOutcome::Done)
    }

    fn clear(&self) -> Result<()> {
        let mut writer = self.shelf.writer.lock();
        let writes = self.shelf.documents.lock().head.writes + 1;
        let transaction = writer.transaction()?;
        transaction.execute_batch(
            "DELETE FROM page; DELETE FROM held; DELETE FROM run; DELETE FROM entries; DELETE FROM document;
             DELETE FROM ids; DELETE FROM project;",
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
    let may_repeat = |change: &Change| !matches!(change, Change::Add(_));
    let repeating = changes.iter().enumerate().filter(move |(_, change)| may_repeat(change));
    let last: HashMap<&str, usize> = repeating.map(|(nth, change)| (change.id(), nth)).collect();
    let is_last = move |nth, change: &Change| !may_repeat(change) || last.get(change.id()) == Some(&nth);
    changes.iter().enumerate().filter(move |(nth, change)| is_last(*nth, change)).map(|(_, change)| change)
}

impl Batch<'_> {
    fn take(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::Add(document) => {
                let (project, nr) = self.put(document)?;
                if !project.ids.last().is_some_and(|run| run.takes(nr)) {
                    project.ids.push(IdRun::begin(nr));
                }
                if let Some(run) = project.ids.last_mut() {
                    run.push(&document.id);
                }
                Ok(())
            }
            Change::Put(document) => {
                self.remove(&document.id)?;
                let transaction = self.transaction;
                let (project, nr) = self.put(document)?;
                let mut insert = transaction.prepare_cached("INSERT INTO document VALUES(?, ?, ?)")?;
                insert.execute((project.key, nr, &document.id))?;
                Ok(())
            }
            Change::Delete(id) => self.remove(id),
        }
    }

    /// Writes a document except for its id. Returns its project and its number.
    fn put(&mut self, document: &Document) -> Result<(&mut ProjectBatch, u32)> {
        let lexemes = Lexemes::of(document);
        let length = u32::try_from(lexemes.length()).unwrap_or(u32::MAX);
        let entry = Entry::new(document.created_at_ms, length, document.is_draft);
        let project = project(self.transaction, &mut self.projects, &document.project)?;
        let nr = project.next;
        project.next += 1;
        project.entries.push((nr, entry));
        for word in lexemes.words() {
            project.list(&word).push(nr, word.weighted());
        }
        set(self.transaction, &mut self.blocks, (project.key, nr), entry)?;
        self.head.live += 1;
        Ok((project, nr))
    }

    fn remove(&mut self, id: &str) -> Result<()> {
        let mut old = self.transaction.prepare_cached(
            "DELETE FROM document WHERE id = ? RETURNING (SELECT name FROM project WHERE key = project), nr",
        )?;
        let old: Option<(String, u32)> =
            old.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((name, nr)) = old else { return Ok(()) };
        let project = project(self.transaction, &mut self.projects, &name)?;
        project.entries.push((nr, Entry::default()));
        set(self.transaction, &mut self.blocks, (project.key, nr), Entry::default())?;
        self.head.live = self.head.live.saturating_sub(1);
        Ok(())
    }

    /// Writes ids, blocks and counts, and a run with all words, sorted as in the file.
    fn write(&self) -> Result<()> {
        for (at, block) in &self.blocks {
            block.write(self.transaction, *at)?;
        }
        let mut next = self.transaction.prepare_cached("UPDATE project SET next = ? WHERE key = ?")?;
        let mut ids = self.transaction.prepare_cached("INSERT INTO ids VALUES(?, ?, ?)")?;
        let mut projects: Vec<_> = self.projects.values().collect();
        projects.sort_unstable_by_key(|project| project.key);
        for project in &projects {
            next.execute((project.next, project.key))?;
            for run in &project.ids {
                ids.execute((project.key, run.first, &run.bytes))?;
            }
        }
        entries::set_head(self.transaction, self.head)?;
        projects.retain(|project| !project.lists.is_empty());
        if projects.is_empty() {
            return Ok(());
        }
        let mut run = RunWriter::begin(self.transaction, 0)?;
        for ProjectBatch { key, lists, .. } in projects {
            let mut lists: Vec<_> = lists.iter().collect();
            lists.sort_unstable_by(|list, other| list.word.cmp(&other.word));
            for WordList { word, list, .. } in lists {
                run.push(*key, word, list)?;
            }
        }
        run.finish()
    }
}

impl ProjectBatch {
    /// The list of a word; empty if it is new.
    fn list(&mut self, word: &Word<'_>) -> &mut List {
        let same = |known: &WordList| *known.word == *word.text;
        let known = self.lists.entry(word.hash, same, |known| known.hash);
        let new = || WordList { word: word.text.into(), hash: word.hash, list: List::default() };
        &mut known.or_insert_with(new).into_mut().list
    }
}

/// A project with its changes so far; made if it does not exist.
fn project<'a>(
    transaction: &Transaction<'_>,
    projects: &'a mut HashMap<String, ProjectBatch>,
    name: &str,
) -> Result<&'a mut ProjectBatch> {
    let vacant = match projects.entry_ref(name) {
        hash_map::EntryRef::Occupied(known) => return Ok(known.into_mut()),
        hash_map::EntryRef::Vacant(vacant) => vacant,
    };
    let (key, next) = match entries::named(transaction, name)? {
        Some(known) => known,
        None => {
            let mut new = transaction.prepare_cached("INSERT INTO project(name, next) VALUES(?, 0)")?;
            (new.insert([name])?, 0)
        }
    };
    Ok(vacant.insert(ProjectBatch {
        key,
        next,
        lists: HashTable::new(),
        ids: Vec::new(),
        entries: Vec::new(),
    }))
}

/// Sets the entry of a document.
fn set(
    transaction: &Transaction<'_>,
    blocks: &mut BTreeMap<i64, Block>,
    (project, nr): (i64, u32),
    entry: Entry,
) -> Result<()> {
    let (at, within) = entries::locate(project, nr);
    let block = match blocks.entry(at) {
        btree_map::Entry::Occupied(known) => known.into_mut(),
        btree_map::Entry::Vacant(vacant) => vacant.insert(Block::read(transaction, at)?),
    };
    block.set(within, entry);
    Ok(())
}

#[cfg(target_os = "linux")]
fn step_back() {
    // On Linux the priority belongs to the thread. If it may not be changed, the thread keeps the normal
    // priority.
    let _stays = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
