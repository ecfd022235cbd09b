//! A record of the log's journal: the writes of one group of appends, and the hash of the previous record. The stored
//! form is frozen. Pure.
//! Must not know: where records are stored.

use std::collections::HashMap;

use bytes::Bytes;
use plenary_journal::peers::NodeId;
use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{Change, Row, StoredEvent, StreamName, Writes};
use plenary_log_sqlite::Link;
use prost::Message;
use sha2::{Digest, Sha256};

use crate::{
    forms::{StoredIndex, StoredKey, StoredOutcomes},
    pens::Pen,
};

/// The only form of records that this release writes and reads.
const FORM: u32 = 1;

/// Why a record can't be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Its bytes are not a record.
    #[error("record {0} can't be read: {1}")]
    Unreadable(u64, String),
    /// A newer release wrote it.
    #[error("record {0} has form {1}; a newer release wrote it")]
    NewerForm(u64, u32),
    /// It does not follow the previous record.
    #[error("record {0} does not follow the record before it")]
    Unchained(u64),
}

/// The hash of a record, which the next record contains.
pub fn hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

#[derive(Clone, PartialEq, Message)]
struct StoredRecord {
    #[prost(uint32, tag = "1")]
    form: u32,
    #[prost(bytes = "bytes", tag = "2")]
    previous: Bytes,
    /// Makes the record unique.
    #[prost(bytes = "bytes", tag = "3")]
    nonce: Bytes,
    /// The position of the last event before it.
    #[prost(uint64, tag = "4")]
    head: u64,
    #[prost(message, repeated, tag = "5")]
    events: Vec<StoredEventForm>,
    #[prost(message, repeated, tag = "6")]
    index: Vec<StoredIndex>,
    #[prost(message, repeated, tag = "7")]
    rows: Vec<StoredRow>,
    #[prost(message, repeated, tag = "8")]
    keys: Vec<StoredKey>,
    #[prost(message, repeated, tag = "9")]
    charges: Vec<StoredCharge>,
    /// The node that wrote it. Absent in records of releases without a pen.
    #[prost(fixed64, tag = "10")]
    node: u64,
    /// The number of the record with which that node took the pen; 0 in that record itself.
    #[prost(uint64, tag = "11")]
    epoch: u64,
    #[prost(message, repeated, tag = "12")]
    answers: Vec<StoredAnswer>,
    #[prost(bool, tag = "13")]
    continues: bool,
}

/// The outcomes of a request of another node.
#[derive(Clone, PartialEq, Message)]
struct StoredAnswer {
    #[prost(fixed64, tag = "1")]
    node: u64,
    #[prost(uint64, tag = "2")]
    serial: u64,
    #[prost(message, optional, tag = "3")]
    outcomes: Option<StoredOutcomes>,
}

/// The parts of a record besides its writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Notes {
    /// The writer; absent in records of releases without a pen.
    pub(crate) pen: Option<Pen>,
    /// The outcomes of requests of other nodes.
    pub(crate) answers: Vec<RecordedAnswer>,
    /// Whether the log begins with a copy of a store whose rest follows.
    pub(crate) continues: bool,
}

/// The outcomes of one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedAnswer {
    /// The requesting node.
    pub(crate) node: NodeId,
    /// The number of its request.
    pub(crate) serial: u64,
    /// The outcomes of its batches.
    pub(crate) outcomes: StoredOutcomes,
}

#[derive(Clone, PartialEq, Message)]
struct StoredEventForm {
    #[prost(string, tag = "1")]
    stream: String,
    #[prost(uint64, tag = "2")]
    version: u64,
    #[prost(string, tag = "3")]
    kind: String,
    #[prost(uint32, tag = "4")]
    form: u32,
    #[prost(uint64, tag = "5")]
    at: u64,
    #[prost(bytes = "bytes", tag = "6")]
    envelope: Bytes,
    #[prost(bytes = "bytes", tag = "7")]
    payload: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct StoredRow {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, tag = "2")]
    revision: u64,
    /// Absent: the row is deleted.
    #[prost(bytes = "bytes", optional, tag = "3")]
    value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredCharge {
    #[prost(string, tag = "1")]
    account: String,
    #[prost(sint64, tag = "2")]
    bytes: i64,
    #[prost(sint64, tag = "3")]
    events: i64,
}

