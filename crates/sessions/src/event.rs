//! The events of a session's stream, and their stored form. The forms are frozen: a change adds a new form, and the old
//! form stays readable. The first event is `SessionCreated`; every later event is one event on the wire, so `sequence`
//! = version - 1 (ASP-33). Pure.

use bytes::Bytes;
use plenary_kernel::{AgentHandle, FileId, OwnerName, TimestampMs, Version, ulid_time};
use plenary_log::{Fault, StoredEvent};
use serde::{Deserialize, Serialize};

/// The number of an event on the wire. It counts all events of a session except its creation, from 1 without gaps.
pub const fn sequence(version: Version) -> u64 {
    version.0.saturating_sub(1)
}

/// The version of the event with this sequence number.
pub const fn version(sequence: u64) -> Version {
    Version(sequence.saturating_add(1))
}

/// The time of an event: that of its ULID, and at most the time at which it was stored. The two differ in the copy of a peer's
/// session, which shows the host's times.
pub(crate) fn event_time(id: &str, stored_at: TimestampMs) -> TimestampMs {
    ulid_time(id).map_or(stored_at, |at| at.min(stored_at))
}

/// The kind of the event of a message.
pub(crate) const MESSAGE_SENT: &str = "MessageSent";

/// The version of a session's first message, which invitations may carry (ASP-29).
pub const FIRST_MESSAGE: Version = Version(2);

/// Why a participant left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftReason {
    /// It left, or a block made it leave: both look the same (ASP-14).
    Left,
    /// Its transport did not come back within the grace window (ASP-51).
    GraceExpired,
    /// The accord with its network, or with the network of the session, was revoked.
    AccordRevoked,
    /// The host of the session was restored from a backup, and the copy of another network no longer continues its history.
    HostRestored,
}

impl LeftReason {
    /// Whether the copy of a session ends when agents of its network leave for this reason.
    pub(crate) fn ends_copy(self) -> bool {
        matches!(self, Self::AccordRevoked | Self::HostRestored)
    }
}

/// An event of a session. `id` is the ULID that the wire shows as `evt_…` (and `msg_…` of a message).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The session was created, and its creator joined (ASP-22).
    SessionCreated(SessionCreated),
    /// A message was sent.
    MessageSent(MessageSent),
    /// An agent was invited.
    AgentInvited(AgentInvited),
    /// An invited agent joined.
    AgentJoined(AgentMoved),
    /// A joined agent's last connection dropped (ASP-49).
    AgentDisconnected(AgentMoved),
    /// The agent reconnected within the grace window (ASP-50).
    AgentReconnected(AgentMoved),
    /// A participant left.
    AgentLeft(AgentLeft),
    /// The session ended.
    SessionEnded(SessionEnded),
    /// An ended session was reopened.
    SessionReopened(SessionReopened),
}

/// See [`SessionEvent::SessionCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// The creator.
    pub creator: AgentHandle,
    /// The topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The host, if this is the copy of a peer's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<OwnerName>,
}

/// See [`SessionEvent::MessageSent`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// The ULID of the event and the message.
    pub id: String,
    /// The sender: always the authenticated agent (ASP-4).
    pub sender: AgentHandle,
    /// The origin, if this server sent the message for an agent that it runs. Never taken from a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The files that no earlier message of the session names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Box<Names>>,
    /// The span of the request that sent the message, as a `traceparent`, for the runs that answer it. It is not shown
    /// to agents: it would tell one owner's agents which work of another owner a message belongs to. The owner of a
    /// participant sees the trace id in `/watch`: a random number that only the operator's collector can resolve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The members `content`, `idempotency_key`, `metadata` as JSON, without the enclosing braces. Each value keeps the
    /// bytes that the sender sent.
    #[serde(skip)]
    pub members: Bytes,
}

/// The part of a stored message that every reader of it needs, without copies.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct MessageHead<'a> {
    /// See [`MessageSent::id`].
    pub(crate) id: &'a str,
    /// See [`MessageSent::sender`].
    pub(crate) sender: &'a str,
}

impl<'a> MessageHead<'a> {
    /// Reads it from a stored event; `None` if the event is no message.
    pub(crate) fn read(stored_event: &'a StoredEvent) -> Result<Option<Self>, Fault> {
        if stored_event.kind != MESSAGE_SENT {
            return Ok(None);
        }
        match Self::beginning(stored_event) {
            Some(head) => Ok(Some(head)),
            None => plenary_engine::stored::read(stored_event).map(Some),
        }
    }

