//! A store as the source of a copy: pages of its records, read beside a server that may have it open.
//! Must not know: the destination.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    future::ready,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use plenary_kernel::Position;
use plenary_log::{
    KeyClaim, Row, StoredEvent, StreamName, Usage,
    copy::{
        BoxError, COPY_PAGE_BYTES, COPY_PAGE_RECORDS_MAX, CopySource, IndexEntry, Part, Records, Step, Summed,
    },
};
use rusqlite::{Connection, Row as Found, params};

use crate::{DATABASE_FILE, OpenError, audit, checks, error::ReadError, events, schema};

/// A store that is copied.
pub struct Source {
    directory: PathBuf,
    connection: Connection,
    epoch: String,
    is_replica: bool,
    /// The last claim of a key that was read.
    claim: i64,
    reading: Reading,
    names: HashMap<i64, StreamName>,
    kinds: Vec<&'static str>,
    /// Excludes servers, once it is there.
    lock: Option<File>,
}

/// How far the current part is read.
enum Reading {
    Nothing,
    Events(Position),
    Keys,
    /// The last row of the table, and the newer changes that are not in the table yet.
    Index(IndexKey, BTreeMap<IndexKey, IndexChange>),
    Rows(String),
    Usage(std::vec::IntoIter<(String, Usage)>),
}

/// The name of an index, and a key.
type IndexKey = (String, String);
/// The value and its checksum, unless the key was removed.
type IndexChange = Option<(Bytes, Option<i32>)>;

impl Source {
    /// Opens the store, or a node's replica, in a data directory. A server may have it open.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        checks::library()?;
        let connection = schema::looking(&directory.join(DATABASE_FILE))?;
        let epoch =
            connection.query_row("SELECT value FROM meta WHERE name = 'epoch'", [], |row| row.get(0))?;
        let is_replica = schema::last_link(&connection)?.sequence > 0;
        Ok(Self {
            directory: directory.to_owned(),
            connection,
            epoch,
            is_replica,
            claim: 0,
            reading: Reading::Nothing,
            names: HashMap::new(),
            kinds: Vec::new(),
            lock: None,
        })
    }

    /// Whether it is a node's replica, whose log other nodes may continue.
    pub fn is_replica(&self) -> bool {
        self.is_replica
    }

    fn begin(&mut self, part: Part) -> Result<(), ReadError> {
        self.reading = match part {
            Part::Events { after } => Reading::Events(after),
            Part::Keys => Reading::Keys,
            Part::Index => Reading::Index(IndexKey::default(), changes(&self.connection)?),
            Part::Rows => Reading::Rows(String::new()),
            Part::Usage => {
                let counted = audit::counted(&self.connection)?;
                Reading::Usage(counted.into_iter().collect::<Vec<_>>().into_iter())
            }
        };
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Records>, ReadError> {
        let records = match &mut self.reading {
            Reading::Nothing => return Ok(None),
            Reading::Events(after) => {
                let from = EventReader {
                    connection: &self.connection,
                    names: &mut self.names,
                    kinds: &mut self.kinds,
                };
                let found = from.events(*after)?;
                *after = found.last().map_or(*after, |event| event.record.position);
                Records::Events(found)
            }
            Reading::Keys => {
                let (keys, claim) = keys(&self.connection, self.claim)?;
                self.claim = claim;
                Records::Keys(keys)
            }
            Reading::Index(after, changes) => Records::Index(index(&self.connection, after, changes)?),
            Reading::Rows(after) => {
                let rows = rows(&self.connection, after)?;
                if let Some(last) = rows.last() {
                    after.clone_from(&last.record.0);
                }
                Records::Rows(rows)
            }
            Reading::Usage(usage) => Records::Usage(usage.take(COPY_PAGE_RECORDS_MAX).collect()),
        };
        if records.count() > 0 {
            return Ok(Some(records));
        }
        self.reading = Reading::Nothing;
        Ok(None)
    }

    fn one(&mut self, at: Position) -> Result<Option<(StoredEvent, Option<i32>)>, ReadError> {
        let before = Position(at.0.saturating_sub(1));
        let from =
            EventReader { connection: &self.connection, names: &mut self.names, kinds: &mut self.kinds };
        let found = from.events(before)?.into_iter().next().filter(|event| event.record.position == at);
        Ok(found.map(|event| (event.record, event.sum)))
    }

    fn exclude(&mut self) -> Result<bool, BoxError> {
        match checks::directory(&self.directory) {
            Ok(lock) => {
                self.lock = Some(lock);
                Ok(true)
            }
            Err(OpenError::Locked { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_snapshot(&self) -> Result<Position, rusqlite::Error> {
        self.connection.execute_batch("BEGIN")?;
        let head: i64 =
            self.connection.query_row("SELECT ifnull(max(position), 0) FROM events", [], |row| row.get(0))?;
        Ok(Position(head.cast_unsigned()))
    }
}

/// What has been read or written. It blocked the thread: a copy has nothing else to do.
pub(crate) fn step<'a, T: Send + 'a, E: Into<BoxError>>(done: Result<T, E>) -> Step<'a, T> {
    Box::pin(ready(done.map_err(Into::into)))
}

fn read<'a, T: Send + 'a>(done: Result<T, ReadError>) -> Step<'a, T> {
    step(done.map_err(OpenError::from))
}

impl CopySource for Source {
    fn epoch(&self) -> &str {
        &self.epoch
    }
    fn event(&mut self, at: Position) -> Step<'_, Option<(StoredEvent, Option<i32>)>> {
        read(self.one(at))
    }
    fn read(&mut self, part: Part) -> Step<'_, ()> {
        read(self.begin(part))
    }
    fn page(&mut self) -> Step<'_, Option<Records>> {
        read(self.next())
    }
    fn lock_out(&mut self) -> Step<'_, bool> {
        step(self.exclude())
    }
    fn freeze(&mut self) -> Step<'_, Position> {
        step(self.begin_snapshot())
    }
    /// The lock lasts as long as its file is open.
    fn still_locked_out(&mut self) -> Step<'_, ()> {
        step(self.lock.as_ref().map(drop).ok_or("servers were not locked out"))
    }
}

