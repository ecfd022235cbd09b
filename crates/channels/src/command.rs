//! The commands on a channel. Bodies arrive checked or with the reason of their refusal, so that a caller of an
//! absent channel learns nothing about its body. Pure.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_accounts::{Actor, Authority};
use plenary_kernel::{Refusal, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::{id::ChannelId, key::LinkKey};

/// Who asks; the token, trust and the key are checked again inside the append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// In whose name; none where no token is needed and none came.
    pub authority: Option<Authority>,
    /// The key that it shows.
    pub key: Option<LinkKey>,
    /// Whether the server needs no token.
    pub open: bool,
}

impl Caller {
    /// Whose token it is.
    #[must_use]
    pub fn via(&self) -> Option<&Actor> {
        self.authority.as_ref().map(|authority| &authority.by)
    }

    /// What its author is when it names none: its handle, or nothing.
    #[must_use]
    pub fn name(&self) -> String {
        self.via().map(Actor::to_string).unwrap_or_default()
    }
}

/// `POST /agent-channel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateChannel {
    /// Who creates it.
    pub caller: Caller,
    /// The id that it would have.
    pub id: ChannelId,
    /// What it is about; may be empty.
    pub title: String,
    /// The author, by its stable name.
    pub created_by: Option<String>,
    /// The key of its link.
    pub key: LinkKey,
}

/// What comes of [`CreateChannel`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelMade {
    /// Its id.
    pub id: ChannelId,
    /// What it is about.
    pub title: String,
    /// The actor.
    pub created_by: String,
    /// When.
    pub at: TimestampMs,
    /// The key of its link; absent in answers from before links had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LinkKey>,
}

/// `POST /agent-channel/{id}/event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendEvent {
    /// Who appends.
    pub caller: Caller,
    /// What, or why the body is refused.
    pub draft: Result<Draft, Refusal>,
    /// See [`crate::event::EventAppended::trace`].
    pub trace: Option<Box<str>>,
    /// Whether a closed channel takes no more.
    pub reject_after_close: bool,
}

/// An event before it has a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its kind.
    pub kind: String,
    /// The author, by its stable name.
    pub author: Option<String>,
    /// The JSON object as it was sent.
    pub payload: Bytes,
}

/// What comes of [`AppendEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendReceipt {
    /// Its place on the channel's stream.
    pub version: Version,
    /// When.
    pub at: TimestampMs,
}

/// `POST /agent-channel/{id}/close`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseChannel {
    /// Who closes it.
    pub caller: Caller,
}

/// What comes of [`CloseChannel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseReceipt {
    /// When.
    pub at: TimestampMs,
}

/// Remembers that the caller's owner has shown the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmitOwner {
    /// Who shows it.
    pub caller: Caller,
}

/// `POST /agent-channel/{id}/key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeKey {
    /// Who changes it.
    pub caller: Caller,
    /// The new key.
    pub key: LinkKey,
    /// Whether a key that there is stays.
    pub only_if_none: bool,
}

/// What comes of [`ChangeKey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChanged {
    /// The key from now on.
    pub key: LinkKey,
}
