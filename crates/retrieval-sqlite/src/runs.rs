//! Runs in the file. A run has the lists of documents that were written together or merged, in pages by project and word.
//! Must not know: documents.

use rusqlite::{Connection, OptionalExtension as _, Result, Row};

use crate::{
    lists::List,
    pages::{Page, PageReader, PageWriter},
};

/// The runs that have documents of a project.
pub(crate) fn of(connection: &Connection, project: i64) -> Result<Vec<i64>> {
    let mut runs = connection.prepare_cached("SELECT run FROM held WHERE project = ?")?;
    runs.query_map([project], |row| row.get(0))?.collect()
}

/// Deletes a run that has documents of these projects.
pub(crate) fn delete(connection: &Connection, run: i64, projects: &[i64]) -> Result<()> {
    connection.prepare_cached("DELETE FROM page WHERE run = ?")?.execute([run])?;
    connection.prepare_cached("DELETE FROM run WHERE nr = ?")?.execute([run])?;
    let mut held = connection.prepare_cached("DELETE FROM held WHERE project = ? AND run = ?")?;
    for project in projects {
        held.execute((project, run))?;
    }
    Ok(())
}

/// Writes the lists of a run, by project and word.
pub(crate) struct RunWriter<'a> {
    run: i64,
    project: i64,
    pages: PageWriter,
    connection: &'a Connection,
}

impl<'a> RunWriter<'a> {
    /// Creates a run of a level.
    pub(crate) fn begin(connection: &'a Connection, level: i64) -> Result<Self> {
        let mut insert = connection
            .prepare_cached("INSERT INTO run(nr, level) SELECT ifnull(max(nr), 0) + 1, ? FROM run")?;
        let run = insert.insert([level])?;
        Ok(Self { run, project: 0, pages: PageWriter::default(), connection })
    }

    /// Writes the list of a word. Lists come in the order of projects and words.
    pub(crate) fn push(&mut self, project: i64, word: &str, list: &List) -> Result<()> {
        if project != self.project {
            self.finish()?;
            self.project = project;
        }
        let Self { run, pages, connection, .. } = self;
        pages.push(word, list, |page| write(connection, (*run, project), page))
    }

    /// Writes the rest.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Self { run, project, pages, connection } = self;
        pages.finish(|page| write(connection, (*run, *project), page))
    }
}

fn write(connection: &Connection, (run, project): (i64, i64), page: &Page) -> Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO page VALUES(?, ?, ?, ?, ?)")?;
    insert.execute((run, project, &page.first, page.count, &page.bytes))?;
    let mut hold = connection.prepare_cached("INSERT OR IGNORE INTO held VALUES(?, ?)")?;
    hold.execute((project, run))?;
    Ok(())
}

fn page(row: &Row<'_>) -> Result<Page> {
    Ok(Page { first: row.get("first")?, count: row.get("count")?, bytes: row.get("bytes")? })
}

pub(crate) fn list(connection: &Connection, run: i64, project: i64, word: &str) -> Result<Option<List>> {
    let mut read = connection.prepare_cached(
        "SELECT first, count, CASE WHEN count IS NULL OR first = ?3 THEN bytes ELSE x'' END AS bytes FROM page
         WHERE run = ?1 AND project = ?2 AND first <= ?3 ORDER BY first DESC LIMIT 1",
    )?;
    let Some(page) = read.query_row((run, project, word), page).optional()? else { return Ok(None) };
    let mut reader = PageReader::new(page);
    Ok(reader.find(word).map(|count| List::read(count, reader.list().to_vec())))
}

/// The number of documents that have a word in a run. Does not read long lists.
pub(crate) fn count(connection: &Connection, run: i64, project: i64, word: &str) -> Result<u32> {
    let mut read = connection.prepare_cached(
        "SELECT first, count, CASE WHEN count IS NULL THEN bytes ELSE x'00' END AS bytes FROM page
         WHERE run = ?1 AND project = ?2 AND first <= ?3 ORDER BY first DESC LIMIT 1",
    )?;
    let page = read.query_row((run, project, word), page).optional()?;
    Ok(page.and_then(|page| PageReader::new(page).find(word)).unwrap_or_default())
}

/// A position in the lists of a run, in the order of the file.
pub(crate) struct RunReader {
    run: i64,
    project: i64,
    first: String,
    page: Option<PageReader>,
}

impl RunReader {
    /// Begins at the first list of a run.
    pub(crate) fn begin(connection: &Connection, run: i64) -> Result<Self> {
        let mut reader = Self { run, project: 0, first: String::new(), page: None };
        reader.turn(connection)?;
        Ok(reader)
    }

    /// The project and the word of the current list; `None` at the end.
    pub(crate) fn place(&self) -> Option<(i64, &[u8])> {
        self.page.as_ref().map(|page| (self.project, page.word()))
    }

    /// The bytes of the current list.
    pub(crate) fn list(&self) -> &[u8] {
        self.page.as_ref().map_or(&[], PageReader::list)
    }

    /// Goes to the next list.
    pub(crate) fn step(&mut self, connection: &Connection) -> Result<()> {
        if self.page.as_mut().is_some_and(PageReader::step) { Ok(()) } else { self.turn(connection) }
    }

    /// Goes to the first list of the next page that has one.
    fn turn(&mut self, connection: &Connection) -> Result<()> {
        let mut next = connection.prepare_cached(
            "SELECT project, first, count, bytes FROM page WHERE run = ? AND (project, first) > (?, ?)
             ORDER BY project, first LIMIT 1",
        )?;
        loop {
            let read = |row: &Row<'_>| Ok((row.get(0)?, page(row)?));
            let found = next.query_row((self.run, self.project, &self.first), read).optional()?;
            let Some((project, page)) = found else {
                self.page = None;
                return Ok(());
            };
            (self.project, self.first) = (project, page.first.clone());
            let mut reader = PageReader::new(page);
            if reader.step() {
                self.page = Some(reader);
                return Ok(());
            }
        }
    }
}
