//! The versions of streams that this process wrote recently. Commits of other processes are read with the next lock;
//! other streams are looked up. Dropping an entry only costs a look-up.

use std::collections::HashMap;

use plenary_kernel::{Position, Version};
use plenary_log::{StoredEvent, StreamName};
use tokio_postgres::Row as Record;

use crate::{target::unsigned, text::plain, trouble::Trouble, write::known::nth};

/// Most streams that are remembered; beyond it all are dropped.
const STREAMS_REMEMBERED_MAX: usize = 65_536;
/// Most events of others that are read to update the streams; beyond it all are dropped.
const CHANGES_MAX: u64 = 4_096;

/// An existing stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) id: i64,
    pub(crate) version: Version,
}

/// A stream that other processes appended to.
pub(crate) struct Change {
    name: StreamName,
    stream: Stream,
}

impl Change {
    /// From the stored name.
    pub(crate) fn new(name: &str, id: i64, version: u64) -> Self {
        Self { name: StreamName::stored(&plain(name)), stream: Stream { id, version: Version(version) } }
    }
}

/// The streams as of one position.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    known: HashMap<StreamName, Stream>,
    at: Position,
}

impl Streams {
    /// Without any stream.
    pub(crate) fn new(at: Position) -> Self {
        Self { known: HashMap::new(), at }
    }
    pub(crate) fn at(&self) -> Position {
        self.at
    }
    pub(crate) fn get(&self, name: &StreamName) -> Option<Stream> {
        self.known.get(name).copied()
    }
    /// Applies the appends of others up to `head`, as far as they were read.
    pub(crate) fn changed(&mut self, head: Position, changes: Vec<Change>) {
        if head.0 - self.at.0 > CHANGES_MAX {
            self.known.clear();
        } else {
            self.known.extend(changes.into_iter().map(|change| (change.name, change.stream)));
        }
        self.at = head;
    }
    /// Adds streams that were looked up by their names: `(nth, id, version)`.
    pub(crate) fn found(&mut self, names: &[StreamName], records: &[Record]) -> Result<(), Trouble> {
        for record in records {
            self.known.insert(nth(names, record)?.clone(), stream(record)?);
        }
        Ok(())
    }
    /// Adds own events, each with its stream's id.
    pub(crate) fn committed<'a>(&mut self, events: impl Iterator<Item = (&'a StoredEvent, i64)>) {
        if self.known.len() > STREAMS_REMEMBERED_MAX {
            self.known.clear();
        }
        for (event, id) in events {
            self.at = event.position;
            let version = event.version;
            match self.known.get_mut(&event.stream) {
                Some(stream) => stream.version = version,
                None => drop(self.known.insert(event.stream.clone(), Stream { id, version })),
            }
        }
    }
}

fn stream(record: &Record) -> Result<Stream, Trouble> {
    let version: Option<i64> = record.try_get(2)?;
    Ok(Stream { id: record.try_get(1)?, version: Version(unsigned(version.unwrap_or(0))?) })
}
