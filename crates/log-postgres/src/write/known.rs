//! What the batches of one group name, and what is committed under those names: read in one go under the lock.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use plenary_kernel::{Position, Version};
use plenary_log::{Fault, IndexOp, Job, KeyRecord, Lookup, Row, StreamName};
use tokio_postgres::Row as Record;

use crate::{
    target::place,
    text::{TEXT_OCTETS_MAX, stored},
    trouble::Trouble,
};

/// The names in a group of jobs, each once.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) streams: Vec<StreamName>,
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) rows: Vec<String>,
}

impl Names {
    pub(crate) fn of(jobs: &[Job]) -> Self {
        let (mut streams, mut keys, mut rows) = (HashSet::new(), HashSet::new(), HashSet::new());
        for batch in jobs.iter().map(|job| &job.batch) {
            streams.extend(batch.conditions.iter().map(|condition| &condition.stream));
            streams.extend(batch.events.iter().map(|(stream, _)| stream));
            keys.extend(batch.key.iter().map(|claim| (&claim.scope, &claim.key)));
            rows.extend(batch.rows.iter().map(|op| &op.name));
        }
        Self {
            streams: streams.into_iter().cloned().collect(),
            keys: keys.into_iter().map(|(scope, key)| (scope.clone(), key.clone())).collect(),
            rows: rows.into_iter().cloned().collect(),
        }
    }
}

/// Whether every name of a job can be kept; one that can't must not take its group with it.
pub(crate) fn fits(job: &Job) -> bool {
    let batch = &job.batch;
    let fits = |text: &str| text.len() <= TEXT_OCTETS_MAX / 2 || stored(text).len() <= TEXT_OCTETS_MAX;
    batch.conditions.iter().all(|condition| fits(condition.stream.as_str()))
        && batch.events.iter().all(|(stream, event)| fits(stream.as_str()) && fits(event.kind))
        && batch.rows.iter().all(|op| fits(&op.name))
        && batch
            .key
            .iter()
            .all(|claim| stored(&claim.scope).len() + stored(&claim.key).len() <= TEXT_OCTETS_MAX)
        && batch.index.iter().all(|op| match op {
            IndexOp::Put { name, key, .. } | IndexOp::Delete { name, key } => {
                name.len() + stored(key).len() <= TEXT_OCTETS_MAX
            }
        })
}

/// A stream that is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) id: i64,
    version: Version,
}

/// What is committed under the names of a group.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) head: Position,
    /// How many streams there are; the newest one's id.
    pub(crate) streams_made: i64,
    pub(crate) streams: HashMap<StreamName, Stream>,
    keys: HashMap<(String, String), KeyRecord>,
    rows: HashMap<String, Row>,
}

impl Known {
    pub(crate) fn head(&mut self, records: &[Record]) -> Result<(), Trouble> {
        let [head] = records else {
            return Err(Trouble::Broken(format!("{} heads", records.len())));
        };
        self.head = Position(place(head.try_get(0)?)?);
        self.streams_made = head.try_get(1)?;
        Ok(())
    }
    pub(crate) fn streams(&mut self, names: &[StreamName], records: &[Record]) -> Result<(), Trouble> {
        for record in records {
            let version = Version(place(record.try_get::<_, Option<i64>>(2)?.unwrap_or(0))?);
            let stream = Stream { id: record.try_get(1)?, version };
            self.streams.insert(nth(names, record)?.clone(), stream);
        }
        Ok(())
    }
    pub(crate) fn keys(&mut self, names: &[(String, String)], records: &[Record]) -> Result<(), Trouble> {
        for record in records {
            self.keys.insert(nth(names, record)?.clone(), key_record(record, 1)?);
        }
        Ok(())
    }
    pub(crate) fn rows(&mut self, names: &[String], records: &[Record]) -> Result<(), Trouble> {
        for record in records {
            self.rows.insert(nth(names, record)?.clone(), row(record, 1)?);
        }
        Ok(())
    }
}

/// The name that a record stands for: its first column is the place in the list of names, from 1.
pub(crate) fn nth<'a, T>(names: &'a [T], record: &Record) -> Result<&'a T, Trouble> {
    let nth: i64 = record.try_get(0)?;
    let name = usize::try_from(nth - 1).ok().and_then(|nth| names.get(nth));
    name.ok_or_else(|| Trouble::Broken(format!("a name numbered {nth}")))
}

/// Digest and outcome, from a column on.
pub(crate) fn key_record(record: &Record, column: usize) -> Result<KeyRecord, Trouble> {
    let digest: &[u8] = record.try_get(column)?;
    let digest =
        digest.try_into().map_err(|_| Trouble::Broken("a digest that is not of 32 octets".into()))?;
    Ok(KeyRecord { digest, outcome: octets(record, column + 1)? })
}

/// Revision and value, from a column on.
pub(crate) fn row(record: &Record, column: usize) -> Result<Row, Trouble> {
    Ok(Row { revision: place(record.try_get(column)?)?, value: octets(record, column + 1)? })
}

/// A `bytea` column.
pub(crate) fn octets(record: &Record, column: usize) -> Result<Bytes, Trouble> {
    Ok(Bytes::copy_from_slice(record.try_get(column)?))
}

impl Lookup for Known {
    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault> {
        Ok(self.streams.get(stream).map_or(Version::ZERO, |stream| stream.version))
    }
    fn key(&mut self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        Ok(self.keys.get(&(scope.to_owned(), key.to_owned())).cloned())
    }
    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault> {
        Ok(self.rows.get(name).cloned())
    }
}
