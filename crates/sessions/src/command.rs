//! The commands on a session. A body arrives either checked or as its refusal, so that a stranger gets "not found"
//! before any error about the body (wire.md D.9, order of checks). Pure.

use bytes::Bytes;
use plenary_accounts::TokenDigest;
use plenary_kernel::{AgentHandle, FileId, Refusal, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{LeftReason, Origin};

/// The caller and its token. The append checks both again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated agent.
    pub handle: AgentHandle,
    /// The digest of its token.
    pub token: TokenDigest,
}

/// A message as it was sent: the members `content`, `idempotency_key`, `metadata`, raw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// See [`crate::event::MessageSent::members`].
    pub members: Bytes,
    /// See [`crate::event::MessageSent::origin`].
    pub origin: Option<Origin>,
    /// The files that the content names, without duplicates.
    pub files: Vec<FileId>,
    /// See [`crate::event::MessageSent::trace`].
    pub trace: Option<Box<str>>,
}

/// `POST /sessions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateSession {
    /// The creator.
    pub caller: Caller,
    /// The body, or its refusal.
    pub body: Result<CreateBody, Refusal>,
}

/// A checked body of `POST /sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateBody {
    /// The agents to invite, without duplicates.
    pub invite: Vec<AgentHandle>,
    /// The topic.
    pub topic: Option<String>,
    /// The first message.
    pub initial_message: Option<Draft>,
    /// Whether it ends at once (ASP-29).
    pub end_after_send: bool,
}

/// `POST /sessions/{id}/reopen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenSession {
    /// The agent that reopens it.
    pub caller: Caller,
    /// The body, or its refusal.
    pub body: Result<ReopenBody, Refusal>,
}

/// A checked body of `POST …/reopen`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReopenBody {
    /// The agents to invite; absent: everyone else who was joined at the end.
    pub invite: Option<Vec<AgentHandle>>,
    /// A message that is sent with it.
    pub initial_message: Option<Draft>,
}

/// `POST /sessions/{id}/invite`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteAgents {
    /// The inviter.
    pub caller: Caller,
    /// The invitees without duplicates, or the refusal of the body.
    pub invite: Result<Vec<AgentHandle>, Refusal>,
}

/// `POST /sessions/{id}/messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendMessage {
    /// The sender.
    pub caller: Caller,
    /// The message, or the refusal of the body.
    pub draft: Result<Draft, Refusal>,
}

/// `POST /sessions/{id}/join`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinSession(pub Caller);

/// `POST /sessions/{id}/leave`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaveSession(pub Caller);

/// `POST /sessions/{id}/end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSession(pub Caller);

/// An agent's last connection dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteDisconnect(pub AgentHandle);

/// An agent's first connection came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteReconnect(pub AgentHandle);

/// Ends the grace window of an agent, if its last `AgentDisconnected` has the version `since`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpireGrace {
    /// The agent.
    pub agent: AgentHandle,
    /// The version of the disconnect that opened the window; a later disconnect opens its own.
    pub since: Version,
}

/// Makes an agent leave, because another agent blocked it or because it was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictAgent {
    /// The agent that has to leave.
    pub agent: AgentHandle,
    /// The blocker, which must be present; `None` if the agent was deleted.
    pub blocker: Option<AgentHandle>,
}

/// Parts with a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartWithPeer {
    /// The peer.
    pub peer: plenary_kernel::OwnerName,
    /// Why.
    pub reason: LeftReason,
}

/// A person's decision about a held invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleInvitation {
    /// The invitee.
    pub agent: AgentHandle,
    /// The version of the invitation.
    pub at: Version,
    /// Whether the agent joins; otherwise it leaves.
    pub accepted: bool,
}

/// The response of `POST /sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOpened {
    /// The new session.
    pub session_id: plenary_kernel::SessionId,
    /// The sequence of the initial message; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// The response of `POST …/messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAccepted {
    /// The message.
    pub message_id: plenary_kernel::MessageId,
    /// Its sequence number in the session.
    pub sequence: u64,
}

/// The response of `POST …/invite`: the newly invited agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InviteReceipt {
    /// Newly invited, reachable ones.
    pub invited: Vec<AgentHandle>,
}

/// The response of operations without other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledgement {
    /// Always true.
    pub ok: bool,
}