    /// The head, if its members begin the envelope in the order in which they are written: without a parser.
    fn beginning(stored_event: &'a StoredEvent) -> Option<Self> {
        if stored_event.form != 1 {
            return None;
        }
        let envelope = std::str::from_utf8(&stored_event.envelope).ok()?;
        let (id, rest) = envelope.strip_prefix(r#"{"id":""#)?.split_once('"')?;
        let (sender, rest) = rest.strip_prefix(r#","sender":""#)?.split_once('"')?;
        let is_plain = !id.contains('\\') && !sender.contains('\\') && rest.starts_with(['}', ',']);
        is_plain.then_some(Self { id, sender })
    }
}

/// The members of a message as a JSON object.
pub fn json_object(members: &[u8]) -> Vec<u8> {
    [b"{", members, b"}"].concat()
}

/// Files that no earlier message of a session names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The version of the message.
    pub at: Version,
    /// The files.
    pub files: Vec<NamedFile>,
    /// Whether they are files of the session's host, another network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// A file that a message names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// The file.
    pub id: FileId,
    /// The uploader and the removal time, if no message of any session has named the file before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// The state of a file that no message has named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The uploader.
    pub by: AgentHandle,
    /// When it would be removed, in epoch milliseconds.
    pub until: u64,
}

/// The origin of a message that this server sent for an agent that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// How many agents of this server have passed on the original message, including the sender.
    pub hops: u32,
    /// Whether it is a notice: no agent of this server answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notice: bool,
}

/// See [`SessionEvent::AgentInvited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInvited {
    /// The ULID of the event.
    pub id: String,
    /// The invitee.
    pub invitee: AgentHandle,
    /// The inviter.
    pub by: AgentHandle,
    /// Whether the invitation carries the session's first message (ASP-29: send-and-end only).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inline: bool,
    /// Whether the inviter is a stranger to an invitee that never joined. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offered: bool,
    /// Whether the invitee joins only after a person of its owner accepts. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The owner whose earlier offer this invitation replaces. Not on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
    /// Whether the invitee does not admit the inviter, in the copy of a session of another network: then the invitee is
    /// not invited here. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Whether the invitee is an agent of a peer. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// A change that concerns one agent only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMoved {
    /// The ULID of the event.
    pub id: String,
    /// The agent.
    pub agent: AgentHandle,
    /// Whether it joins because a person accepted a held invitation. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The owner whose offer it accepts by joining. Not on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
}

/// See [`SessionEvent::AgentLeft`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLeft {
    /// The ULID of the event.
    pub id: String,
    /// The agent that left.
    pub agent: AgentHandle,
    /// The reason, as shown on the wire.
    pub reason: LeftReason,
    /// Whether a block made it leave. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Whether it had a held invitation, which ends with it. Not on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The owner whose offer ends with it. Not on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
}

/// See [`SessionEvent::SessionEnded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The ULID of the event.
    pub id: String,
    /// The agent that ended it; absent when the last participant left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentHandle>,
    /// The agents that were joined, which may reopen it (ASP-62).
    pub joined: Vec<AgentHandle>,
    /// The offers that lapse with it because an agent of the invitee's owner ended it, and that no longer count. Not on
    /// the wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<LapsedOffer>,
}

/// A stranger's invitation that lapsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LapsedOffer {
    /// The invitee.
    pub invitee: AgentHandle,
    /// The owner of the inviter.
    pub owner: String,
}

/// See [`SessionEvent::SessionReopened`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReopened {
    /// The ULID of the event.
    pub id: String,
    /// The agent that reopened it.
    pub by: AgentHandle,
    /// The former participants that are invited again.
    pub returning: Vec<AgentHandle>,
    /// The owner whose offer it accepts by reopening. Not on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
}

impl SessionEvent {
    /// The ULID of the event; `None` of the creation, whose time is that of the session's id.
    pub(crate) fn id(&self) -> Option<&str> {
        Some(match self {
            Self::SessionCreated(_) => return None,
            Self::MessageSent(event) => &event.id,
            Self::AgentInvited(event) => &event.id,
            Self::AgentJoined(event) | Self::AgentDisconnected(event) | Self::AgentReconnected(event) => {
                &event.id
            }
            Self::AgentLeft(event) => &event.id,
            Self::SessionEnded(event) => &event.id,
            Self::SessionReopened(event) => &event.id,
        })
    }
}

plenary_engine::stored_forms! {
    SessionEvent: SessionCreated, MessageSent + members, AgentInvited, AgentJoined, AgentDisconnected,
    AgentReconnected, AgentLeft, SessionEnded, SessionReopened
}
