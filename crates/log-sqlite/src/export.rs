//! The whole content of a store that no process has open, in parts that another store can write one
//! after another: events as they are stored, then keys, rows, index rows, and the use of accounts.
//! Must not know: the destination.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use bytes::Bytes;
use plenary_kernel::Position;
use plenary_log::{Change, Digest, IndexOp, KeyClaim, KeyRecord, Row, Writes};
use rusqlite::Connection;

use crate::{
    DATABASE_FILE, OpenError, Options, checks,
    commit::{Committer, Link},
    copy_destination::{UNFINISHED_FILE, flush, install_copy, remove_unfinished, vacant},
    copy_source::bytes,
    error::ReadError,
    events, schema,
};

/// Most items of a part without events.
const ITEMS_MAX: usize = 2_048;

/// A store that stays locked while this exists.
pub struct Export {
    connection: Connection,
    head: Position,
    link: Link,
    _lock: File,
}

/// Opens a store, or a replica, for copying. Brings its indexes up to date.
///
/// # Errors
/// See [`OpenError`].
pub fn export(directory: &Path) -> Result<Export, OpenError> {
    checks::library()?;
    let database = directory.join(DATABASE_FILE);
    schema::there(&database)?;
    let lock = checks::directory(directory)?;
    let mut connection = schema::writer(&database, Options::default())?;
    let (shared, counters) = schema::load(&mut connection)?;
    let link = schema::last_link(&connection)?;
    let failed = |why: String| OpenError::Corrupt(why);
    let mut committer = Committer::new(&connection, &shared, counters)?;
    committer.index().map_err(|failure| failed(format!("{failure:?}")))?;
    drop(committer);
    Ok(Export { connection, head: Position(counters.head.cast_unsigned()), link, _lock: lock })
}

/// The receiver of the parts; false ends the walk.
type Take<'a> = dyn FnMut(Writes) -> bool + 'a;

impl Export {
    /// The position of the last event.
    pub fn head(&self) -> Position {
        self.head
    }

    /// The last record of its journal if it is a replica; number 0 otherwise.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Produces everything in parts of about so many bytes; the parts of one store are always the same.
    ///
    /// # Errors
    /// Damaged records are not copied.
    pub fn each(&self, bytes: usize, take: &mut Take<'_>) -> Result<(), OpenError> {
        let mut part =
            Part { writes: Writes::default(), bytes: 0, items: 0, bytes_max: bytes, take, goes_on: true };
        self.events(&mut part)?;
        part.end();
        self.keys(&mut part)?;
        self.rows(&mut part)?;
        self.indexes(&mut part)?;
        self.usage(&mut part)?;
        part.end();
        Ok(())
    }

    fn events(&self, part: &mut Part<'_, '_>) -> Result<(), ReadError> {
        let (mut names, mut kinds, mut last) = (HashMap::new(), Vec::new(), Position::ZERO);
        let mut statement = self.connection.prepare(events::ALL)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stream = crate::streams::name(&self.connection, &mut names, row.get_ref(1)?.as_i64()?)?;
            let event = events::unchecked(row, stream, &mut kinds)?;
            let is_sound = Digest::event(&event).agrees(row.get(events::SUM)?);
            if !is_sound || event.position != last.next() {
                return Err(ReadError::Corrupt(format!("position {} is damaged or not there", last.next())));
            }
            last = event.position;
            let bytes = event.envelope.len() + event.payload.len() + event.stream.as_str().len();
            part.writes.events.push(event);
            if !part.grown(bytes, usize::MAX) {
                break;
            }
        }
        Ok(())
    }

    fn keys(&self, part: &mut Part<'_, '_>) -> Result<(), ReadError> {
        let sql = "SELECT scope, key, digest, outcome, sum FROM keys ORDER BY claim";
        let mut statement = self.connection.prepare(sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let (scope, key): (String, String) = (row.get(0)?, row.get(1)?);
            let record = KeyRecord { digest: row.get(2)?, outcome: bytes(row, 3)? };
            sound(Digest::key(&scope, &key, &record), row.get(4)?, || format!("the key {key}"))?;
            let size = scope.len() + key.len() + record.outcome.len() + record.digest.len();
            let KeyRecord { digest, outcome } = record;
            part.writes.keys.push(KeyClaim { scope, key, digest, outcome });
            if !part.grown(size, ITEMS_MAX) {
                break;
            }
        }
        Ok(())
    }

    fn rows(&self, part: &mut Part<'_, '_>) -> Result<(), ReadError> {
        let mut statement =
            self.connection.prepare("SELECT name, revision, value, sum FROM rows ORDER BY name")?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let name: String = row.get(0)?;
            let stored = Row { revision: row.get_ref(1)?.as_i64()?.cast_unsigned(), value: bytes(row, 2)? };
            sound(Digest::row(&name, &stored), row.get(3)?, || format!("the row {name}"))?;
            let size = name.len() + stored.value.len();
            part.writes.rows.insert(name, Some(stored));
            if !part.grown(size, ITEMS_MAX) {
                break;
            }
        }
        Ok(())
    }

    fn indexes(&self, part: &mut Part<'_, '_>) -> Result<(), ReadError> {
        let mut names: HashSet<&'static str> = HashSet::new();
        let mut statement =
            self.connection.prepare("SELECT name, key, value, sum FROM idx ORDER BY name, key")?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let text = row.get_ref(0)?.as_str()?;
            let name = match names.get(text) {
                Some(name) => *name,
                // There are only as many as the program has indexes.
                None => {
                    let name: &'static str = String::leak(text.to_owned());
                    names.insert(name);
                    name
                }
            };
            let (key, value): (String, Bytes) = (row.get(1)?, bytes(row, 2)?);
            sound(Digest::index(name, &key, &value), row.get(3)?, || format!("the key {key} of {name}"))?;
            let size = name.len() + key.len() + value.len();
            part.writes.index.push(IndexOp::Put { name, key, value });
            if !part.grown(size, ITEMS_MAX) {
                break;
            }
        }
        Ok(())
    }

    fn usage(&self, part: &mut Part<'_, '_>) -> Result<(), ReadError> {
        let sql = "SELECT account, max(0, bytes), max(0, events) FROM usage ORDER BY account";
        let mut statement = self.connection.prepare(sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let account: String = row.get(0)?;
            let size = account.len() + size_of::<Change>();
            part.writes.charges.insert(account, Change { bytes: row.get(1)?, events: row.get(2)? });
            if !part.grown(size, ITEMS_MAX) {
                break;
            }
        }
        Ok(())
    }
}

