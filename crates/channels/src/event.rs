//! The events of a channel's stream, and their stored forms, which are frozen. Pure.
//! Must not know: HTTP, the meaning of a payload.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_kernel::{OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::key::LinkKey;

/// An event of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The channel was created. Always the first event.
    ChannelCreated(ChannelCreated),
    /// An event was appended. Only these are events of the protocol (CH-10).
    EventAppended(EventAppended),
    /// The channel was closed, perhaps again (CH-27).
    ChannelClosed(ChannelClosed),
    /// An owner has shown the key of the link and may use the channel from now on (wire.md D.6).
    OwnerAdmitted(OwnerAdmitted),
    /// The link got a new key; the old one is no longer valid (wire.md D.6).
    KeyChanged(KeyChanged),
}

/// See [`ChannelEvent::ChannelCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCreated {
    /// The title; may be empty.
    pub title: String,
    /// The creator's stable name.
    pub created_by: String,
    /// The actor of the token; absent if no token was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// The time of creation, by which lists are sorted.
    pub created: TimestampMs,
    /// The key of the link; absent in channels that were created before links had keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LinkKey>,
}

/// See [`ChannelEvent::EventAppended`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAppended {
    /// A free string (CH-14).
    pub kind: String,
    /// The author's stable name (CH-21); may be empty if no token is needed.
    pub author: String,
    /// The actor of the token; absent if no token was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// The run of versions in which this event is the first of its kind; absent if it is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The span of the request that appended the event, as a `traceparent`. Only `/watch` reports it, as a trace id, to owners
    /// that may use the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// Present if the author's owner appends to the channel for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<Joins>,
    /// The JSON object, byte for byte as it was sent.
    #[serde(skip)]
    pub payload: Bytes,
}

/// An owner takes part in a channel from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joins {
    /// The new owner.
    pub owner: OwnerName,
    /// The time of the channel's creation.
    pub created: TimestampMs,
    /// Whether the channel is open.
    pub open: bool,
}

/// See [`ChannelEvent::ChannelClosed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelClosed {
    /// The actor of the token; absent if no token was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// Present in the first close: the index rows to remove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstClosing>,
}

/// The first close of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstClosing {
    /// The time of the channel's creation.
    pub created: TimestampMs,
    /// The owners that take part.
    pub owners: Vec<OwnerName>,
}

/// See [`ChannelEvent::OwnerAdmitted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerAdmitted {
    /// The owner.
    pub owner: OwnerName,
    /// The actor whose token was sent with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
}

/// See [`ChannelEvent::KeyChanged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChanged {
    /// The key that is valid from now on.
    pub key: LinkKey,
    /// The actor of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// Whether the owners that have shown an earlier key lose their access.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revokes: bool,
}

/// The kind of [`ChannelEvent::KeyChanged`].
pub(crate) const KEY_CHANGED: &str = "KeyChanged";

plenary_engine::stored_forms! {
    ChannelEvent: ChannelCreated, EventAppended + payload, ChannelClosed, OwnerAdmitted, KeyChanged
}
