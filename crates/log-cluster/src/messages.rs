//! The messages between nodes: heartbeats, batches for the node with the pen, and its answers. Nodes of
//! two releases exchange them; they are not stored. Pure.
//! Must not know: the transport and the effect of messages.

mod batches;

use bytes::Bytes;
use plenary_journal::peers::NodeId;
use plenary_log::{Batch, Fault, PlanResult};
use prost::{Message, Oneof};

use self::batches::{StoredBatch, StoredChain};
use crate::{forms::StoredOutcomes, pens::Pen};

#[derive(Clone, PartialEq, Message)]
struct Envelope {
    #[prost(oneof = "Content", tags = "1, 2, 3, 4")]
    content: Option<Content>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Content {
    #[prost(message, tag = "1")]
    Beat(Beat),
    #[prost(message, tag = "2")]
    Request(StoredRequest),
    #[prost(message, tag = "3")]
    Answer(StoredAnswer),
    /// The recipient must take the pen.
    #[prost(bool, tag = "4")]
    Take(bool),
}

#[derive(Clone, PartialEq, Message)]
struct StoredRequest {
    #[prost(fixed64, tag = "1")]
    from: u64,
    #[prost(uint64, tag = "2")]
    serial: u64,
    #[prost(uint64, tag = "3")]
    epoch: u64,
    #[prost(message, repeated, tag = "4")]
    batches: Vec<StoredBatch>,
    #[prost(message, repeated, tag = "5")]
    chains: Vec<StoredChain>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredAnswer {
    #[prost(uint64, tag = "1")]
    serial: u64,
    #[prost(uint64, tag = "2")]
    base: u64,
    #[prost(oneof = "StoredResult", tags = "3, 4, 5")]
    result: Option<StoredResult>,
}

#[derive(Clone, PartialEq, Oneof)]
enum StoredResult {
    #[prost(message, tag = "3")]
    Outcomes(StoredOutcomes),
    /// The disk is full.
    #[prost(string, tag = "4")]
    Full(String),
    /// Nothing was done.
    #[prost(string, tag = "5")]
    Unavailable(String),
}

/// The heartbeat of a node.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Beat {
    /// The id of the node.
    #[prost(fixed64, tag = "1")]
    pub node: u64,
    /// Its name, chosen by its operator.
    #[prost(string, tag = "2")]
    pub name: String,
    /// The last record in its file.
    #[prost(uint64, tag = "3")]
    pub applied: u64,
    /// The number of the record with which it last took the pen; 0 if it never did.
    #[prost(uint64, tag = "4")]
    pub epoch: u64,
    /// Whether it still has the pen.
    #[prost(bool, tag = "5")]
    pub has_pen: bool,
    /// Whether it asks who has the pen.
    #[prost(bool, tag = "6")]
    pub is_query: bool,
    /// Whether it shuts down.
    #[prost(bool, tag = "7")]
    pub leaves: bool,
    /// Whether it acknowledges records that no other node has.
    #[prost(bool, tag = "8")]
    pub is_alone: bool,
    /// Whether its disk was full when it last wrote a record to its file.
    #[prost(bool, tag = "9")]
    pub is_full: bool,
}

/// Batches for the node with the pen.
#[derive(Debug)]
pub(crate) struct Request {
    /// The requesting node.
    pub(crate) from: NodeId,
    /// The number of the request; it rises with each.
    pub(crate) serial: u64,
    /// The epoch of the pen that it is addressed to; a node with another epoch ignores it.
    pub(crate) epoch: u64,
    /// The batches to write.
    pub(crate) batches: Vec<Batch>,
}

/// The answer to a request of which nothing was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The number of the request.
    pub(crate) serial: u64,
    /// The last record on top of which it was decided.
    pub(crate) base: u64,
    /// The outcome of each batch, or the reason why there is none.
    pub(crate) result: Result<Vec<PlanResult>, Fault>,
}

