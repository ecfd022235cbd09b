//! A scan of the whole file, on a separate read-only connection, so that a server may have the file open; and
//! checksums for older records.
//! Must not know: the errors of a log; `plenary_log::Walk` finds them.

use std::{collections::HashMap, path::Path};

use bytes::Bytes;
use plenary_kernel::Position;
use plenary_log::{Audit, AuditVisitor, Change, Digest, KeyRecord, Row, Usage, Walk};
use rusqlite::{Connection, Error, Row as Found, params, params_from_iter, types::Value};

use crate::{
    DATABASE_FILE, OpenError, Options, checks,
    commit::CHARGE,
    error::ReadError,
    events::{self, event_columns},
    schema,
    unindexed::{Salt, read_charges},
};

/// Most errors that SQLite's own check may return.
const COMPLAINTS_MAX: usize = 100;
/// The number of rows that get their checksums in one transaction.
const ROWS_AT_ONCE: i64 = 1_024;

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Database(error) => Self::Database(error),
            ReadError::Corrupt(what) => Self::Corrupt(what),
        }
    }
}

/// Audits the store in a data directory. It sees one moment; meanwhile the write-ahead log of a running
/// server is not truncated.
pub fn audit(directory: &Path) -> Result<Audit, OpenError> {
    audit_with(directory, &mut ())
}

/// Audits the store, and shows every record to a visitor.
pub fn audit_with(directory: &Path, looks: &mut dyn AuditVisitor) -> Result<Audit, OpenError> {
    checks::library()?;
    let connection = schema::looking(&directory.join(DATABASE_FILE))?;
    connection.execute_batch("BEGIN")?;
    let mut audit = Audit::default();
    complaints(&connection, &mut audit)?;
    // A damaged page ends one walk early. The findings of the others are still useful.
    for walk in [log, positions, indexes, rows, keys, usage] {
        if let Err(error) = walk(&connection, &mut audit, looks) {
            audit.find("database", None, OpenError::from(error).to_string());
        }
    }
    Ok(audit)
}

fn complaints(connection: &Connection, audit: &mut Audit) -> Result<(), Error> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({COMPLAINTS_MAX})"))?;
    let mut complaints = check.query([])?;
    while let Some(complaint) = complaints.next()? {
        let text: String = complaint.get(0)?;
        if text != "ok" {
            audit.find("database", None, text);
        }
    }
    Ok(())
}

