//! Merges runs: when a level has many, they become one run of the next level, without deleted entries. A search reads
//! every run, so fewer runs keep it fast; each word is written once per level.
//! Must not know: the meaning of words.

use rusqlite::{Result, Transaction};

use crate::{
    entries::{self, Block},
    lists::{self, List},
    runs::{self, RunReader, RunWriter},
    shelf::Shelf,
};

/// When a level has this many runs, they are merged.
const RUNS_OF_LEVEL_MAX: usize = 8;

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
    project: i64,
    /// By the numbers of blocks.
    blocks: Vec<Option<Block>>,
}

impl Living {
    fn of(&mut self, project: i64) {
        self.project = project;
        self.blocks.clear();
    }

    /// Appends the entries of existing documents of `list` to `all`.
    fn append_living(&mut self, transaction: &Transaction<'_>, list: &[u8], all: &mut List) -> Result<()> {
        let (first, _) = entries::locate(self.project, 0);
        let mut failed = None;
        lists::each(list, |nr, often| {
            let (at, within) = entries::locate(self.project, nr);
            let nth = usize::try_from(at - first).unwrap_or_default();
            if self.blocks.len() <= nth {
                self.blocks.resize_with(nth + 1, || None);
            }
            if self.blocks[nth].is_none() && failed.is_none() {
                match Block::read(transaction, at) {
                    Ok(block) => self.blocks[nth] = Some(block),
                    Err(error) => failed = Some(error),
                }
            }
            if self.blocks[nth].as_ref().is_some_and(|block| block.get(within).is_live()) {
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

/// Merges these runs into one. Returns `false` if the index is closed meanwhile.
fn merged(transaction: &Transaction<'_>, shelf: &Shelf, level: i64, runs: &[i64]) -> Result<bool> {
    let mut readers = Vec::new();
    for run in runs {
        readers.push(RunReader::begin(transaction, *run)?);
    }
    let mut writer = RunWriter::begin(transaction, level + 1)?;
    let mut projects = Vec::new();
    let (mut word, mut all, mut living) = (Vec::new(), List::default(), Living::default());
    while let Some((project, first)) = readers.iter().filter_map(RunReader::place).min() {
        if shelf.is_closing() {
            return Ok(false);
        }
        first.clone_into(&mut word);
        if living.project != project {
            living.of(project);
            projects.push(project);
        }
        all.clear();
        // Later runs have higher numbers.
        for reader in &mut readers {
            if reader.place() == Some((project, &word)) {
                living.append_living(transaction, reader.list(), &mut all)?;
                reader.step(transaction)?;
            }
        }
        if all.count > 0 {
            writer.push(project, &String::from_utf8_lossy(&word), &all)?;
        }
    }
    writer.finish()?;
    for run in runs {
        runs::delete(transaction, *run, &projects)?;
    }
    Ok(true)
}
