//! Opens an index, or rebuilds an unusable one: it derives entirely from the log.
//! Must not know: searches and writes.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use plenary_retrieval::Fault;
use rusqlite::{Connection, OpenFlags, Result, config::DbConfig};

use crate::{documents::Head, entries, shelf::Shelf, unavailable};

/// The file of the index. Format 1 used files with other names.
const FILE: &str = "words.sqlite";
/// `PLNS`: the file belongs to this program.
const APPLICATION_ID: i64 = 0x504c_4e53;
/// The format of the index: words, tables, and the bytes of lists and entries. An index of another format is
/// deleted and
/// rebuilt.
const FORM: i64 = 8;
/// A file up to this size is checked when it is opened. Damage in a larger file is noticed when it is read, so
/// that the time
/// of a start does not depend on the size.
const CHECKED_BYTES_MAX: u64 = 4 << 20;
/// Size of a page, in bytes.
const PAGE_BYTES: u32 = 8_192;
/// Page cache of the connection that writes and of one that reads, in KiB.
const WRITER_CACHE_KIB: i64 = 16 * 1_024;
const READER_CACHE_KIB: i64 = 4 * 1_024;
/// Most statements that a connection keeps prepared: more than a write and a merge use.
const STATEMENTS: usize = 32;
/// The size to which the write-ahead log is truncated when it restarts, in bytes.
const WAL_KEPT_BYTES: i64 = 16 << 20;

/// `document` has the ids of documents that may change, `ids` those of all others, in runs of consecutive numbers.
/// `next` is the number of a project's next document; `entries` has the data of each document that a search
/// needs, in blocks.
/// A run holds the words of documents that were written together or merged: a later run of a level has higher
/// numbers. `page` has its lists, `first` is the first word of a page, and `held` has the runs with documents of a
/// project.
const TABLES: &str = "
CREATE TABLE head(writes INTEGER NOT NULL, cursor INTEGER NOT NULL, live INTEGER NOT NULL) STRICT;
INSERT INTO head VALUES(0, 0, 0);
CREATE TABLE project(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next INTEGER NOT NULL) STRICT;
CREATE TABLE document(
    project INTEGER NOT NULL, nr INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, PRIMARY KEY(project, nr)
) STRICT, WITHOUT ROWID;
CREATE TABLE ids(
    project INTEGER NOT NULL, first INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(project, first)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries(at INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE run(nr INTEGER PRIMARY KEY, level INTEGER NOT NULL) STRICT;
CREATE TABLE held(project INTEGER NOT NULL, run INTEGER NOT NULL, PRIMARY KEY(project, run)) STRICT, WITHOUT ROWID;
CREATE TABLE page(
    run INTEGER NOT NULL, project INTEGER NOT NULL, first TEXT NOT NULL, count INTEGER, bytes BLOB NOT NULL,
    PRIMARY KEY(run, project, first)
) STRICT, WITHOUT ROWID;
";

pub(crate) fn in_directory(directory: &Path) -> Result<Shelf, Fault> {
    make(directory).map_err(unavailable)?;
    let file = directory.join(FILE);
    let is_empty = fs::read_dir(directory).map_err(unavailable)?.next().is_none();
    if !is_empty {
        match existing(&file) {
            Ok((writer, head)) => return Ok(Shelf::new(writer, head, Some(file))),
            Err(OpenFailure::Machine(error)) => return Err(unavailable(error)),
            Err(OpenFailure::Index(why)) => {
                tracing::warn!(why, directory = %directory.display(), "the search index cannot be used and is rebuilt from the log");
            }
        }
    }
    let writer = anew(&file)?;
    Ok(Shelf::new(writer, Head::default(), Some(file)))
}

/// Deletes the file's directory and makes an empty index in it.
pub(crate) fn anew(file: &Path) -> Result<Connection, Fault> {
    let directory = file.parent().ok_or_else(|| unavailable("the index has no directory"))?;
    fs::remove_dir_all(directory).map_err(unavailable)?;
    make(directory).map_err(unavailable)?;
    // Mode 0600; SQLite gives the files beside it the same mode.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(unavailable)?;
    Connection::open(file).and_then(set_up).map_err(unavailable)
}

/// Mode 0700: the index contains the words of private documents.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

pub(crate) fn in_memory() -> Result<Shelf> {
    Ok(Shelf::new(set_up(Connection::open_in_memory()?)?, Head::default(), None))
}

fn set_up(mut connection: Connection) -> Result<Connection> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    settle(&connection, WRITER_CACHE_KIB)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORM)?;
    transaction.commit()?;
    Ok(connection)
}

/// A power failure may lose the last writes together with their cursor; they are read from the log again.
fn settle(connection: &Connection, cache_kib: i64) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -{cache_kib}; PRAGMA journal_size_limit = {WAL_KEPT_BYTES};"
    ))?;
    keep_plans(connection)
}

/// Otherwise a statement is planned again for every new value that bounds a range, as for each page of a merge.
fn keep_plans(connection: &Connection) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// A read-only connection.
pub(crate) fn reader(file: &Path) -> Result<Connection> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    keep_plans(&connection)?;
    Ok(connection)
}

fn open(file: &Path, mode: OpenFlags) -> Result<Connection> {
    Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Why an index can't be used.
enum OpenFailure {
    /// The machine lacks something, such as file descriptors or memory: the index itself may be whole.
    Machine(rusqlite::Error),
    /// It is damaged or has another form.
    Index(String),
}

impl From<rusqlite::Error> for OpenFailure {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied, ReadOnly,
            SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(
                CannotOpen | DatabaseBusy | DatabaseLocked | DiskFull | OutOfMemory | PermissionDenied
                | ReadOnly | SystemIoFailure,
            ) => Self::Machine(error),
            _ => Self::Index(error.to_string()),
        }
    }
}

/// Opens the index of a directory, or gives the reason why it can't be used.
fn existing(file: &Path) -> Result<(Connection, Head), OpenFailure> {
    if !file.exists() {
        return Err(OpenFailure::Index("it is of another form".to_owned()));
    }
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, form) = (number("application_id")?, number("user_version")?);
    if (application, form) != (APPLICATION_ID, FORM) {
        return Err(OpenFailure::Index(format!("it is of form {form}")));
    }
    settle(&connection, WRITER_CACHE_KIB)?;
    if fs::metadata(file).is_ok_and(|file| file.len() <= CHECKED_BYTES_MAX) {
        let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if sound != "ok" {
            return Err(OpenFailure::Index(format!("it is damaged: {sound}")));
        }
    }
    let head = entries::head(&connection)?;
    Ok((connection, head))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_statement_is_planned_once_for_all_values() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("index").join(FILE);
        make(file.parent().unwrap()).unwrap();
        for connection in [anew(&file).unwrap(), reader(&file).unwrap()] {
            let mut pages = connection
                .prepare("SELECT count FROM page WHERE run = ? AND (project, first) > (?, ?)")
                .unwrap();
            for nth in 0..9 {
                assert!(!pages.exists((nth, nth, nth.to_string())).unwrap());
            }
            assert_eq!(pages.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
