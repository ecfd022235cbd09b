//! The form of batches for the node with the pen. Chains become numbers within one message, with their
//! known state: a node has one pending request, so no chain extends from one undecided message into
//! another. Pure.
//! Must not know: the decisions on them.

use bytes::Bytes;
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, Chain, Charge, Condition, NewEvent, RowOp, StreamName, Usage};
use prost::Message;

use crate::{
    forms::{StoredIndex, StoredKey},
    names::interned,
};

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredBatch {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<StoredCondition>,
    #[prost(message, repeated, tag = "2")]
    events: Vec<StoredNewEvent>,
    #[prost(uint64, tag = "3")]
    at: u64,
    #[prost(message, repeated, tag = "4")]
    index: Vec<StoredIndex>,
    #[prost(message, repeated, tag = "5")]
    rows: Vec<StoredRowOp>,
    #[prost(message, optional, tag = "6")]
    key: Option<StoredKey>,
    #[prost(message, repeated, tag = "7")]
    charges: Vec<StoredUse>,
    /// The index of its chain in the message.
    #[prost(uint32, optional, tag = "8")]
    chain: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredCondition {
    #[prost(string, tag = "1")]
    stream: String,
    #[prost(uint64, tag = "2")]
    expected: u64,
    #[prost(uint32, optional, tag = "3")]
    upon: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredNewEvent {
    #[prost(string, tag = "1")]
    stream: String,
    #[prost(string, tag = "2")]
    kind: String,
    #[prost(uint32, tag = "3")]
    form: u32,
    #[prost(bytes = "bytes", tag = "4")]
    envelope: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    payload: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct StoredRowOp {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(uint64, optional, tag = "2")]
    expected: Option<u64>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredUse {
    #[prost(string, tag = "1")]
    account: String,
    #[prost(uint64, tag = "2")]
    bytes: u64,
    #[prost(uint64, tag = "3")]
    events: u64,
    #[prost(uint64, tag = "4")]
    freed_bytes: u64,
    #[prost(uint64, tag = "5")]
    freed_events: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StoredChain {
    #[prost(string, tag = "1")]
    stream: String,
    #[prost(bool, tag = "2")]
    is_broken: bool,
}

/// The chains of a message, each once. A linear search suffices: a request has at most one commit's
/// batches, and few of them have chains.
#[derive(Default)]
struct Chains(Vec<Chain>);

impl Chains {
    fn number(&mut self, chain: &Chain) -> u32 {
        let number = self.0.iter().rposition(|known| known == chain).unwrap_or_else(|| {
            self.0.push(chain.clone());
            self.0.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn to_stored(&self) -> Vec<StoredChain> {
        let form = |chain: &Chain| StoredChain {
            stream: chain.stream().as_str().to_owned(),
            is_broken: chain.is_broken(),
        };
        self.0.iter().map(form).collect()
    }
}

/// The forms of batches, and of the chains that they refer to.
pub(super) fn encode(batches: &[Batch]) -> (Vec<StoredBatch>, Vec<StoredChain>) {
    let mut chains = Chains::default();
    let batches: Vec<_> = batches.iter().map(|batch| batch_form(batch, &mut chains)).collect();
    (batches, chains.to_stored())
}

fn batch_form(batch: &Batch, chains: &mut Chains) -> StoredBatch {
    let event = |(stream, event): &(StreamName, NewEvent)| StoredNewEvent {
        stream: stream.as_str().to_owned(),
        kind: event.kind.to_owned(),
        form: event.form.into(),
        envelope: event.envelope.clone(),
        payload: event.payload.clone(),
    };
    let row =
        |op: &RowOp| StoredRowOp { name: op.name.clone(), expected: op.expected, value: op.value.clone() };
    let charge = |charge: &Charge| StoredUse {
        account: charge.account.clone(),
        bytes: charge.usage.bytes,
        events: charge.usage.events,
        freed_bytes: charge.freed.bytes,
        freed_events: charge.freed.events,
    };
    let condition = |condition: &Condition| StoredCondition {
        stream: condition.stream.as_str().to_owned(),
        expected: condition.expected.0,
        upon: condition.upon.as_ref().map(|chain| chains.number(chain)),
    };
    StoredBatch {
        conditions: batch.conditions.iter().map(condition).collect(),
        events: batch.events.iter().map(event).collect(),
        at: batch.at.0,
        index: batch.index.iter().map(StoredIndex::of).collect(),
        rows: batch.rows.iter().map(row).collect(),
        key: batch.key.as_ref().map(StoredKey::of),
        charges: batch.charges.iter().map(charge).collect(),
        chain: batch.chain.as_ref().map(|chain| chains.number(chain)),
    }
}

/// The batches of a message; `None` if the forms are invalid.
pub(super) fn read(batches: Vec<StoredBatch>, chains: Vec<StoredChain>) -> Option<Vec<Batch>> {
    let chain = |stored: StoredChain| {
        let chain = Chain::new(StreamName::stored(&stored.stream));
        if stored.is_broken {
            chain.break_off();
        }
        chain
    };
    let chains: Vec<Chain> = chains.into_iter().map(chain).collect();
    batches.into_iter().map(|batch| batch_of(batch, &chains)).collect()
}

fn batch_of(stored: StoredBatch, chains: &[Chain]) -> Option<Batch> {
    // A number without a chain makes the message invalid.
    let chain = |number: Option<u32>| match number {
        None => Some(None),
        Some(number) => Some(Some(chains.get(usize::try_from(number).ok()?)?.clone())),
    };
    let mut conditions = Vec::with_capacity(stored.conditions.len());
    for StoredCondition { stream, expected, upon } in stored.conditions {
        let stream = StreamName::stored(&stream);
        conditions.push(Condition { stream, expected: Version(expected), upon: chain(upon)? });
    }
    let mut events = Vec::with_capacity(stored.events.len());
    for StoredNewEvent { stream, kind, form, envelope, payload } in stored.events {
        let (kind, form) = (interned(&kind)?, u16::try_from(form).ok()?);
        events.push((StreamName::stored(&stream), NewEvent { kind, form, envelope, payload }));
    }
    let row = |StoredRowOp { name, expected, value }| RowOp { name, expected, value };
    let charge = |stored: StoredUse| Charge {
        account: stored.account,
        usage: Usage { bytes: stored.bytes, events: stored.events },
        freed: Usage { bytes: stored.freed_bytes, events: stored.freed_events },
    };
    Some(Batch {
        conditions,
        events,
        at: TimestampMs(stored.at),
        index: stored.index.into_iter().map(StoredIndex::read).collect::<Result<_, _>>().ok()?,
        rows: stored.rows.into_iter().map(row).collect(),
        key: stored.key.map(StoredKey::read).transpose().ok()?,
        charges: stored.charges.into_iter().map(charge).collect(),
        chain: chain(stored.chain)?,
    })
}

#[cfg(test)]
mod tests {
    use plenary_log::{IndexOp, KeyClaim};

    use super::*;

    fn batch(chain: Option<Chain>, upon: Option<Chain>) -> Batch {
        let event =
            NewEvent { kind: "Said", form: 3, envelope: "e".into(), payload: Bytes::from_static(b"\0p") };
        Batch {
            conditions: vec![Condition { stream: StreamName::new("t.t", "a"), expected: Version(4), upon }],
            events: vec![(StreamName::new("t.t", "b"), event)],
            at: TimestampMs(12),
            index: vec![IndexOp::Delete { name: "t.i", key: "k".into() }],
            rows: vec![
                RowOp { name: "r".into(), expected: Some(0), value: Some("v".into()) },
                RowOp { name: "s".into(), expected: None, value: None },
            ],
            key: Some(KeyClaim { scope: "s".into(), key: "k".into(), digest: [8; 32], outcome: "o".into() }),
            charges: vec![Charge {
                account: "nick".into(),
                usage: Usage { bytes: 1, events: 2 },
                freed: Usage { bytes: 3, events: 4 },
            }],
            chain,
        }
    }

    #[test]
    fn batches_are_read_as_they_were_written() {
        let expected = vec![batch(None, None), Batch::default()];
        let (stored, chains) = encode(&expected);
        assert_eq!(read(stored, chains), Some(expected));
    }

    #[test]
    fn a_chain_stays_one_and_stays_broken() {
        let [whole, broken] = ["a", "b"].map(|id| Chain::new(StreamName::new("t.t", id)));
        broken.break_off();
        let sent = [batch(Some(whole.clone()), Some(broken)), batch(Some(whole), None)];
        let (stored, chains) = encode(&sent);
        assert_eq!(chains.len(), 2);
        let read = read(stored, chains).expect("they are batches");
        let chain = read[0].chain.clone().expect("a chain");
        assert_eq!(Some(&chain), read[1].chain.as_ref());
        assert_eq!((chain.is_broken(), chain.stream().id()), (false, "a"));
        assert!(read[0].conditions[0].upon.as_ref().expect("a chain").is_broken());
        let unknown = StoredBatch { chain: Some(2), ..StoredBatch::default() };
        assert_eq!(super::read(vec![unknown], Vec::new()), None);
    }
}
