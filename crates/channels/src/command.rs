//! The commands on a channel. A command carries its checked body, or the reason why the body is refused, so that a caller of an
//! absent channel gets the same answer for every body. Pure.
//! Must not know: HTTP.

use bytes::Bytes;
use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_kernel::{Refusal, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::{id::ChannelId, key::LinkKey};

/// The caller. Its token, its trust and its key are checked again in the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The authority of its token; `None` if it sent no token and needs none.
    pub authority: Option<Authority>,
    /// The key that it sent.
    pub key: Option<LinkKey>,
    /// Whether the server requires no token.
    pub open: bool,
}

impl Caller {
    /// The actor of its token.
    pub fn via(&self) -> Option<&Actor> {
        self.authority.as_ref().map(|authority| &authority.by)
    }

    /// Whether it is an agent of another network.
    pub fn is_guest(&self) -> bool {
        let token = self.authority.as_ref().and_then(|authority| authority.token.as_ref());
        token.is_some_and(TokenDigest::is_guest)
    }

    /// The author of its events unless it names one: its handle, or empty without a token.
    pub fn name(&self) -> String {
        self.via().map(Actor::to_string).unwrap_or_default()
    }
}

/// `POST /agent-channel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateChannel {
    /// The caller.
    pub caller: Caller,
    /// The id to try.
    pub id: ChannelId,
    /// The title; may be empty.
    pub title: String,
    /// The author's stable name; `None` stands for the caller's.
    pub created_by: Option<String>,
    /// The key of the channel's link.
    pub key: LinkKey,
}

/// The reply to [`CreateChannel`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedChannel {
    /// The id of the channel.
    pub id: ChannelId,
    /// The title; may be empty.
    pub title: String,
    /// The author's stable name.
    pub created_by: String,
    /// The time of creation.
    pub at: TimestampMs,
    /// The key of the link; absent in replies that were stored before links had keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<LinkKey>,
}

/// `POST /agent-channel/{id}/event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendEvent {
    /// The caller.
    pub caller: Caller,
    /// The event, or the refusal of its body.
    pub draft: Result<Draft, Refusal>,
    /// See [`crate::event::EventAppended::trace`].
    pub trace: Option<Box<str>>,
    /// Whether a closed channel refuses further events.
    pub reject_after_close: bool,
}

/// An event before it is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The kind of the event.
    pub kind: String,
    /// The author's stable name; `None` stands for the caller's.
    pub author: Option<String>,
    /// The JSON object, byte for byte as it was sent.
    pub payload: Bytes,
}

/// The reply to [`AppendEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppendReceipt {
    /// The version of the event on the channel's stream.
    pub version: Version,
    /// The time of the append.
    pub at: TimestampMs,
}

/// `POST /agent-channel/{id}/close`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseChannel {
    /// The caller.
    pub caller: Caller,
}

/// The reply to [`CloseChannel`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseReceipt {
    /// The time of this close.
    pub at: TimestampMs,
}

/// Records that the caller's owner has shown the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmitOwner {
    /// The caller.
    pub caller: Caller,
}

/// `POST /agent-channel/{id}/key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeKey {
    /// The caller.
    pub caller: Caller,
    /// The new key.
    pub key: LinkKey,
    /// Whether an existing key stays.
    pub only_if_none: bool,
    /// Whether the owners that have shown an earlier key lose their access.
    pub revokes: bool,
}

/// The reply to [`ChangeKey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChanged {
    /// The key that is valid from now on.
    pub key: LinkKey,
}
