//! The commands on a session. Bodies arrive checked or with the reason of their refusal, so that a stranger gets "not
//! found" before anything about its body (wire.md D.9, order of checks). Pure.

use bytes::Bytes;
use plenary_accounts::TokenDigest;
use plenary_kernel::{AgentHandle, FileId, Refusal, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Origin;

/// Who asks, and with which token: both are checked again inside the append.
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
    /// The files that its content names, each once.
    pub files: Vec<FileId>,
    /// See [`crate::event::MessageSent::trace`].
    pub trace: Option<Box<str>>,
}

/// `POST /sessions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateSession {
    /// Who creates it.
    pub caller: Caller,
    /// The body, or why it is refused.
    pub body: Result<CreateBody, Refusal>,
}

/// A checked body of `POST /sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateBody {
    /// The agents to invite, each once.
    pub invite: Vec<AgentHandle>,
    /// What it is about.
    pub topic: Option<String>,
    /// The first message.
    pub initial_message: Option<Draft>,
    /// Whether it ends at once (ASP-29).
    pub end_after_send: bool,
}

/// `POST /sessions/{id}/reopen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenSession {
    /// Who reopens it.
    pub caller: Caller,
    /// The body, or why it is refused.
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
    /// Who invites.
    pub caller: Caller,
    /// The invitees, each once, or the reason why the body is refused.
    pub invite: Result<Vec<AgentHandle>, Refusal>,
}

/// `POST /sessions/{id}/messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendMessage {
    /// Who sends.
    pub caller: Caller,
    /// What, or why the body is refused.
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

/// The grace window is over for an agent whose `AgentDisconnected` stands at `since`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpireGrace {
    /// The agent.
    pub agent: AgentHandle,
    /// The disconnect that the window began with; a later one has a window of its own.
    pub since: Version,
}

/// Makes an agent leave: because another one blocked it, or because it was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictAgent {
    /// Who has to leave.
    pub agent: AgentHandle,
    /// Who blocked it; it must be present. `None`: the agent was deleted.
    pub blocker: Option<AgentHandle>,
}

/// Ends what the accord with a peer carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartWithPeer(pub plenary_kernel::OwnerName);

/// A person decided about an invitation that was held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleInvitation {
    /// Who was invited.
    pub agent: AgentHandle,
    /// Where the invitation stands.
    pub at: Version,
    /// Whether it joins; otherwise it leaves.
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