/// A parsed message.
#[derive(Debug)]
pub(crate) enum PeerMessage {
    Beat(Beat),
    Request(Request),
    Answer(Answer),
    Take,
}

fn bytes(content: Content) -> Bytes {
    Envelope { content: Some(content) }.encode_to_vec().into()
}

impl Beat {
    /// The node.
    pub fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    /// The pen that the node claims to have.
    pub(crate) fn pen(&self) -> Option<Pen> {
        self.has_pen.then_some(Pen { node: self.node(), epoch: self.epoch })
    }

    /// The bytes of its message.
    pub(crate) fn bytes(self) -> Bytes {
        bytes(Content::Beat(self))
    }

    /// Parses a heartbeat; `None` for other messages.
    pub fn read(body: Bytes) -> Option<Self> {
        match read(body)? {
            PeerMessage::Beat(beat) => Some(beat),
            PeerMessage::Request(_) | PeerMessage::Answer(_) | PeerMessage::Take => None,
        }
    }
}

/// The message with which an operator makes a node take the pen before the current holder is stopped.
pub fn take_the_pen() -> Bytes {
    bytes(Content::Take(true))
}

pub(crate) fn request(from: NodeId, serial: u64, epoch: u64, batches: &[Batch]) -> Bytes {
    let (batches, chains) = batches::encode(batches);
    bytes(Content::Request(StoredRequest { from: from.0, serial, epoch, batches, chains }))
}

pub(crate) fn answer(serial: u64, base: u64, result: Result<&[PlanResult], &Fault>) -> Bytes {
    let result = match result {
        Ok(outcomes) => StoredResult::Outcomes(StoredOutcomes::of(outcomes)),
        Err(Fault::Full(why)) => StoredResult::Full(why.clone()),
        Err(fault) => StoredResult::Unavailable(fault.to_string()),
    };
    bytes(Content::Answer(StoredAnswer { serial, base, result: Some(result) }))
}

/// Parses a message; `None` if it is unreadable, for example from a later release.
pub(crate) fn read(body: Bytes) -> Option<PeerMessage> {
    Some(match Envelope::decode(body).ok()?.content? {
        Content::Beat(beat) => PeerMessage::Beat(beat),
        Content::Request(StoredRequest { from, serial, epoch, batches, chains }) => {
            let batches = batches::read(batches, chains)?;
            PeerMessage::Request(Request { from: NodeId(from), serial, epoch, batches })
        }
        Content::Answer(StoredAnswer { serial, base, result }) => {
            let result = match result? {
                StoredResult::Outcomes(outcomes) => Ok(outcomes.read()?),
                StoredResult::Full(why) => Err(Fault::Full(why)),
                StoredResult::Unavailable(why) => Err(Fault::Unavailable(why)),
            };
            PeerMessage::Answer(Answer { serial, base, result })
        }
        Content::Take(_) => PeerMessage::Take,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_read_as_it_was_written() {
        let beat = Beat {
            node: 7,
            name: "n1".into(),
            applied: 9,
            epoch: 4,
            has_pen: true,
            is_query: true,
            leaves: false,
            is_alone: true,
            is_full: true,
        };
        assert_eq!(Beat::read(beat.clone().bytes()), Some(beat.clone()));
        assert_eq!(beat.pen(), Some(Pen { node: NodeId(7), epoch: 4 }));
        assert_eq!(Beat::read(answer(1, 2, Ok(&[]))), None);
        assert_eq!(Beat::read(Bytes::from_static(b"\xff")), None);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        for fault in [Fault::Full("f".into()), Fault::Unavailable("u".into())] {
            let Some(PeerMessage::Answer(read)) = read(answer(1, 2, Err(&fault))) else {
                panic!("an answer")
            };
            assert_eq!((read.serial, read.base), (1, 2));
            assert!(matches!(
                (read.result, fault),
                (Err(Fault::Full(_)), Fault::Full(_)) | (Err(Fault::Unavailable(_)), Fault::Unavailable(_))
            ));
        }
    }
}
