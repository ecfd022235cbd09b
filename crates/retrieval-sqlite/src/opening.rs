//! Opens an index, or rebuilds an unusable one: it derives entirely from the log.
//! Must not know: searches and writes.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use plenary_kernel::Position;
use plenary_retrieval::Fault;
use rusqlite::{Connection, OpenFlags, Result};

use crate::{
    documents::{Documents, Entry},
    shelf::Shelf,
    unavailable,
};

/// The index in its directory. Form 1 was another format, in files of other names.
const FILE: &str = "words.sqlite";
/// `PLNS`: the file belongs to this program.
const APPLICATION_ID: i64 = 0x504c_4e53;
/// The form of the index: words, tables and the bytes of lists. Another one is thrown away and built again.
const FORM: i64 = 2;
/// Size of a page, in bytes.
const PAGE_BYTES: u32 = 8_192;
/// Page cache of the connection that writes and of one that reads, in KiB.
const WRITER_CACHE_KIB: i64 = 16 * 1_024;
const READER_CACHE_KIB: i64 = 4 * 1_024;
/// The file of the write-ahead log is cut down to this when it starts over, in bytes.
const WAL_KEPT_BYTES: i64 = 16 << 20;

/// `next` is the number of a project's next document. A run holds the words of documents that were written together or
/// merged: a later run of a level has higher numbers. `count` is how many documents `list` names.
const TABLES: &str = "
CREATE TABLE head(cursor INTEGER NOT NULL) STRICT;
INSERT INTO head VALUES(0);
CREATE TABLE project(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next INTEGER NOT NULL) STRICT;
CREATE TABLE document(
    project INTEGER NOT NULL, nr INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, created_at_ms INTEGER NOT NULL,
    length INTEGER NOT NULL, is_draft INTEGER NOT NULL, PRIMARY KEY(project, nr)
) STRICT, WITHOUT ROWID;
CREATE TABLE run(nr INTEGER PRIMARY KEY, level INTEGER NOT NULL) STRICT;
CREATE TABLE list(
    run INTEGER NOT NULL, project INTEGER NOT NULL, word TEXT NOT NULL, count INTEGER NOT NULL, list BLOB NOT NULL,
    PRIMARY KEY(run, project, word)
) STRICT, WITHOUT ROWID;
";

pub(crate) fn in_directory(directory: &Path) -> Result<Shelf, Fault> {
    make(directory).map_err(unavailable)?;
    let file = directory.join(FILE);
    let is_empty = fs::read_dir(directory).map_err(unavailable)?.next().is_none();
    if !is_empty {
        match existing(&file) {
            Ok((writer, documents)) => return Ok(Shelf::new(writer, documents, Some(file))),
            Err(why) => {
                tracing::warn!(why, directory = %directory.display(), "the search index cannot be used and is rebuilt from the log");
            }
        }
        fs::remove_dir_all(directory).map_err(unavailable)?;
        make(directory).map_err(unavailable)?;
    }
    // For its owner alone, and so are the files that SQLite puts beside it.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file).map_err(unavailable)?;
    let writer = Connection::open(&file).and_then(begun).map_err(unavailable)?;
    Ok(Shelf::new(writer, Documents::default(), Some(file)))
}

/// For its owner alone: it holds the words of what was deposited.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

pub(crate) fn in_memory() -> Result<Shelf> {
    Ok(Shelf::new(begun(Connection::open_in_memory()?)?, Documents::default(), None))
}

fn begun(mut connection: Connection) -> Result<Connection> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    settle(&connection, WRITER_CACHE_KIB)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORM)?;
    transaction.commit()?;
    Ok(connection)
}

/// A loss of power takes the last writes with their cursor: the log has them still.
fn settle(connection: &Connection, cache_kib: i64) -> Result<()> {
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -{cache_kib}; PRAGMA journal_size_limit = {WAL_KEPT_BYTES};"
    ))
}

/// A connection that only reads.
pub(crate) fn reader(file: &Path) -> Result<Connection> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

fn open(file: &Path, mode: OpenFlags) -> Result<Connection> {
    Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// The index of a directory, or why it can't be used.
fn existing(file: &Path) -> Result<(Connection, Documents), String> {
    if !file.exists() {
        return Err("it is of another form".to_owned());
    }
    let said = |error: rusqlite::Error| error.to_string();
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(said)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(said);
    let (application, form) = (number("application_id")?, number("user_version")?);
    if (application, form) != (APPLICATION_ID, FORM) {
        return Err(format!("it is of form {form}"));
    }
    settle(&connection, WRITER_CACHE_KIB).map_err(said)?;
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(said)?;
    if sound != "ok" {
        return Err(format!("it is damaged: {sound}"));
    }
    let documents = load(&connection).map_err(said)?;
    Ok((connection, documents))
}

fn load(connection: &Connection) -> Result<Documents> {
    let mut documents = Documents::default();
    let cursor: i64 = connection.query_row("SELECT cursor FROM head", [], |row| row.get(0))?;
    documents.cursor = Position(u64::try_from(cursor).unwrap_or(0));
    let mut names = connection.prepare("SELECT key, name, next FROM project")?;
    let mut entries = connection
        .prepare("SELECT nr, created_at_ms, length, is_draft FROM document WHERE project = ? ORDER BY nr")?;
    let mut projects = names.query([])?;
    while let Some(project) = projects.next()? {
        let (key, name, next) = (project.get(0)?, project.get::<_, String>(1)?, project.get(2)?);
        documents.reserve(&name, key, next);
        let mut rows = entries.query([key])?;
        while let Some(row) = rows.next()? {
            documents.put(&name, key, row.get(0)?, Entry::new(row.get(1)?, row.get(2)?, row.get(3)?));
        }
    }
    Ok(documents)
}
