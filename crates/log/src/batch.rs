//! The append: its batch, and its outcome.

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};

use crate::{Chain, Charge, NewEvent, StreamName};

/// A predicate for a batch: the stream must be at this version; `Version::ZERO` means that it must not
/// exist. The batch need not write to the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The stream.
    pub stream: StreamName,
    /// The version it must be at.
    pub expected: Version,
    /// The chain in which that version was decided, if it may not be on disk yet. If the chain breaks,
    /// the condition fails: an event of that version is then another writer's.
    pub upon: Option<Chain>,
}

impl Condition {
    /// The stream must be at this version, whichever writer caused it.
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

impl IndexOp {
    /// Sets a key without a value.
    pub fn put(name: &'static str, key: String) -> Self {
        Self::put_value(name, key, Bytes::new())
    }

    /// Sets the value of a key.
    pub fn put_value(name: &'static str, key: String, value: impl Into<Bytes>) -> Self {
        Self::Put { name, key, value: value.into() }
    }

    /// Removes a key.
    pub fn delete(name: &'static str, key: String) -> Self {
        Self::Delete { name, key }
    }
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
    /// `None`: no check; `Some(0)`: the row must be absent; `Some(n)`: it must be at revision n.
    pub expected: Option<u64>,
    /// The new value, or `None` to delete.
    pub value: Option<Bytes>,
}

/// A claim of an idempotency key, written in the same transaction as the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyClaim {
    /// The scope in which the key is unique, e.g. `<session>/<sender>`.
    pub scope: String,
    /// The client's key.
    pub key: String,
    /// The digest of the request; another digest under the same key is `KeyReused`.
    pub digest: [u8; 32],
    /// The answer for a repeated request.
    pub outcome: Bytes,
}

/// A claimed key.
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
    /// The events, in the order of their positions.
    pub events: Vec<(StreamName, NewEvent)>,
    /// The time of the command.
    pub at: TimestampMs,
    /// Index changes that follow from the events.
    pub index: Vec<IndexOp>,
    /// Row changes; each is checked like a condition.
    pub rows: Vec<RowOp>,
    /// The idempotency key, checked before the conditions.
    pub key: Option<KeyClaim>,
    /// The additional storage use of accounts. Counted, not checked: see `Ledger`.
    pub charges: Vec<Charge>,
    /// The chain that the batch belongs to; checked between the key and the conditions.
    pub chain: Option<Chain>,
}

impl Batch {
    /// The bytes that it writes, without names; they bound a group.
    pub fn bytes(&self) -> usize {
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

/// The positions of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedRange {
    /// The position of the first event; of a batch without events, the head + 1.
    pub first: Position,
    /// The position of the last event; of a batch without events, the head.
    pub last: Position,
}

/// The outcome of an append. Only `Appended` wrote anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The whole batch is on disk.
    Appended(AppendedRange),
    /// A condition is false, or an earlier batch of the chain was not written.
    Conflict {
        /// The first such stream; the chain's stream if the chain is broken.
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
