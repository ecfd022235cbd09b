//! A record of the signals' journal. Nodes of two releases exchange it; it is stored only briefly. Pure.
//! Must not know: where records are stored.

use bytes::Bytes;
use prost::Message;

/// The messages that one process sends together.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Group {
    /// The sender.
    #[prost(fixed64, tag = "1")]
    pub(super) process: u64,
    /// The number of groups it has sent; it makes the record unique.
    #[prost(uint64, tag = "2")]
    pub(super) serial: u64,
    /// Whether the sender shuts down, so that no process waits for it.
    #[prost(bool, tag = "3")]
    pub(super) leaves: bool,
    #[prost(message, repeated, tag = "4")]
    pub(super) signals: Vec<GroupSignal>,
    #[prost(message, repeated, tag = "5")]
    pub(super) answers: Vec<Answer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GroupSignal {
    #[prost(string, tag = "1")]
    pub(super) topic: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) counters: Vec<String>,
    /// The numbers of its counters, in their order.
    #[prost(uint64, repeated, tag = "3")]
    pub(super) numbers: Vec<u64>,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) body: Bytes,
    #[prost(uint64, optional, tag = "5")]
    pub(super) question: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Answer {
    #[prost(fixed64, tag = "1")]
    pub(super) to: u64,
    #[prost(uint64, tag = "2")]
    pub(super) question: u64,
    /// Absent: the process declined.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(super) answer: Option<Bytes>,
}
