//! What clients send to the session operations. Pure.
//! Must not know: how the server reads it.

use plenary_kernel::AgentHandle;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Content;

/// The body of `POST /sessions`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CreateSession {
    /// Whom to invite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invite: Vec<AgentHandle>,
    /// What it is about; invitees see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The first message, which gets sequence 1 (ASP-55).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<InitialMessage>,
    /// Send and end (ASP-29); needs an initial message.
    #[serde(skip_serializing_if = "is_false")]
    pub end_after_send: bool,
    /// The server carries it out once for a key (ASP-35); absent: once for each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// The first message of a session.
#[derive(Debug, Clone, Serialize)]
pub struct InitialMessage {
    /// What it says.
    pub content: Content,
    /// Returned as given (ASP-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// The body of `POST /sessions/{id}/messages`.
#[derive(Debug, Clone, Serialize)]
pub struct SendMessage {
    /// What it says.
    pub content: Content,
    /// The server carries it out once for a key (ASP-35); absent: once for each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Returned as given (ASP-36).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// The body of `POST /sessions/{id}/reopen`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReopenSession {
    /// Whom to invite; absent: all who were joined at the end (wire.md 2.5, 9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invite: Option<Vec<AgentHandle>>,
    /// The first message after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<InitialMessage>,
}

impl SendMessage {
    /// A message of this content alone.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), idempotency_key: None, metadata: None }
    }
}

/// Whom to invite.
#[derive(Debug, Clone, Serialize)]
pub struct InviteAgents {
    /// One or more.
    pub invite: Vec<AgentHandle>,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SessionsQuery {
    /// Only sessions older than this one: the last page's `next_cursor`.
    pub before: Option<String>,
    /// At most so many; absent: the server's default, 1000.
    pub limit: Option<u32>,
}

/// Which events of a session to read.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct EventsQuery {
    /// Only events after this sequence; 0 reads from the beginning.
    pub after_sequence: u64,
    /// At most so many, 1 to 1000; absent: the server's default, 1000.
    pub limit: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
