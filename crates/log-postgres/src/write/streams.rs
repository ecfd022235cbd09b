//! The versions of streams that this process wrote recently. Commits of other processes are read with the next lock;
//! other streams are looked up. Dropping an entry only costs a look-up.

use std::collections::HashMap;

use plenary_kernel::{Position, Version};
use plenary_log::{StoredEvent, StreamName};
use tokio_postgres::Row as Record;

use crate::{target::unsigned, trouble::Trouble, write::known::nth};

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

/// The streams as of one position.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    known: HashMap<StreamName, Stream>,
    names: HashMap<i64, StreamName>,
    at: Position,
    /// How many streams the log has, as of the last lock or own commit.
    pub(crate) stream_count: i64,
}

impl Streams {
    /// Without any stream.
    pub(crate) fn new(at: Position) -> Self {
        Self { at, ..Self::default() }
    }
    pub(crate) fn at(&self) -> Position {
        self.at
    }
    pub(crate) fn get(&self, name: &StreamName) -> Option<Stream> {
        self.known.get(name).copied()
    }
    /// Applies the appends of others up to `head`, as far as they were read.
    pub(crate) fn changed(&mut self, head: Position, changes: Vec<(i64, Version)>) {
        if head.0 - self.at.0 > CHANGES_MAX {
            self.clear();
        }
        for (id, version) in changes {
            if let Some(stream) = self.names.get(&id).and_then(|name| self.known.get_mut(name)) {
                stream.version = version;
            }
        }
        self.at = head;
    }

    fn clear(&mut self) {
        self.known.clear();
        self.names.clear();
    }

    fn remember(&mut self, name: StreamName, stream: Stream) {
        self.names.insert(stream.id, name.clone());
        self.known.insert(name, stream);
    }

    /// Adds streams that were looked up by their names: `(nth, id, version)`.
    pub(crate) fn found(&mut self, names: &[StreamName], records: &[Record]) -> Result<(), Trouble> {
        for record in records {
            self.remember(nth(names, record)?.clone(), stream(record)?);
        }
        Ok(())
    }
    /// Adds own events, each with its stream's id.
    pub(crate) fn committed<'a>(&mut self, events: impl Iterator<Item = (&'a StoredEvent, i64)>, count: i64) {
        self.stream_count = count;
        if self.known.len() > STREAMS_REMEMBERED_MAX {
            self.clear();
        }
        for (event, id) in events {
            self.at = event.position;
            let version = event.version;
            match self.known.get_mut(&event.stream) {
                Some(stream) => stream.version = version,
                None => self.remember(event.stream.clone(), Stream { id, version }),
            }
        }
    }
}

fn stream(record: &Record) -> Result<Stream, Trouble> {
    let version: Option<i64> = record.try_get(2)?;
    Ok(Stream { id: record.try_get(1)?, version: Version(unsigned(version.unwrap_or(0))?) })
}
