//! The records of a copy, with their checksums as stored.
//! Must not know: any database.

use plenary_kernel::Position;

use super::CopyError;
use crate::{Digest, KeyClaim, KeyRecord, Row, StoredEvent, Usage};

/// A record, and its checksum as stored: none for a record that is older than checksums, and the copy has none either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summed<T> {
    /// The record.
    pub record: T,
    /// The checksum.
    pub sum: Option<i32>,
}

impl<T> Summed<T> {
    /// A record with its stored checksum.
    pub fn new(record: T, sum: Option<i32>) -> Self {
        Self { record, sum }
    }
}

/// A row of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The index.
    pub name: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: bytes::Bytes,
}

/// A page of records of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// Events, in the order of the log.
    Events(Vec<Summed<StoredEvent>>),
    /// Claimed keys.
    Keys(Vec<Summed<KeyClaim>>),
    /// Rows of indexes.
    Index(Vec<Summed<IndexEntry>>),
    /// Rows, with their names.
    Rows(Vec<Summed<(String, Row)>>),
    /// The use of accounts.
    Usage(Vec<(String, Usage)>),
}

impl Records {
    /// The number of records.
    pub fn count(&self) -> u64 {
        let count = match self {
            Self::Events(records) => records.len(),
            Self::Keys(records) => records.len(),
            Self::Index(records) => records.len(),
            Self::Rows(records) => records.len(),
            Self::Usage(records) => records.len(),
        };
        count as u64
    }

    /// Compares every checksum, and the positions of events with the one before them. Damage is not copied.
    pub(super) fn check(&self, last: Position) -> Result<(), CopyError> {
        match self {
            Self::Events(events) => check_events(events, last),
            Self::Keys(keys) => each(keys, |claim| {
                let record = KeyRecord { digest: claim.digest, outcome: claim.outcome.clone() };
                (Digest::key(&claim.scope, &claim.key, &record), format!("the key {}", claim.key))
            }),
            Self::Index(rows) => each(rows, |row| {
                let digest = Digest::index(&row.name, &row.key, &row.value);
                (digest, format!("the key {} of the index {}", row.key, row.name))
            }),
            Self::Rows(rows) => each(rows, |(name, row)| (Digest::row(name, row), format!("the row {name}"))),
            Self::Usage(_) => Ok(()),
        }
    }
}

fn check_events(events: &[Summed<StoredEvent>], last: Position) -> Result<(), CopyError> {
    let mut last = last;
    for Summed { record, sum } in events {
        let due = last.next();
        if record.position != due || !Digest::event(record).agrees(*sum) {
            return Err(CopyError::Damaged(format!("position {due} is damaged or not there")));
        }
        last = due;
    }
    Ok(())
}

fn each<T>(records: &[Summed<T>], digest_of: impl Fn(&T) -> (Digest, String)) -> Result<(), CopyError> {
    for Summed { record, sum } in records {
        let (digest, what) = digest_of(record);
        if !digest.agrees(*sum) {
            return Err(CopyError::Damaged(what + " is damaged"));
        }
    }
    Ok(())
}
