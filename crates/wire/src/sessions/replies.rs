//! What the session operations answer. Pure.
//! Must not know: events; they are written in the form that a reader wants.

use std::fmt;

use plenary_kernel::{AgentHandle, MessageId, SessionId, TimestampMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Whether a session is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Going on.
    #[default]
    Active,
    /// Ended; may be reopened.
    Ended,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Ended => "ended",
        })
    }
}

/// Where a participant stands (ASP: C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Added, not yet joined.
    Invited,
    /// In the session.
    Joined,
    /// Was there, and is not any more.
    Left,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invited => "invited",
            Self::Joined => "joined",
            Self::Left => "left",
        })
    }
}

/// The answer to `POST /sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOpened {
    /// The new session.
    pub session_id: SessionId,
    /// The sequence of the initial message; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// The answer to `POST …/messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAccepted {
    /// The message.
    pub message_id: MessageId,
    /// Its place in the session.
    pub sequence: u64,
}

/// The answer to `POST …/invite`: those newly invited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invited {
    /// Newly invited, reachable ones.
    pub invited: Vec<AgentHandle>,
}

/// The answer to what has nothing else to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ok")]
pub struct Acknowledged {
    /// Always true.
    pub ok: bool,
}

/// A session, as its current and former participants see it (ASP-70).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionView {
    /// The session.
    pub id: SessionId,
    /// `active` or `ended`.
    #[schemars(with = "String")]
    pub state: Phase,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Everyone who ever took part.
    pub participants: Vec<ParticipantView>,
    /// Epoch milliseconds.
    #[schemars(with = "u64")]
    pub created_at: TimestampMs,
    /// Epoch milliseconds; only of an ended session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub ended_at: Option<TimestampMs>,
}

/// A participant of a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Participant")]
pub struct ParticipantView {
    /// Who.
    pub handle: AgentHandle,
    /// `invited`, `joined` or `left`.
    #[schemars(with = "String")]
    pub status: Standing,
    /// When it last joined, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub joined_at: Option<TimestampMs>,
    /// When it left, epoch milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub left_at: Option<TimestampMs>,
}

/// `GET /sessions`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// Newest first.
    pub sessions: Vec<SessionView>,
    /// Passed back as `before`; present when there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// `GET /sessions/{id}/events`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// Events that the caller may see, by rising sequence.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub events: Vec<Box<RawValue>>,
    /// Passed back as `after_sequence`; present when the caller may see more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
