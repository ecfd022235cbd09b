//! The entries of documents in the file, in blocks of bytes, so that one query reads a project of any size. An entry has
//! thirteen bytes: creation time, number of words, whether it is a draft; little-endian.
//! Must not know: who reads them.

use rusqlite::{Connection, OptionalExtension as _, Result};

use crate::{
    documents::{Entry, Head, Project},
    ids::IdRun,
};

/// Entries per block; a block fits into a page.
const BLOCK_ENTRIES: u32 = 512;
/// The low bits of a row's number, which hold the number of the block in its project.
const BLOCK_BITS: u32 = 24;
const ENTRY_BYTES: usize = 13;

/// A block of a project's entries.
#[derive(Debug, Default)]
pub(crate) struct Block(Vec<u8>);

/// The row number of a document's block, and the index of the document in it.
pub(crate) fn locate(key: i64, nr: u32) -> (i64, usize) {
    let within = usize::try_from(nr % BLOCK_ENTRIES).unwrap_or_default();
    ((key << BLOCK_BITS) + i64::from(nr / BLOCK_ENTRIES), within)
}

impl Block {
    /// Reads a block; empty if it does not exist.
    pub(crate) fn read(connection: &Connection, at: i64) -> Result<Self> {
        let mut read = connection.prepare_cached("SELECT bytes FROM entries WHERE at = ?")?;
        Ok(Self(read.query_row([at], |row| row.get(0)).optional()?.unwrap_or_default()))
    }

    pub(crate) fn write(&self, connection: &Connection, at: i64) -> Result<()> {
        connection.prepare_cached("INSERT OR REPLACE INTO entries VALUES(?, ?)")?.execute((at, &self.0))?;
        Ok(())
    }

    pub(crate) fn get(&self, within: usize) -> Entry {
        let bytes = self.0.get(within * ENTRY_BYTES..).and_then(|rest| rest.first_chunk());
        bytes.map_or_else(Entry::default, entry)
    }

    pub(crate) fn set(&mut self, within: usize, entry: Entry) {
        let at = within * ENTRY_BYTES;
        if self.0.len() < at + ENTRY_BYTES {
            self.0.resize(at + ENTRY_BYTES, 0);
        }
        self.0[at..at + 8].copy_from_slice(&entry.created_at_ms.to_le_bytes());
        self.0[at + 8..at + 12].copy_from_slice(&entry.length.to_le_bytes());
        self.0[at + 12] = u8::from(entry.is_draft);
    }
}

fn entry(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let [a, b, c, d, e, f, g, h, i, j, k, l, is_draft] = *bytes;
    Entry {
        created_at_ms: i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        length: u32::from_le_bytes([i, j, k, l]),
        is_draft: is_draft != 0,
    }
}

/// The key of a project and the number of its next document.
pub(crate) fn named(connection: &Connection, name: &str) -> Result<Option<(i64, u32)>> {
    let mut read = connection.prepare_cached("SELECT key, next FROM project WHERE name = ?")?;
    read.query_row([name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// The id of a document; `None` if it is gone.
pub(crate) fn id(connection: &Connection, project: i64, nr: u32) -> Result<Option<String>> {
    let mut run = connection.prepare_cached(
        "SELECT first, bytes FROM ids WHERE project = ? AND first <= ? ORDER BY first DESC LIMIT 1",
    )?;
    let run = run.query_row((project, nr), |row| {
        Ok(IdRun::id(row.get_ref(1)?.as_blob()?, nr.saturating_sub(row.get(0)?)))
    });
    if let Some(id) = run.optional()?.flatten() {
        return Ok(Some(id));
    }
    let mut id = connection.prepare_cached("SELECT id FROM document WHERE project = ? AND nr = ?")?;
    id.query_row((project, nr), |row| row.get(0)).optional()
}

/// All documents of a project.
pub(crate) fn project(connection: &Connection, key: i64) -> Result<Project> {
    let mut read =
        connection.prepare_cached("SELECT at, bytes FROM entries WHERE at BETWEEN ? AND ? ORDER BY at")?;
    let (first, _) = locate(key, 0);
    let mut rows = read.query((first, first + (1 << BLOCK_BITS) - 1))?;
    let mut project = Project::new(key);
    while let Some(row) = rows.next()? {
        let block = u32::try_from(row.get::<_, i64>(0)? - first).unwrap_or(u32::MAX);
        let bytes = row.get_ref(1)?.as_blob()?;
        let nrs = block.saturating_mul(BLOCK_ENTRIES)..;
        for (nr, bytes) in nrs.zip(bytes.as_chunks().0) {
            project.set(nr, entry(bytes));
        }
    }
    Ok(project)
}

/// The state of the whole index.
pub(crate) fn head(connection: &Connection) -> Result<Head> {
    let mut read = connection.prepare_cached("SELECT writes, cursor, live FROM head")?;
    read.query_row([], |row| {
        let number = |nth| row.get::<_, i64>(nth).map(|number| u64::try_from(number).unwrap_or_default());
        Ok(Head { writes: row.get(0)?, cursor: plenary_kernel::Position(number(1)?), live: number(2)? })
    })
}

/// Writes the state of the whole index.
pub(crate) fn set_head(connection: &Connection, head: Head) -> Result<()> {
    let stored = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sql = "UPDATE head SET writes = ?, cursor = ?, live = ?";
    let values = (head.writes, stored(head.cursor.0), stored(head.live));
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let mut block = Block::default();
        block.set(1, Entry { created_at_ms: 258, length: 772, is_draft: true });
        let golden = [&[0; 13][..], &[2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 1]].concat();
        assert_eq!(block.0, golden);
        assert_eq!(block.get(1), Entry { created_at_ms: 258, length: 772, is_draft: true });
        assert_eq!((block.get(0), block.get(2)), (Entry::default(), Entry::default()));
        assert_eq!(locate(3, 1_025), ((3 << 24) + 2, 1));
    }
}
