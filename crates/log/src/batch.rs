//! The append: its batch, and its outcome.

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};

use crate::{Chain, Charge, NewEvent, StreamName};

/// The stream must be at this version for the batch to be written; `Version::ZERO` means that it must not exist.
/// A condition may name a stream that the batch only checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The stream.
    pub stream: StreamName,
    /// The version it must be at.
    pub expected: Version,
    /// What that version was decided in, where it may not be on disk: once that is broken, whatever is at the version
    /// is another's.
    pub upon: Option<Chain>,
}

impl Condition {
    /// A stream is at a version, whichever writer caused it.
    #[must_use]
    pub const fn at(stream: StreamName, expected: Version) -> Self {
        Self { stream, expected, upon: None }
    }
}

/// A change of an index: a pure function of the batch's events, rebuildable by replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexOp {
    /// Sets the value of a key.
    Put {
        /// The index, `<room>.<what>`.
        name: &'static str,
        /// The key; indexes are read by prefix, in byte order.
        key: String,
        /// The value; may be empty.
        value: Bytes,
    },
    /// Removes a key, if present.
    Delete {
        /// The index.
        name: &'static str,
        /// The key.
        key: String,
    },
}

/// A small compare-and-set record: a cursor, a lease, a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Rises with every write of the row, from 1. A deleted row begins at 1 again.
    pub revision: u64,
    /// The value.
    pub value: Bytes,
}

/// A change of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOp {
    /// The row's name, `<what>/<id>`.
    pub name: String,
    /// `None`: whatever is there; `Some(0)`: must be absent; `Some(n)`: must be at revision n.
    pub expected: Option<u64>,
    /// The new value, or `None` to delete.
    pub value: Option<Bytes>,
}

/// A claim of an idempotency key, written in the same transaction as the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyClaim {
    /// Within what the key is unique, e.g. `<session>/<sender>`.
    pub scope: String,
    /// The client's key.
    pub key: String,
    /// What the request was; another digest under the same key is `KeyReused`.
    pub digest: [u8; 32],
    /// The answer to give again.
    pub outcome: Bytes,
}

/// A key that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The digest of the request that claimed it.
    pub digest: [u8; 32],
    /// The answer that was given.
    pub outcome: Bytes,
}

/// Everything that is written together or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Checked before anything is written, after the key.
    pub conditions: Vec<Condition>,
    /// In the order in which they take their positions.
    pub events: Vec<(StreamName, NewEvent)>,
    /// The time of the command.
    pub at: TimestampMs,
    /// Index changes that follow from the events.
    pub index: Vec<IndexOp>,
    /// Row changes; each is checked like a condition.
    pub rows: Vec<RowOp>,
    /// The idempotency key, checked before the conditions.
    pub key: Option<KeyClaim>,
    /// What its accounts use more then. Counted, not checked: see `Ledger`.
    pub charges: Vec<Charge>,
    /// What it was decided on top of; checked between the key and the conditions.
    pub chain: Option<Chain>,
}

impl Batch {
    /// Bytes of what it writes, without names: what bounds a group.
    #[must_use]
    pub fn octets(&self) -> usize {
        let events = self.events.iter().map(|(_, event)| event.envelope.len() + event.payload.len());
        let index = self.index.iter().map(|op| match op {
            IndexOp::Put { key, value, .. } => key.len() + value.len(),
            IndexOp::Delete { key, .. } => key.len(),
        });
        let rows = self.rows.iter().map(|op| op.value.as_ref().map_or(0, Bytes::len));
        let key = self.key.as_ref().map_or(0, |claim| claim.outcome.len());
        events.chain(index).chain(rows).sum::<usize>() + key
    }
}

/// Where the events of a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedRange {
    /// The position of the first event; of a batch without events, the head + 1.
    pub first: Position,
    /// The position of the last event; of a batch without events, the head.
    pub last: Position,
}

/// What came of an append. Only `Appended` wrote anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is on disk.
    Appended(AppendedRange),
    /// A condition does not hold, or a batch that it was decided on top of was not written.
    Conflict {
        /// The first such stream; the chain's own when the chain is broken.
        stream: StreamName,
        /// Its version.
        actual: Version,
    },
    /// A row is not at the expected revision.
    RowConflict {
        /// The first such row.
        name: String,
        /// Its revision, 0 when absent.
        actual: u64,
    },
    /// The key was claimed by an equal request; its answer.
    AlreadyDone {
        /// The answer that was given.
        outcome: Bytes,
    },
    /// The key was claimed by another request.
    KeyReused,
}