/// The bytes of the record that follows `last`, with these writes.
pub(crate) fn encode(writes: &Writes, last: &Link, nonce: [u8; 16], notes: &Notes) -> Bytes {
    let event = |event: &StoredEvent| StoredEventForm {
        stream: event.stream.as_str().to_owned(),
        version: event.version.0,
        kind: event.kind.to_string(),
        form: event.form.into(),
        at: event.at.0,
        envelope: event.envelope.clone(),
        payload: event.payload.clone(),
    };
    let row = |(name, row): (&String, &Option<Row>)| StoredRow {
        name: name.clone(),
        revision: row.as_ref().map_or(0, |row| row.revision),
        value: row.as_ref().map(|row| row.value.clone()),
    };
    let charge = |(account, change): (&String, &Change)| StoredCharge {
        account: account.clone(),
        bytes: change.bytes,
        events: change.events,
    };
    let answer = |recorded: &RecordedAnswer| StoredAnswer {
        node: recorded.node.0,
        serial: recorded.serial,
        outcomes: Some(recorded.outcomes.clone()),
    };
    let stored = StoredRecord {
        form: FORM,
        previous: Bytes::copy_from_slice(&last.hash),
        nonce: Bytes::copy_from_slice(&nonce),
        head: last.position.0,
        events: writes.events.iter().map(event).collect(),
        index: writes.index.iter().map(StoredIndex::of).collect(),
        rows: writes.rows.iter().map(row).collect(),
        keys: writes.keys.iter().map(StoredKey::of).collect(),
        charges: writes.charges.iter().map(charge).collect(),
        node: notes.pen.map_or(0, |pen| pen.node.0),
        epoch: notes.pen.map_or(0, |pen| pen.epoch),
        answers: notes.answers.iter().map(answer).collect(),
        continues: notes.continues,
    };
    stored.encode_to_vec().into()
}

/// The writes of a record, if it follows `last`, and its own link.
pub(crate) fn read(body: &Bytes, last: &Link) -> Result<(Writes, Link, Notes), Damage> {
    let sequence = last.sequence + 1;
    let unreadable = |why: &str| Damage::Unreadable(sequence, why.to_owned());
    let stored = StoredRecord::decode(body.clone()).map_err(|error| unreadable(&error.to_string()))?;
    if stored.form != FORM {
        return Err(Damage::NewerForm(sequence, stored.form));
    }
    if stored.previous != last.hash[..] || stored.head != last.position.0 {
        return Err(Damage::Unchained(sequence));
    }
    let mut position = last.position;
    let mut events = Vec::with_capacity(stored.events.len());
    for event in stored.events {
        position = position.next();
        events.push(StoredEvent {
            position,
            stream: StreamName::stored(&event.stream),
            version: Version(event.version),
            kind: event.kind.into(),
            form: u16::try_from(event.form).map_err(|_| unreadable("the form of an event"))?,
            at: TimestampMs(event.at),
            envelope: event.envelope,
            payload: event.payload,
        });
    }
    let index =
        stored.index.into_iter().map(StoredIndex::read).collect::<Result<_, _>>().map_err(unreadable)?;
    let row = |StoredRow { name, revision, value }| (name, value.map(|value| Row { revision, value }));
    let keys = stored.keys.into_iter().map(StoredKey::read).collect::<Result<_, _>>().map_err(unreadable)?;
    let charge = |StoredCharge { account, bytes, events }| (account, Change { bytes, events });
    let writes = Writes {
        events,
        index,
        rows: stored.rows.into_iter().map(row).collect(),
        keys,
        charges: stored.charges.into_iter().map(charge).collect(),
    };
    let recorded = |StoredAnswer { node, serial, outcomes }| RecordedAnswer {
        node: NodeId(node),
        serial,
        outcomes: outcomes.unwrap_or_default(),
    };
    let notes = Notes {
        pen: (stored.node != 0).then_some(Pen {
            node: NodeId(stored.node),
            epoch: if stored.epoch == 0 { sequence } else { stored.epoch },
        }),
        answers: stored.answers.into_iter().map(recorded).collect(),
        continues: stored.continues,
    };
    Ok((writes, Link { sequence, hash: hash(body), position }, notes))
}

/// Whether a record is followed by the rest of the store with which the log begins.
pub(crate) fn continues(body: &Bytes) -> bool {
    StoredRecord::decode(body.clone()).is_ok_and(|stored| stored.continues)
}

/// Appends the next record's writes to earlier ones, if the result is the same as in two steps;
/// otherwise returns them.
pub(crate) fn join(into: &mut Writes, next: Writes) -> Option<Writes> {
    // No use is negative: with freed bytes the sum may differ from the steps.
    let frees = |charges: &HashMap<String, Change>| {
        charges.values().any(|change| change.bytes < 0 || change.events < 0)
    };
    if frees(&next.charges) || frees(&into.charges) {
        return Some(next);
    }
    into.events.extend(next.events);
    into.index.extend(next.index);
    into.rows.extend(next.rows);
    into.keys.extend(next.keys);
    for (account, change) in next.charges {
        let sum = into.charges.entry(account).or_default();
        *sum = Change {
            bytes: sum.bytes.saturating_add(change.bytes),
            events: sum.events.saturating_add(change.events),
        };
    }
    None
}

/// The link of an empty log.
pub(crate) const BEGINNING: Link = Link { sequence: 0, hash: [0; 32], position: Position::ZERO };

