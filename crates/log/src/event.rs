//! Streams and the events on them.

use std::{borrow::Cow, fmt, sync::Arc};

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};

/// The name of a stream: `<room>.<kind>/<id>`, e.g. `sessions.session/sess_01…`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamName(Arc<str>);

impl StreamName {
    /// The stream of one thing. `category` is `<room>.<kind>` and contains no `/`.
    pub fn new(category: &str, id: &str) -> Self {
        debug_assert!(!category.contains('/'));
        Self([category, "/", id].concat().into())
    }
    /// A stored name.
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// `<room>.<kind>`.
    pub fn category(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(category, _)| category)
    }
    /// The part after the first `/`.
    pub fn id(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, id)| id)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An event without a position yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Past tense, e.g. `MessageSent`.
    pub kind: &'static str,
    /// The version of the stored form; older forms are upcast by their room.
    pub form: u16,
    /// The data that the room needs to fold the event: small, in the form's own encoding.
    pub envelope: Bytes,
    /// The raw bytes from the peer, unchanged; may be empty.
    pub payload: Bytes,
}

/// An event with its position and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its number in the log; position order is commit order.
    pub position: Position,
    /// Its stream.
    pub stream: StreamName,
    /// Its number in that stream, from 1 without gaps.
    pub version: Version,
    /// Past tense, e.g. `MessageSent`.
    pub kind: Cow<'static, str>,
    /// The version of the stored form.
    pub form: u16,
    /// The time of the command that caused it.
    pub at: TimestampMs,
    /// The data that the room needs to fold the event.
    pub envelope: Bytes,
    /// The raw bytes from the peer.
    pub payload: Bytes,
}

impl StoredEvent {
    /// The size of its data.
    pub fn bytes(&self) -> usize {
        self.envelope.len() + self.payload.len()
    }
}