fn log(connection: &Connection, audit: &mut Audit, looks: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    let (mut walk, mut names, mut kinds) = (Walk::default(), HashMap::new(), Vec::new());
    let mut statement = connection.prepare(events::ALL)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let position = Position(row.get_ref(0)?.as_i64()?.cast_unsigned());
        let event = crate::streams::name(connection, &mut names, row.get_ref(1)?.as_i64()?)
            .and_then(|stream| Ok((events::unchecked(row, stream, &mut kinds)?, row.get(events::SUM)?)));
        match event {
            Ok((event, sum)) => {
                walk.event(&event, sum, audit);
                looks.event(&event);
            }
            Err(ReadError::Corrupt(text)) => {
                audit.find("damaged", Some(position), format!("position {position}: {text}"));
                walk.last = position;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that the stream index has the position of every event that it covers.
fn positions(connection: &Connection, audit: &mut Audit, _: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    let mut statement = connection.prepare(
        "SELECT e.position, e.stream, e.version FROM events e LEFT JOIN stream_index i ON i.slot = e.stream << 32 | e.version
         WHERE e.position <= (SELECT value FROM meta WHERE name = 'events_indexed') AND i.position IS NOT e.position",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (position, stream, version): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let text =
            format!("the index does not lead to position {position}, version {version} of stream {stream}");
        audit.find("misplaced", Some(Position(position.cast_unsigned())), text);
    }
    let spare: i64 = connection.query_row(
        "SELECT (SELECT count(*) FROM stream_index) - (SELECT value FROM meta WHERE name = 'events_indexed')",
        [],
        |row| row.get(0),
    )?;
    if spare > 0 {
        audit.find(
            "misplaced",
            None,
            format!("the index of streams leads to {spare} events that are not there"),
        );
    }
    Ok(())
}

fn indexes(connection: &Connection, audit: &mut Audit, _: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    for table in ["idx", "index_log"] {
        let sql = format!("SELECT name, key, value, sum FROM {table} WHERE value IS NOT NULL");
        each(connection, &sql, |row| {
            audit.index_rows += 1;
            let (name, key) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            let digest = Digest::index(name, key, row.get_ref(2)?.as_blob()?);
            audit.check(digest, row.get(3)?, None, || format!("the key {key} of the index {name}"));
            Ok(())
        })?;
    }
    Ok(())
}

fn rows(connection: &Connection, audit: &mut Audit, looks: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    each(connection, "SELECT name, revision, value, sum FROM rows", |row| {
        audit.rows += 1;
        let name = row.get_ref(0)?.as_str()?;
        looks.row(name);
        looks.unowned_usage(Usage {
            bytes: (name.len() + row.get_ref(2)?.as_blob()?.len()) as u64,
            events: 1,
        });
        audit.check(digest_of_row(row)?, row.get(3)?, None, || format!("the row {name}"));
        Ok(())
    })
}

fn keys(connection: &Connection, audit: &mut Audit, looks: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    let salt: Vec<u8> =
        connection.query_row("SELECT value FROM meta WHERE name = 'salt'", [], |row| row.get(0))?;
    let salt = Salt::of(&salt).ok_or_else(|| ReadError::Corrupt("the salt has another length".to_owned()))?;
    let indexed: i64 =
        connection.query_row("SELECT value FROM meta WHERE name = 'keys_indexed'", [], |row| row.get(0))?;
    let mut is_there = connection.prepare("SELECT 1 FROM key_index WHERE hash = ?1 AND claim = ?2")?;
    each(connection, "SELECT claim, scope, key, digest, outcome, sum FROM keys", |row| {
        audit.keys += 1;
        let claim = row.get_ref(0)?.as_i64()?;
        let (scope, key) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        let value_bytes = row.get_ref(3)?.as_blob()?.len() + row.get_ref(4)?.as_blob()?.len();
        looks.unowned_usage(Usage { bytes: (scope.len() + key.len() + value_bytes) as u64, events: 0 });
        audit.check(digest_of_key(row)?, row.get(5)?, None, || format!("claim {claim} of a key"));
        if claim <= indexed && !is_there.exists(params![salt.hash(scope, key), claim])? {
            audit.find("misplaced", None, format!("the index of keys does not lead to claim {claim}"));
        }
        Ok(())
    })
}

/// The counters.
fn usage(connection: &Connection, _: &mut Audit, looks: &mut dyn AuditVisitor) -> Result<(), ReadError> {
    for (account, usage) in counted(connection)? {
        looks.usage(&account, usage);
    }
    Ok(())
}

/// The use of each account, including the changes that are not indexed yet.
pub(crate) fn counted(connection: &Connection) -> Result<HashMap<String, Usage>, ReadError> {
    let mut counted: HashMap<String, Usage> = HashMap::new();
    each(connection, "SELECT account, max(0, bytes), max(0, events) FROM usage", |row| {
        let count = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        counted.insert(row.get(0)?, Usage { bytes: count(1)?, events: count(2)? });
        Ok(())
    })?;
    let lacking = "SELECT charges FROM events
        WHERE position > (SELECT value FROM meta WHERE name = 'events_indexed') AND charges IS NOT NULL ORDER BY position";
    each(connection, lacking, |row| {
        for (account, change) in read_charges(row.get_ref(0)?.as_str()?) {
            let usage = counted.entry(account.to_owned()).or_default();
            *usage = change.applied(*usage);
        }
        Ok(())
    })?;
    Ok(counted)
}

/// Changes the counted use of accounts. No other process may have the store open.
pub fn recount(directory: &Path, changes: &[(String, Change)]) -> Result<(), OpenError> {
    checks::library()?;
    let _lock = checks::directory(directory)?;
    let mut connection = schema::writer(&directory.join(DATABASE_FILE), Options::default())?;
    if schema::last_link(&connection)?.sequence > 0 {
        return Err(OpenError::Replica { directory: directory.to_owned() });
    }
    let transaction = connection.transaction()?;
    for (account, change) in changes {
        transaction.execute(CHARGE, params![account, change.bytes, change.events])?;
    }
    transaction.commit()?;
    Ok(())
}

fn each(
    connection: &Connection,
    sql: &str,
    mut see: impl FnMut(&Found<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        see(row)?;
    }
    Ok(())
}

/// A row of `name, revision, value`.
fn digest_of_row(row: &Found<'_>) -> Result<Digest, ReadError> {
    let value = Bytes::copy_from_slice(row.get_ref(2)?.as_blob()?);
    let revision = row.get_ref(1)?.as_i64()?.cast_unsigned();
    Ok(Digest::row(row.get_ref(0)?.as_str()?, &Row { revision, value }))
}

/// A row of `claim, scope, key, digest, outcome`.
fn digest_of_key(row: &Found<'_>) -> Result<Digest, ReadError> {
    let outcome = Bytes::copy_from_slice(row.get_ref(4)?.as_blob()?);
    let record = KeyRecord { digest: row.get(3)?, outcome };
    Ok(Digest::key(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?, &record))
}

/// Adds a checksum to every record without one; returns their number. No other process may have the
/// store open. The records are assumed to be valid, so audit the store first.
pub fn add_digests(directory: &Path) -> Result<u64, OpenError> {
    checks::library()?;
    let _lock = checks::directory(directory)?;
    let mut connection = schema::writer(&directory.join(DATABASE_FILE), Options::default())?;
    // Moves buffered index rows to their tables, so that every index row is in its table.
    schema::load(&mut connection)?;
    let mut added = 0;
    for table in [EVENTS, KEYS, INDEXES, ROWS] {
        added += table.add(&mut connection)?;
    }
    Ok(added)
}

/// A table whose rows get checksums, in the order of its key.
struct Table {
    /// Selects rows after a key that have no checksum, up to a limit: the columns of the key are the
    /// first parameters.
    select: &'static str,
    /// Sets one checksum: the checksum, then the key.
    update: &'static str,
    /// A key before all others.
    first: fn() -> Vec<Value>,
    sum: fn(&Connection, &Found<'_>) -> Result<ChecksummedRow, ReadError>,
}

/// A checksum, and the key of its row.
type ChecksummedRow = (Digest, Vec<Value>);

const EVENTS: Table = Table {
    select: concat!(
        "SELECT ",
        event_columns!(),
        " FROM events e WHERE e.position > ?1 AND e.sum IS NULL ORDER BY e.position LIMIT ?2"
    ),
    update: "UPDATE events SET sum = ?1 WHERE position = ?2",
    first: || vec![Value::Integer(0)],
    sum: |connection, row| {
        let stream = crate::streams::name(connection, &mut HashMap::new(), row.get_ref(1)?.as_i64()?)?;
        let event = events::unchecked(row, stream, &mut Vec::new())?;
        Ok((Digest::event(&event), vec![row.get(0)?]))
    },
};

const KEYS: Table = Table {
    select: "SELECT claim, scope, key, digest, outcome FROM keys WHERE claim > ?1 AND sum IS NULL \
        ORDER BY claim LIMIT ?2",
    update: "UPDATE keys SET sum = ?1 WHERE claim = ?2",
    first: || vec![Value::Integer(0)],
    sum: |_, row| Ok((digest_of_key(row)?, vec![row.get(0)?])),
};

const INDEXES: Table = Table {
    select: "SELECT name, key, value FROM idx WHERE (name, key) > (?1, ?2) AND sum IS NULL \
        ORDER BY name, key LIMIT ?3",
    update: "UPDATE idx SET sum = ?1 WHERE name = ?2 AND key = ?3",
    first: || vec![Value::Text(String::new()), Value::Text(String::new())],
    sum: |_, row| {
        let (name, key) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        Ok((Digest::index(name, key, row.get_ref(2)?.as_blob()?), vec![row.get(0)?, row.get(1)?]))
    },
};

const ROWS: Table = Table {
    select: "SELECT name, revision, value FROM rows WHERE name > ?1 AND sum IS NULL ORDER BY name LIMIT ?2",
    update: "UPDATE rows SET sum = ?1 WHERE name = ?2",
    first: || vec![Value::Text(String::new())],
    sum: |_, row| Ok((digest_of_row(row)?, vec![row.get(0)?])),
};

impl Table {
    /// Updates a few rows per transaction, so that the write-ahead log stays short.
    fn add(&self, connection: &mut Connection) -> Result<u64, OpenError> {
        let (mut added, mut after) = (0, (self.first)());
        loop {
            let transaction = connection.transaction()?;
            let mut found = Vec::new();
            {
                let mut select = transaction.prepare_cached(self.select)?;
                let limit = Value::Integer(ROWS_AT_ONCE);
                let mut rows = select.query(params_from_iter(after.iter().chain([&limit])))?;
                while let Some(row) = rows.next()? {
                    found.push((self.sum)(&transaction, row)?);
                }
                let mut update = transaction.prepare_cached(self.update)?;
                for (digest, key) in &found {
                    let sum = Value::Integer(digest.stored().into());
                    update.execute(params_from_iter([&sum].into_iter().chain(key)))?;
                }
            }
            transaction.commit()?;
            added += found.len() as u64;
            match found.pop() {
                Some((_, last)) => after = last,
                None => return Ok(added),
            }
        }
    }
}