#[cfg(test)]
mod tests {
    use plenary_log::{IndexOp, KeyClaim};

    use super::*;

    fn writes() -> Writes {
        let event = StoredEvent {
            position: Position(8),
            stream: StreamName::new("t.t", "a"),
            version: Version(3),
            kind: "Said".into(),
            form: 2,
            at: TimestampMs(5),
            envelope: Bytes::from_static(b"e"),
            payload: Bytes::from_static(b"p"),
        };
        let put = IndexOp::Put { name: "t.i", key: "k".into(), value: Bytes::new() };
        let delete = IndexOp::Delete { name: "t.i", key: "l".into() };
        let claim = KeyClaim { scope: "s".into(), key: "k".into(), digest: [9; 32], outcome: "done".into() };
        Writes {
            events: vec![event],
            index: vec![put, delete],
            rows: HashMap::from([("r".to_owned(), Some(Row { revision: 4, value: "v".into() }))]),
            keys: vec![claim],
            charges: HashMap::from([("nick".to_owned(), Change { bytes: -3, events: 1 })]),
        }
    }

    const LAST: Link = Link { sequence: 6, hash: [7; 32], position: Position(7) };

    /// What this release reads must not change.
    const GOLDEN: &str = "0801122007070707070707070707070707070707070707070707070707070707070707071a1001010101010101\
        01010101010101010120072a190a05742e742f6110031a0453616964200228053201653a0170";

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let body = encode(&writes(), &LAST, [1; 16], &Notes::default());
        let (read, link, _) = read(&body, &LAST).expect("it follows");
        let expected = writes();
        assert_eq!(read.events, expected.events);
        assert_eq!(read.index, expected.index);
        assert_eq!(read.rows, expected.rows);
        assert_eq!(read.keys, expected.keys);
        assert_eq!(read.charges, expected.charges);
        assert_eq!(link, Link { sequence: 7, hash: hash(&body), position: Position(8) });
        let deleted = Writes { rows: HashMap::from([("r".to_owned(), None)]), ..Writes::default() };
        let body = encode(&deleted, &LAST, [1; 16], &Notes::default());
        assert_eq!(super::read(&body, &LAST).expect("it follows").0.rows, deleted.rows);
    }

    #[test]
    fn the_form_of_a_record_is_frozen() {
        let mut alone = writes();
        (alone.index, alone.rows, alone.keys, alone.charges) = Default::default();
        let body = encode(&alone, &LAST, [1; 16], &Notes::default());
        let hex: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, GOLDEN);
    }

    #[test]
    fn a_record_names_its_writer_and_the_outcomes() {
        let outcomes = StoredOutcomes::of(&[Ok(plenary_log::Outcome::KeyReused)]);
        let answers = vec![RecordedAnswer { node: NodeId(3), serial: 9, outcomes }];
        let pen = Some(Pen { node: NodeId(2), epoch: 5 });
        let notes = Notes { pen, answers, continues: true };
        let body = encode(&writes(), &LAST, [1; 16], &notes);
        assert_eq!(read(&body, &LAST).expect("it follows").2, notes);
        let taking = Notes { pen: Some(Pen { node: NodeId(2), epoch: 0 }), ..Notes::default() };
        let body = encode(&Writes::default(), &LAST, [1; 16], &taking);
        let (writes, link, notes) = read(&body, &LAST).expect("it follows");
        assert!(writes.is_empty());
        assert_eq!((link.sequence, link.position), (7, Position(7)));
        assert_eq!(notes.pen, Some(Pen { node: NodeId(2), epoch: 7 }), "its number is the epoch");
    }

    #[test]
    fn a_record_follows_only_its_predecessor() {
        let body = encode(&writes(), &LAST, [1; 16], &Notes::default());
        for other in [Link { hash: [8; 32], ..LAST }, Link { position: Position(6), ..LAST }] {
            assert_eq!(read(&body, &other).err(), Some(Damage::Unchained(7)));
        }
        let mut damaged = body.to_vec();
        damaged.truncate(body.len() - 1);
        assert!(matches!(read(&damaged.into(), &LAST), Err(Damage::Unreadable(7, _))));
        let newer = StoredRecord { form: 2, ..StoredRecord::default() }.encode_to_vec();
        assert_eq!(read(&newer.into(), &LAST).err(), Some(Damage::NewerForm(7, 2)));
    }

    #[test]
    fn records_that_free_are_not_joined() {
        let charged = |bytes| Writes {
            charges: HashMap::from([("nick".to_owned(), Change { bytes, events: 1 })]),
            ..Writes::default()
        };
        let mut sum = charged(3);
        assert!(join(&mut sum, charged(4)).is_none());
        assert_eq!(sum.charges["nick"], Change { bytes: 7, events: 2 });
        assert!(join(&mut sum, charged(-4)).is_some());
        assert!(join(&mut charged(-4), charged(1)).is_some());
    }
}