/// The size of a page so far.
#[derive(Default)]
struct Filled {
    bytes: usize,
    records: usize,
}

impl Filled {
    /// Whether the page is full with this record.
    fn with(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.records += 1;
        self.bytes >= COPY_PAGE_BYTES || self.records >= COPY_PAGE_RECORDS_MAX
    }
}

/// The place of events, with what is remembered of their streams and kinds.
struct EventReader<'a> {
    connection: &'a Connection,
    names: &'a mut HashMap<i64, StreamName>,
    kinds: &'a mut Vec<&'static str>,
}

impl EventReader<'_> {
    fn events(self, after: Position) -> Result<Vec<Summed<StoredEvent>>, ReadError> {
        let (mut found, mut filled) = (Vec::new(), Filled::default());
        let mut statement = self.connection.prepare_cached(events::AFTER)?;
        let mut rows = statement.query([events::position(after)])?;
        while let Some(row) = rows.next()? {
            let stream = crate::streams::name(self.connection, self.names, row.get_ref(1)?.as_i64()?)?;
            let event = events::unchecked(row, stream, self.kinds)?;
            let bytes = event.envelope.len() + event.payload.len() + event.stream.as_str().len();
            found.push(Summed::new(event, row.get(events::SUM)?));
            if filled.with(bytes) {
                break;
            }
        }
        Ok(found)
    }
}

/// The keys after a claim, and the last claim.
fn keys(connection: &Connection, after: i64) -> Result<(Vec<Summed<KeyClaim>>, i64), ReadError> {
    let (mut found, mut filled, mut last) = (Vec::new(), Filled::default(), after);
    let mut statement = connection.prepare_cached(
        "SELECT claim, scope, key, digest, outcome, sum FROM keys WHERE claim > ?1 ORDER BY claim",
    )?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        let claim =
            KeyClaim { scope: row.get(1)?, key: row.get(2)?, digest: row.get(3)?, outcome: bytes(row, 4)? };
        let size = claim.scope.len() + claim.key.len() + claim.digest.len() + claim.outcome.len();
        found.push(Summed::new(claim, row.get(5)?));
        if filled.with(size) {
            break;
        }
    }
    Ok((found, last))
}

/// The changes of index rows that wait for the table: the last one of each key.
fn changes(connection: &Connection) -> Result<BTreeMap<IndexKey, IndexChange>, ReadError> {
    let mut changes = BTreeMap::new();
    let mut statement = connection.prepare("SELECT name, key, value, sum FROM index_log ORDER BY nth")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let value = row.get_ref(2)?.as_blob_or_null()?.map(Bytes::copy_from_slice);
        let sum: Option<i32> = row.get(3)?;
        changes.insert((row.get(0)?, row.get(1)?), value.map(|value| (value, sum)));
    }
    Ok(changes)
}

/// The next index rows of the table and of the changes, which win, in the order of their keys.
fn index(
    connection: &Connection,
    after: &mut IndexKey,
    changes: &mut BTreeMap<IndexKey, IndexChange>,
) -> Result<Vec<Summed<IndexEntry>>, ReadError> {
    let (mut found, mut filled) = (Vec::new(), Filled::default());
    let mut take = |(name, key): IndexKey, change: IndexChange| {
        let Some((value, sum)) = change else { return false };
        let size = name.len() + key.len() + value.len();
        found.push(Summed::new(IndexEntry { name, key, value }, sum));
        filled.with(size)
    };
    let mut statement = connection.prepare_cached(
        "SELECT name, key, value, sum FROM idx WHERE (name, key) > (?1, ?2) ORDER BY name, key",
    )?;
    let mut rows = statement.query(params![after.0, after.1])?;
    while let Some(row) = rows.next()? {
        let at: IndexKey = (row.get(0)?, row.get(1)?);
        while let Some(earlier) = changes.first_entry().filter(|first| *first.key() < at) {
            let (key, change) = earlier.remove_entry();
            take(key, change);
        }
        after.clone_from(&at);
        let in_table = Some((bytes(row, 2)?, row.get(3)?));
        let change = changes.remove(&at).unwrap_or(in_table);
        if take(at, change) {
            return Ok(found);
        }
    }
    while let Some((key, change)) = changes.pop_first() {
        if take(key, change) {
            break;
        }
    }
    Ok(found)
}

fn rows(connection: &Connection, after: &str) -> Result<Vec<Summed<(String, Row)>>, ReadError> {
    let (mut found, mut filled) = (Vec::new(), Filled::default());
    let mut statement = connection
        .prepare_cached("SELECT name, revision, value, sum FROM rows WHERE name > ?1 ORDER BY name")?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let stored = Row { revision: row.get_ref(1)?.as_i64()?.cast_unsigned(), value: bytes(row, 2)? };
        let size = name.len() + stored.value.len();
        found.push(Summed::new((name, stored), row.get(3)?));
        if filled.with(size) {
            break;
        }
    }
    Ok(found)
}

pub(crate) fn bytes(row: &Found<'_>, column: usize) -> Result<Bytes, ReadError> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob()?))
}
