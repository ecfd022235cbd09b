//! The file: its tables and their history, the settings of a connection, and the reads at a start.

use std::{
    fs::{File, Permissions, set_permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use plenary_kernel::Position;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row, config::DbConfig, hooks::Wal, types::ValueRef,
};

use crate::{
    OpenError, Options, checks,
    commit::{Counters, Link},
    copy_destination::UNFINISHED_FILE,
    records,
    unindexed::{Salt, SharedTail, read_charges},
};

/// `PLNY`: the file belongs to this program.
const APPLICATION_ID: i64 = 0x504c_4e59;
/// How long a connection waits for a lock. Locks are short: there is one writer, and reads are short.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The page size in bytes. A commit writes whole pages, each with two calls: 8 KiB take a tenth less
/// time than 4 KiB at 64 messages per commit, and 16 KiB save nothing more.
const PAGE_BYTES: u32 = 8_192;
/// Page cache of the writer and of a reader, in KiB.
const WRITER_CACHE_KIB: i64 = 32 * 1_024;
const READER_CACHE_KIB: i64 = 8 * 1_024;
/// The size to which the write-ahead log is truncated when it restarts, in bytes.
const WAL_KEPT_BYTES: i64 = 32 << 20;
/// Most statements that a connection keeps prepared.
const STATEMENTS: usize = 32;

/// One step for each format version, each in its own transaction. A released step never changes.
const STEPS: [&str; 5] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

/// `events` and `keys` are append-only, in order. Their indexes follow in bulk (`unindexed`), so that a
/// commit does not touch a page for every stream it writes to:
/// `stream_index` maps `stream << 32 | version` to the position, up to the position `events_indexed`;
/// `key_index` maps a hash to the claim, up to the claim `keys_indexed`.
const FIRST: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE streams(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE events(
    position INTEGER PRIMARY KEY, stream INTEGER NOT NULL, version INTEGER NOT NULL, form INTEGER NOT NULL,
    at INTEGER NOT NULL, kind TEXT NOT NULL, envelope BLOB NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE TABLE stream_index(slot INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
CREATE TABLE keys(
    claim INTEGER PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, outcome BLOB NOT NULL
) STRICT;
CREATE TABLE key_index(hash INTEGER NOT NULL, claim INTEGER NOT NULL, PRIMARY KEY(hash, claim)) STRICT, WITHOUT ROWID;
CREATE TABLE idx(name TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY(name, key))
    STRICT, WITHOUT ROWID;
CREATE TABLE rows(name TEXT PRIMARY KEY, revision INTEGER NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES
    ('epoch', lower(hex(randomblob(16)))), ('salt', randomblob(16)), ('events_indexed', 0), ('keys_indexed', 0);
";

/// Stream names and index rows come in any order: they are buffered too, and follow in bulk. `index_log`
/// is append-only, a null value being a tombstone, until a bulk write moves it to `idx`; `stream_names`
/// has the streams up to the number `streams_indexed`.
const SECOND: &str = "
CREATE TABLE index_log(nth INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL, value BLOB) STRICT;
CREATE TABLE stream_names(name TEXT PRIMARY KEY, id INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO stream_names SELECT name, id FROM streams ORDER BY name;
CREATE TABLE named(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO named SELECT id, name FROM streams ORDER BY id;
DROP TABLE streams;
ALTER TABLE named RENAME TO streams;
INSERT INTO meta SELECT 'streams_indexed', ifnull(max(id), 0) FROM streams;
";

/// A checksum of each row, `plenary_log::Digest`; null for older records, and for a tombstone.
const THIRD: &str = "
ALTER TABLE events ADD COLUMN sum INTEGER;
ALTER TABLE keys ADD COLUMN sum INTEGER;
ALTER TABLE index_log ADD COLUMN sum INTEGER;
ALTER TABLE idx ADD COLUMN sum INTEGER;
ALTER TABLE rows ADD COLUMN sum INTEGER;
";

/// The use of each account, up to the position `events_indexed`: these rows follow in bulk too. The
/// first event of a commit stores its changes, in the form of `unindexed::written_charges`.
const FOURTH: &str = "
CREATE TABLE usage(account TEXT PRIMARY KEY, bytes INTEGER NOT NULL, events INTEGER NOT NULL) STRICT, WITHOUT ROWID;
ALTER TABLE events ADD COLUMN charges TEXT;
";

/// The journal records of a replica: the number, the record's hash, and the position of the last event
/// after it.
const FIFTH: &str = "
CREATE TABLE journal(sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, position INTEGER NOT NULL) STRICT;
";

/// The only writing connection, on a file of ours with the newest format.
pub(crate) fn writer(file: &Path, options: Options) -> Result<Connection, OpenError> {
    finished(file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(LOCK_WAIT)?;
    let found = format(&connection, file)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    set_permissions(file, Permissions::from_mode(checks::FILE_MODE)).map_err(OpenError::Io)?;
    settle(&connection, WRITER_CACHE_KIB)?;
    // Only the writer checkpoints, between commits; after a failed flush there must be no checkpoint.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", WAL_KEPT_BYTES)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if let Some(pages) = options.pages_max {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    migrate(&mut connection, found)?;
    if let Some(directory) = file.parent() {
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(OpenError::Io)?;
    }
    Ok(connection)
}

/// Refuses a directory with nothing but an unfinished copy: a new store there would be taken for the copy.
fn finished(file: &Path) -> Result<(), OpenError> {
    let unfinished = file.with_file_name(UNFINISHED_FILE);
    if !file.exists() && unfinished.exists() {
        return Err(OpenError::Unfinished { file: unfinished });
    }
    Ok(())
}

/// Refuses a directory without a store. Distinguishes a missing file from one that can't be opened.
pub(crate) fn there(file: &Path) -> Result<(), OpenError> {
    finished(file)?;
    match std::fs::metadata(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(OpenError::NoStore { file: file.to_owned(), why: "it does not exist" })
        }
        Err(error) => Err(OpenError::Io(error)),
    }
}

/// A read-only connection.
pub(crate) fn reader(file: &Path) -> Result<Connection, OpenError> {
    let connection = unsettled(file)?;
    settle(&connection, READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// A read-only connection without our settings, for a file of any format.
fn unsettled(file: &Path) -> Result<Connection, OpenError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(LOCK_WAIT)?;
    Ok(connection)
}

/// A read-only connection to a file of the newest format, which a server may have open.
pub(crate) fn looking(file: &Path) -> Result<Connection, OpenError> {
    there(file)?;
    let (found, known) = (format(&unsettled(file)?, file)?, STEPS.len());
    match found {
        0 => Err(OpenError::NoStore { file: file.to_owned(), why: "it is empty" }),
        _ if i64::try_from(known) == Ok(found) => reader(file),
        _ => Err(OpenError::OlderFormat { found, known }),
    }
}

/// The format of the file, 0 of an empty one.
fn format(connection: &Connection, file: &Path) -> Result<i64, OpenError> {
    let foreign = |detail: String| OpenError::Foreign { file: file.to_owned(), detail };
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = match number("application_id") {
        Ok(application) => application,
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(OpenError::NoDatabase { file: file.to_owned() });
        }
        Err(error) => return Err(error.into()),
    };
    let found = number("user_version")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    match (application, found, tables) {
        (0, 0, 0) => Ok(0),
        (APPLICATION_ID, 1.., _) if found > known => Err(OpenError::NewerFormat { found, known }),
        (APPLICATION_ID, 1.., _) => Ok(found),
        _ => Err(foreign(format!("application id {application:#x}, format {found}, {tables} tables"))),
    }
}

/// Applies the settings that durability and reads depend on, and checks that they took effect.
fn settle(connection: &Connection, cache_kib: i64) -> Result<(), OpenError> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise a statement with a bound LIMIT is planned again for every new value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF;
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{cache_kib};"
    ))?;
    for (setting, needed) in [("journal_mode", "wal"), ("synchronous", "2"), ("mmap_size", "0")] {
        let text = |row: &Row<'_>| match row.get_ref(0)? {
            ValueRef::Integer(number) => Ok(number.to_string()),
            ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Real(_) | ValueRef::Null => row.get(0),
        };
        // A build without memory maps lacks this setting, and returns no row.
        let found = connection.query_row(&format!("PRAGMA {setting}"), [], text).optional()?;
        let found = found.unwrap_or_else(|| needed.to_owned());
        if found != needed {
            return Err(OpenError::Setting { setting, found, needed });
        }
    }
    Ok(())
}

/// The last journal record in the file.
pub(crate) fn last_link(connection: &Connection) -> Result<Link, OpenError> {
    let last = "SELECT sequence, hash, position FROM journal ORDER BY sequence DESC LIMIT 1";
    let last = connection.query_row(last, [], link).optional()?;
    Ok(last.unwrap_or(Link { sequence: 0, hash: [0; 32], position: Position::ZERO }))
}

/// A row of `journal`.
pub(crate) fn link(row: &Row<'_>) -> rusqlite::Result<Link> {
    let (sequence, position): (i64, i64) = (row.get(0)?, row.get(2)?);
    Ok(Link {
        sequence: sequence.cast_unsigned(),
        hash: row.get(1)?,
        position: Position(position.cast_unsigned()),
    })
}

fn migrate(connection: &mut Connection, found: i64) -> Result<(), OpenError> {
    for (step, format) in STEPS.iter().zip(1_i64..).filter(|(_, format)| *format > found) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", format)?;
        transaction.commit()?;
        if found > 0 {
            tracing::info!(format, "the store is changed to the format of this release");
        }
    }
    Ok(())
}

/// Counts the pages in the write-ahead log, after each commit.
pub(crate) fn wal_pages(connection: &mut Connection) -> Result<Arc<AtomicU32>, OpenError> {
    let pages = Arc::new(AtomicU32::new(0));
    let hook_pages = pages.clone();
    connection.wal_hook(Some(move |_: &mut Wal, count: i32| {
        hook_pages.store(count.unsigned_abs(), Ordering::Relaxed);
        Ok(())
    }))?;
    Ok(pages)
}

/// Reads the last numbers, and the rows that the indexes lack: at most one bulk and one commit. Index
/// rows and stream names are moved to their tables at once.
pub(crate) fn load(connection: &mut Connection) -> Result<(SharedTail, Counters), OpenError> {
    flush_buffers(connection)?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let counters = Counters {
        head: number("SELECT ifnull(max(position), 0) FROM events")?,
        stream: number("SELECT ifnull(max(id), 0) FROM streams")?,
        claim: number("SELECT ifnull(max(claim), 0) FROM keys")?,
    };
    let events = number("SELECT value FROM meta WHERE name = 'events_indexed'")?;
    let keys = number("SELECT value FROM meta WHERE name = 'keys_indexed'")?;
    if events > counters.head || keys > counters.claim {
        return Err(OpenError::Corrupt("the indexes are ahead of what they index".to_owned()));
    }
    let salt: Vec<u8> =
        connection.query_row("SELECT value FROM meta WHERE name = 'salt'", [], |row| row.get(0))?;
    let salt = Salt::of(&salt).ok_or_else(|| OpenError::Corrupt("the salt has another length".to_owned()))?;
    let shared = SharedTail::new(counters.head, salt);
    let mut unindexed = shared.unindexed.write();
    let mut rows = connection.prepare(
        "SELECT stream, version, position, charges FROM events WHERE position > ?1 ORDER BY position",
    )?;
    let mut rows = rows.query([events])?;
    while let Some(row) = rows.next()? {
        unindexed.event(row.get(0)?, row.get(1)?, row.get(2)?);
        let charges: Option<String> = row.get(3)?;
        for (account, change) in charges.iter().flat_map(|charges| read_charges(charges)) {
            let here = unindexed.usage(account);
            let used = here.map_or_else(|| records::usage_in_file(connection, account), Ok)?;
            unindexed.record_usage(account.to_owned(), change.applied(used));
        }
    }
    let mut rows =
        connection.prepare("SELECT scope, key, claim FROM keys WHERE claim > ?1 ORDER BY claim")?;
    let mut rows = rows.query([keys])?;
    while let Some(row) = rows.next()? {
        let (scope, key): (String, String) = (row.get(0)?, row.get(1)?);
        unindexed.key(salt.hash(&scope, &key), row.get(2)?);
    }
    drop(unindexed);
    Ok((shared, counters))
}

/// Moves the rows that an earlier process left in the buffer tables.
fn flush_buffers(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction()?;
    // With `max`, the other columns come from the row with the maximum: the last value of each key.
    transaction.execute_batch(
        "INSERT OR REPLACE INTO idx SELECT name, key, value, sum FROM
             (SELECT name, key, value, sum, max(nth) FROM index_log GROUP BY name, key) WHERE value IS NOT NULL;
         DELETE FROM idx WHERE (name, key) IN
             (SELECT name, key FROM
                 (SELECT name, key, value, max(nth) FROM index_log GROUP BY name, key) WHERE value IS NULL);
         DELETE FROM index_log;
         INSERT INTO stream_names SELECT name, id FROM streams
             WHERE id > (SELECT value FROM meta WHERE name = 'streams_indexed') ORDER BY name;
         UPDATE meta SET value = (SELECT ifnull(max(id), 0) FROM streams) WHERE name = 'streams_indexed';",
    )?;
    transaction.commit()?;
    Ok(())
}
