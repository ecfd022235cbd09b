//! Merges runs: when a level has many, they become one run of the next level, without deleted entries. A search reads
//! every run, so fewer runs keep it fast; each word is written once per level.
//! Must not know: the meaning of words.

use std::collections::HashMap;

use rusqlite::{Result, Row, Rows, Transaction};

use crate::{
    entries::{self, Block},
    lists::List,
    shelf::Shelf,
};

/// When a level has this many runs, they are merged.
const RUNS_OF_LEVEL_MAX: usize = 8;
/// Bytes of merged lists per write.
const WRITTEN_BYTES: usize = 1 << 20;

/// Creates a run of a level and returns its number.
pub(crate) fn begin(transaction: &Transaction<'_>, level: i64) -> Result<i64> {
    transaction
        .prepare_cached("INSERT INTO run(nr, level) SELECT ifnull(max(nr), 0) + 1, ? FROM run")?
        .insert([level])
}

/// Records that a run has documents of a project.
pub(crate) fn hold(transaction: &Transaction<'_>, project: i64, run: i64) -> Result<()> {
    transaction.prepare_cached("INSERT OR IGNORE INTO held VALUES(?, ?)")?.execute((project, run))?;
    Ok(())
}

/// Writes lists in the order of the file.
pub(crate) fn write<'a>(
    transaction: &Transaction<'_>,
    run: i64,
    lists: impl Iterator<Item = (i64, &'a str, &'a List)>,
) -> Result<()> {
    let mut insert = transaction.prepare_cached("INSERT INTO list VALUES(?, ?, ?, ?, ?)")?;
    for (project, word, list) in lists {
        insert.execute((run, project, word, list.count, &list.bytes))?;
    }
    Ok(())
}

/// Merges until no level has too many runs, or the index is closed.
pub(crate) fn merge(shelf: &Shelf) -> Result<()> {
    while !shelf.is_closing() {
        let mut writer = shelf.writer.lock();
        let transaction = writer.transaction()?;
        let Some((level, runs)) = due(&transaction)? else { return Ok(()) };
        if !merged(&transaction, shelf, level, &runs)? {
            return Ok(());
        }
        transaction.commit()?;
        shelf.lists.lock().forget(&runs);
    }
    Ok(())
}

/// The existing documents of a project, read block by block.
#[derive(Default)]
struct Living {
    project: Option<i64>,
    blocks: HashMap<i64, Block>,
}

impl Living {
    fn of(&mut self, project: i64) {
        *self = Self { project: Some(project), blocks: HashMap::new() };
    }

    /// Appends the entries of existing documents of `list` to `all`.
    fn append_living(
        &mut self,
        transaction: &Transaction<'_>,
        project: i64,
        list: &List,
        all: &mut List,
    ) -> Result<()> {
        let mut failed = None;
        list.each(|nr, often| {
            let (at, within) = entries::locate(project, nr);
            if failed.is_none() && !self.blocks.contains_key(&at) {
                match Block::read(transaction, at) {
                    Ok(block) => drop(self.blocks.insert(at, block)),
                    Err(error) => failed = Some(error),
                }
            }
            if self.blocks.get(&at).is_some_and(|block| block.get(within).is_live()) {
                all.push(nr, often);
            }
        });
        failed.map_or(Ok(()), Err)
    }
}

/// The lowest level with too many runs, and its runs, oldest first.
fn due(transaction: &Transaction<'_>) -> Result<Option<(i64, Vec<i64>)>> {
    let mut runs = transaction.prepare_cached("SELECT level, nr FROM run ORDER BY level, nr")?;
    let runs: Vec<(i64, i64)> =
        runs.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
    let mut levels = runs.chunk_by(|(level, _), (other, _)| level == other);
    let due = levels.find(|level| level.len() >= RUNS_OF_LEVEL_MAX);
    Ok(due.map(|level| (level[0].0, level.iter().map(|(_, nr)| *nr).collect())))
}

/// The read position in a run.
struct Head<'a> {
    rows: Rows<'a>,
    /// The next project, word and list.
    next: Option<(i64, String, List)>,
}

impl Head<'_> {
    fn step(&mut self) -> Result<Option<(i64, String, List)>> {
        let read = |row: &Row<'_>| {
            Ok::<_, rusqlite::Error>((row.get(0)?, row.get(1)?, List::read(row.get(2)?, row.get(3)?)))
        };
        let next = self.rows.next()?.map(read).transpose()?;
        Ok(std::mem::replace(&mut self.next, next))
    }
}

/// Merges these runs into one. Returns `false` if the index is closed meanwhile.
fn merged(transaction: &Transaction<'_>, shelf: &Shelf, level: i64, runs: &[i64]) -> Result<bool> {
    let mut statements = Vec::new();
    for _ in runs {
        statements.push(
            transaction.prepare(
                "SELECT project, word, count, list FROM list WHERE run = ? ORDER BY project, word",
            )?,
        );
    }
    let mut heads = Vec::new();
    for (statement, run) in statements.iter_mut().zip(runs) {
        let mut head = Head { rows: statement.query([run])?, next: None };
        head.step()?;
        heads.push(head);
    }
    let into = begin(transaction, level + 1)?;
    let (mut ready, mut bytes, mut living) = (Vec::<(i64, String, List)>::new(), 0, Living::default());
    loop {
        let first = heads
            .iter()
            .filter_map(|head| head.next.as_ref())
            .map(|(project, word, _)| (*project, word))
            .min();
        let first = first.map(|(project, word)| (project, word.clone()));
        if first.is_none() || bytes >= WRITTEN_BYTES {
            write(
                transaction,
                into,
                ready.iter().map(|(project, word, list)| (*project, word.as_str(), list)),
            )?;
            (ready, bytes) = (Vec::new(), 0);
        }
        let Some((project, word)) = first else { break };
        if shelf.is_closing() {
            return Ok(false);
        }
        if living.project != Some(project) {
            living.of(project);
            let mut delete = transaction.prepare_cached("DELETE FROM held WHERE project = ? AND run = ?")?;
            for run in runs {
                delete.execute((project, run))?;
            }
            hold(transaction, project, into)?;
        }
        let mut all = List::default();
        for head in &mut heads {
            if head.next.as_ref().is_some_and(|(of_head, at, _)| *of_head == project && *at == word)
                && let Some((_, _, list)) = head.step()?
            {
                living.append_living(transaction, project, &list, &mut all)?;
            }
        }
        if all.count > 0 {
            bytes += word.len() + all.bytes.len();
            ready.push((project, word, all));
        }
    }
    drop(heads);
    let mut delete = transaction.prepare_cached("DELETE FROM list WHERE run = ?")?;
    for run in runs {
        delete.execute([run])?;
        transaction.prepare_cached("DELETE FROM run WHERE nr = ?")?.execute([run])?;
    }
    Ok(true)
}
