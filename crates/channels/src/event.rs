//! The events of a channel's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: HTTP; the meaning of a payload.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_kernel::{OwnerName, TimestampMs};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::key::LinkKey;

/// An event of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The channel came into being; always the first.
    ChannelCreated(ChannelCreated),
    /// Somebody appended an event: what the protocol calls one (CH-10).
    EventAppended(EventAppended),
    /// The channel was closed, or closed again (CH-27).
    ChannelClosed(ChannelClosed),
    /// An owner has shown the key of the link, and may use the channel from now on (wire.md D.6).
    OwnerAdmitted(OwnerAdmitted),
    /// The link has another key; the former one is no longer valid (wire.md D.6).
    KeyChanged(KeyChanged),
}

/// See [`ChannelEvent::ChannelCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCreated {
    /// What it is about; may be empty.
    pub title: String,
    /// The author, by its stable name.
    pub created_by: String,
    /// Who that is by its token; absent where none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// When; lists go by it.
    pub created: TimestampMs,
    /// The key of its link; absent in channels from before links had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LinkKey>,
}

/// See [`ChannelEvent::EventAppended`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAppended {
    /// Its kind, a free string (CH-14).
    pub kind: String,
    /// The author, by its stable name (CH-21); may be empty if no token is needed.
    pub author: String,
    /// Who that is by its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// The run of versions in which it is the first of its kind; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The span of the request that appended it, as a `traceparent`. Only `/watch` tells of it: the id of its trace, to an
    /// owner that may use the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// Its author's owner takes part from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<Joins>,
    /// The JSON object as it was sent.
    #[serde(skip)]
    pub payload: Bytes,
}

/// An owner takes part in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joins {
    /// Who.
    pub owner: OwnerName,
    /// When the channel was created.
    pub created: TimestampMs,
    /// Whether it is open.
    pub open: bool,
}

/// See [`ChannelEvent::ChannelClosed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelClosed {
    /// The actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
    /// Of the first closing: what is no longer open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstClosing>,
}

/// A channel that was open is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstClosing {
    /// When the channel was created.
    pub created: TimestampMs,
    /// The owners that take part.
    pub owners: Vec<OwnerName>,
}

/// See [`ChannelEvent::OwnerAdmitted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerAdmitted {
    /// The owner.
    pub owner: OwnerName,
    /// Whose token came with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
}

/// See [`ChannelEvent::KeyChanged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChanged {
    /// The key from now on.
    pub key: LinkKey,
    /// The actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Actor>,
}

/// The kind of [`ChannelEvent::KeyChanged`].
pub(crate) const KEY_CHANGED: &str = "KeyChanged";

impl ChannelEvent {
    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::ChannelCreated(event) => written("ChannelCreated", event),
            Self::EventAppended(event) => written_with("EventAppended", event, event.payload.clone()),
            Self::ChannelClosed(event) => written("ChannelClosed", event),
            Self::OwnerAdmitted(event) => written("OwnerAdmitted", event),
            Self::KeyChanged(event) => written(KEY_CHANGED, event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "ChannelCreated" => Self::ChannelCreated(read(stored)?),
            "EventAppended" => {
                Self::EventAppended(EventAppended { payload: stored.payload.clone(), ..read(stored)? })
            }
            "ChannelClosed" => Self::ChannelClosed(read(stored)?),
            "OwnerAdmitted" => Self::OwnerAdmitted(read(stored)?),
            KEY_CHANGED => Self::KeyChanged(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
