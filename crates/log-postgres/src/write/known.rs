//! The names in the batches of one group, and the committed values under those names.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use bytes::Bytes;
use plenary_kernel::Version;
use plenary_log::{Digest, Fault, Job, KeyRecord, Lookup, Row, StreamName};
use tokio_postgres::Row as Record;

use super::streams::Streams;
use crate::{target::unsigned, trouble::Trouble};

/// The names to look up for a group of jobs, each once.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) streams: Vec<StreamName>,
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) rows: Vec<String>,
}

impl Names {
    /// Leaves out remembered streams, and the keys unless they are requested.
    pub(crate) fn of(jobs: &[Job], remembered: &Streams, with_keys: bool) -> Self {
        let (mut streams, mut keys, mut rows) = (HashSet::new(), HashSet::new(), HashSet::new());
        for batch in jobs.iter().map(|job| &job.batch) {
            let named = batch.conditions.iter().map(|condition| &condition.stream);
            let named = named.chain(batch.events.iter().map(|(stream, _)| stream));
            streams.extend(named.filter(|name| remembered.get(name).is_none()));
            rows.extend(batch.rows.iter().map(|op| &op.name));
            if with_keys {
                keys.extend(batch.key.iter().map(|claim| (&claim.scope, &claim.key)));
            }
        }
        Self {
            streams: streams.into_iter().cloned().collect(),
            keys: keys.into_iter().map(|(scope, key)| (scope.clone(), key.clone())).collect(),
            rows: rows.into_iter().cloned().collect(),
        }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.keys.is_empty() && self.rows.is_empty()
    }
}

/// The committed values of a group's names. A stream that is not in `streams` does not exist.
pub(crate) struct CommittedNames<'a> {
    pub(crate) streams: &'a Streams,
    pub(crate) keys: HashMap<(String, String), CheckedRecord<KeyRecord>>,
    pub(crate) rows: HashMap<String, CheckedRecord<Row>>,
}

/// The stored value, or a description of its damage. A damaged record must not fail the others.
pub(crate) type CheckedRecord<T> = Result<T, String>;

/// Maps records to their names.
pub(crate) fn by_name<N: Clone + Eq + Hash, T>(
    names: &[N],
    records: &[Record],
    decode: impl Fn(&Record, usize, &N) -> Result<T, Trouble>,
) -> Result<HashMap<N, T>, Trouble> {
    let entry = |record| {
        let name = nth(names, record)?;
        Ok((name.clone(), decode(record, 1, name)?))
    };
    records.iter().map(entry).collect()
}

/// The name of a record: its first column is the index in the list of names, from 1.
pub(crate) fn nth<'a, T>(names: &'a [T], record: &Record) -> Result<&'a T, Trouble> {
    let nth: i64 = record.try_get(0)?;
    let name = usize::try_from(nth - 1).ok().and_then(|nth| names.get(nth));
    name.ok_or_else(|| Trouble::Broken(format!("a name numbered {nth}")))
}

/// Digest, outcome and checksum, starting at a column.
pub(crate) fn key_record(
    record: &Record,
    column: usize,
    (scope, key): (&str, &str),
) -> Result<CheckedRecord<KeyRecord>, Trouble> {
    let what = || format!("the key {key} of {scope}");
    let Some(stored) = key_as_stored(record, column)? else { return Ok(Err(damaged(what()))) };
    let digest = Digest::key(scope, key, &stored);
    Ok(checked(stored, digest, record.try_get(column + 2)?, what))
}

/// Digest and outcome, starting at a column, without a check of the checksum; `None` if the digest is
/// invalid.
pub(crate) fn key_as_stored(record: &Record, column: usize) -> Result<Option<KeyRecord>, Trouble> {
    let digest: &[u8] = record.try_get(column)?;
    let Ok(digest) = digest.try_into() else { return Ok(None) };
    Ok(Some(KeyRecord { digest, outcome: bytes(record, column + 1)? }))
}

/// Revision, value and checksum, starting at a column.
pub(crate) fn row(record: &Record, column: usize, name: &str) -> Result<CheckedRecord<Row>, Trouble> {
    let row = row_as_stored(record, column)?;
    let digest = Digest::row(name, &row);
    Ok(checked(row, digest, record.try_get(column + 2)?, || format!("the row {name}")))
}

/// Revision and value, starting at a column, without a check of the checksum.
pub(crate) fn row_as_stored(record: &Record, column: usize) -> Result<Row, Trouble> {
    Ok(Row { revision: unsigned(record.try_get(column)?)?, value: bytes(record, column + 1)? })
}

/// The value, if its checksum is right.
pub(crate) fn checked<T>(
    read: T,
    digest: Digest,
    stored: Option<i32>,
    what: impl FnOnce() -> String,
) -> CheckedRecord<T> {
    if digest.agrees(stored) { Ok(read) } else { Err(damaged(what())) }
}

fn damaged(what: String) -> String {
    what + " is damaged"
}

/// A `bytea` column.
pub(crate) fn bytes(record: &Record, column: usize) -> Result<Bytes, Trouble> {
    Ok(Bytes::copy_from_slice(record.try_get(column)?))
}

impl Lookup for CommittedNames<'_> {
    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault> {
        Ok(self.streams.get(stream).map_or(Version::ZERO, |stream| stream.version))
    }
    fn key(&mut self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        known(self.keys.get(&(scope.to_owned(), key.to_owned())))
    }
    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault> {
        known(self.rows.get(name))
    }
}

fn known<T: Clone>(found: Option<&CheckedRecord<T>>) -> Result<Option<T>, Fault> {
    found.cloned().transpose().map_err(Fault::Corrupt)
}