fn sound(digest: Digest, stored: Option<i32>, what: impl FnOnce() -> String) -> Result<(), ReadError> {
    if digest.agrees(stored) {
        return Ok(());
    }
    Err(ReadError::Corrupt(what() + " is damaged"))
}

/// The data of the next part.
struct Part<'a, 't> {
    writes: Writes,
    bytes: usize,
    items: usize,
    bytes_max: usize,
    take: &'a mut Take<'t>,
    goes_on: bool,
}

impl Part<'_, '_> {
    /// Accounts for another item; returns whether the walk continues.
    fn grown(&mut self, bytes: usize, items_max: usize) -> bool {
        self.bytes += bytes;
        self.items += 1;
        if self.bytes >= self.bytes_max || self.items >= items_max {
            self.end();
        }
        self.goes_on
    }

    fn end(&mut self) {
        (self.bytes, self.items) = (0, 0);
        let writes = std::mem::take(&mut self.writes);
        if !writes.is_empty() && self.goes_on {
            self.goes_on = (self.take)(writes);
        }
    }
}

/// Turns a replica into a store of its own by dropping its journal records. No process may have it open.
///
/// # Errors
/// See [`OpenError`]; a store that is not a replica stays unchanged.
pub fn leave(directory: &Path) -> Result<Link, OpenError> {
    let export = export(directory)?;
    let Export { connection, link, .. } = &export;
    if link.sequence > 0 && link.position != export.head {
        return Err(OpenError::Corrupt("the log does not end where the last record says".to_owned()));
    }
    connection.execute_batch("DELETE FROM journal")?;
    Ok(*link)
}

/// Copies the state of a store at one moment into another directory, as a store of its own. A server may
/// be running on it. A copy that was interrupted begins again.
///
/// # Errors
/// See [`OpenError`]; a directory that has a store already stays unchanged.
pub fn copy(from: &Path, to: &Path) -> Result<Position, OpenError> {
    checks::library()?;
    let source = schema::looking(&from.join(DATABASE_FILE))?;
    let _lock = checks::directory(to)?;
    vacant(to)?;
    remove_unfinished(to)?;
    let target = to.join(UNFINISHED_FILE);
    // Private from the start: created with mode 0600.
    let new = std::fs::OpenOptions::new().write(true).create_new(true).mode(checks::FILE_MODE).open(&target);
    new.map_err(OpenError::Io)?;
    let name = target.to_string_lossy().into_owned();
    // It writes only to the copy.
    source.pragma_update(None, "query_only", false)?;
    source.execute("VACUUM INTO ?1", [&name])?;
    let mut copied = schema::writer(&target, Options::default())?;
    let (_, counters) = schema::load(&mut copied)?;
    copied.execute_batch(
        "DELETE FROM journal; UPDATE meta SET value = lower(hex(randomblob(16))) WHERE name = 'epoch'",
    )?;
    flush(&copied)?;
    drop(copied);
    install_copy(to)?;
    Ok(Position(counters.head.cast_unsigned()))
}
