//! Bodies and answers of the session operations. Answers may have unknown members, which are ignored.
//! Must not know: paths or methods.

use std::fmt;

use plenary_kernel::{AgentHandle, MessageId, SessionId, TimestampMs};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Content;
use crate::{Event, IdempotencyKey};

/// The body of `POST /sessions`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CreateSession {
    /// The agents to invite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invite: Vec<AgentHandle>,
    /// Its topic; invited agents see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The first message, which gets sequence 1 (ASP-55).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<InitialMessage>,
    /// Send the message and end the session (ASP-29); needs an initial message.
    #[serde(skip_serializing_if = "is_false")]
    pub end_after_send: bool,
    /// Makes the call safe to retry on transient failures (ASP-35).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The server ignores it. With a key that several calls share, equal bodies of two calls differ by it, so that the second gets
    /// 409 `idempotency_key_reused` and only a retry gets the first response again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<IdempotencyKey>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// The first message of a session.
#[derive(Debug, Clone, Serialize)]
pub struct InitialMessage {
    /// Its content.
    pub content: Content,
    /// Returned unchanged (ASP-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// The answer of `POST /sessions`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreatedSession {
    /// The new session.
    pub session_id: SessionId,
    /// The initial message's sequence, if there was one.
    pub sequence: Option<u64>,
}

/// The body of `POST /sessions/{id}/messages`.
#[derive(Debug, Clone, Serialize)]
pub struct SendMessage {
    /// Its content.
    pub content: Content,
    /// Makes the call safe to retry on transient failures (ASP-35).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Returned unchanged (ASP-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl SendMessage {
    /// A message with a new idempotency key.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), idempotency_key: Some(IdempotencyKey::random()), metadata: None }
    }
}

/// The answer of `POST /sessions/{id}/messages` (ASP-67).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendReceipt {
    /// The message's id.
    pub message_id: MessageId,
    /// Its sequence number in the session.
    pub sequence: u64,
}

/// The answer of `POST /sessions/{id}/invite`: the newly invited agents (ASP-66).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InviteReceipt {
    /// The newly invited agents.
    pub invited: Vec<AgentHandle>,
}

/// The body of `POST /sessions/{id}/reopen`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReopenSession {
    /// The agents to invite; absent: all that were joined at the end (wire.md 2.5, 9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invite: Option<Vec<AgentHandle>>,
    /// The first message after reopening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<InitialMessage>,
}

/// `{"ok":true}` (ASP-65).
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// Whether it was done.
    pub ok: bool,
}

/// The state of a session (ASP-21).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    /// Messages may be sent.
    Active,
    /// It can be read, and reopened by the agents that were joined at the end.
    Ended,
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Ended => "ended",
        })
    }
}

/// The standing of a participant (ASP-25 to ASP-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParticipantStatus {
    /// Invited, and not joined yet.
    Invited,
    /// Takes part.
    Joined,
    /// Left, until invited again.
    Left,
}

impl fmt::Display for ParticipantStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invited => "invited",
            Self::Joined => "joined",
            Self::Left => "left",
        })
    }
}

/// One participant of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Participant {
    /// Its handle.
    pub handle: AgentHandle,
    /// Its standing.
    pub status: ParticipantStatus,
    /// When it joined.
    pub joined_at: Option<TimestampMs>,
    /// When it left.
    pub left_at: Option<TimestampMs>,
}

/// A session as its participants may see it (ASP-70).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its state.
    pub state: SessionState,
    /// Its topic.
    pub topic: Option<String>,
    /// The current and former participants.
    #[serde(default)]
    pub participants: Vec<Participant>,
    /// When it was created.
    pub created_at: TimestampMs,
    /// When it ended.
    pub ended_at: Option<TimestampMs>,
}

/// The answer of `GET /sessions`: newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionList {
    /// The caller's sessions.
    pub sessions: Vec<Session>,
    /// The value for [`SessionsQuery::before`](super::SessionsQuery); absent on the last page.
    pub next_cursor: Option<String>,
}

/// A message (ASP-32 to ASP-37).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its session; absent inside that session's invitation.
    pub session_id: Option<SessionId>,
    /// The sender: always the token's agent (ASP-4).
    pub sender: AgentHandle,
    /// Its sequence number in the session.
    pub sequence: u64,
    /// Its content.
    pub content: Content,
    /// When the server recorded it.
    pub created_at: TimestampMs,
    /// The sender's key.
    pub idempotency_key: Option<String>,
    /// The sender's metadata.
    pub metadata: Option<Map<String, Value>>,
}

/// One page of `GET /sessions/{id}/events`.
#[derive(Debug, Clone, Deserialize)]
pub struct EventPage {
    /// The events that the caller may see, by increasing sequence (ASP-71).
    pub events: Vec<Event>,
    /// The `after_sequence` of the next page; absent on the last one (wire.md D.9).
    #[serde(default, deserialize_with = "cursor")]
    pub next_cursor: Option<u64>,
}

/// The cursor is a decimal in a string; a number is accepted too.
fn cursor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Cursor {
        Text(String),
        Number(u64),
    }
    match Option::<Cursor>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Cursor::Number(number)) => Ok(Some(number)),
        Some(Cursor::Text(text)) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}
