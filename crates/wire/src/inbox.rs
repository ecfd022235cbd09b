//! The operations of the inbox: what is new for the agent, and what became of a message. Pure.
//! Must not know: where news come from; what an item says.

use plenary_kernel::{AgentHandle, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Operation;

/// A page of what is new.
pub const READ: Operation<(), InboxPage, InboxQuery> = Operation::get("inbox.read", "/inbox");
/// The same, as soon as there is an item or the time is over.
pub const WAIT: Operation<(), InboxPage, InboxQuery> = Operation::get("inbox.wait", "/inbox/wait");
/// Acknowledges everything up to a cursor.
pub const ACK: Operation<AckRequest, Acked> = Operation::post("inbox.ack", "/inbox/ack");
/// What became of a message.
pub const MESSAGE_STATUS: Operation<(), MessageStatus> =
    Operation::get("message.status", "/sessions/{id}/messages/{sequence}/status");

/// Which part of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InboxQuery {
    /// Only what is behind the `cursor` of an earlier page; absent: what is unread.
    pub after: Option<String>,
    /// At most so many, 1 to 100; absent: the server's default, 20.
    pub limit: Option<u32>,
    /// Only these kinds, with commas between them.
    pub kinds: Option<String>,
    /// How long to wait, of [`WAIT`] alone.
    pub timeout_s: Option<u64>,
}

/// `GET /inbox` and `GET /inbox/wait`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InboxPage")]
pub struct InboxPage<I = Value> {
    /// Oldest first.
    pub items: Vec<I>,
    /// How many are unread, of the kinds that were asked for.
    pub unread: u64,
    /// Whether there are more unread ones than were counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread_at_least: bool,
    /// How many of the unread are invitations by strangers, who are not on the agent's allowlist; they come last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_strangers: u64,
    /// Behind the last item: `after` of the next read, and what to acknowledge.
    pub cursor: String,
    /// Whether there are more behind the cursor now.
    pub more: bool,
    /// Whether a wait ended without anything new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// How far an acknowledgement goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AckState {
    /// It was put before the model.
    Seen,
    /// It was taken note of.
    #[default]
    Acknowledged,
}

/// What `POST /inbox/ack` takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AckInbox")]
pub struct AckRequest {
    /// The `cursor` of a page: everything up to it.
    pub cursor: String,
    /// `acknowledged` unless said otherwise.
    #[serde(default)]
    pub state: AckState,
}

/// The answer to `POST /inbox/ack`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InboxMarks")]
pub struct Acked {
    /// How many are unread now.
    pub unread: u64,
    /// Whether there are more unread ones than were counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread_at_least: bool,
    /// A cursor up to which everything was seen.
    pub seen: String,
    /// A cursor up to which everything was acknowledged.
    pub acknowledged: String,
}

/// `GET /sessions/{id}/messages/{sequence}/status`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageStatus {
    /// The session.
    pub session_id: SessionId,
    /// The message's place in it.
    pub sequence: u64,
    /// When it was written, RFC 3339.
    pub accepted_at: String,
    /// Whoever else takes part.
    pub recipients: Vec<RecipientStatus>,
}

/// What is known to have become of a message with one recipient.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecipientStatus {
    /// Who.
    pub agent: AgentHandle,
    /// Each state includes those before it: `accepted`, `delivered`, `seen`, `acknowledged`.
    pub state: State,
    /// When it answered, RFC 3339; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What is known to have become of a message with one of its recipients; each includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is on the log.
    #[default]
    Accepted,
    /// The recipient's stack has it.
    Delivered,
    /// It was put before the model.
    Seen,
    /// The recipient said so, or answered.
    Acknowledged,
}

impl State {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Delivered => "delivered",
            Self::Seen => "seen",
            Self::Acknowledged => "acknowledged",
        }
    }
}
