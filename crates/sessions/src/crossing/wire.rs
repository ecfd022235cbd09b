//! Session messages between networks. A sender uses its own names; `you` is its name for the receiver. Pure.
//! Must not know: who may read which event.

use plenary_kernel::{AgentHandle, FileId, OwnerName, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::event::LeftReason;

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Invitations into a session of the network that asks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingOffer {
    /// What the asking network calls the other.
    pub you: OwnerName,
    /// The session.
    pub session_id: SessionId,
    /// Who invites.
    pub by: AgentHandle,
    /// Who is invited.
    pub invite: Vec<AgentHandle>,
}

/// Who takes an invitation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CrossingConsents {
    /// Those who do.
    pub taken: Vec<AgentHandle>,
    /// Those of them who join only once a person accepts.
    pub held: Vec<AgentHandle>,
}

/// What an agent of the network that asks does in a session of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrossingAction {
    /// It joins.
    Join,
    /// It leaves.
    Leave,
    /// It ends the session.
    End,
    /// It sends a message.
    Send,
    /// It invites.
    Invite,
    /// It reopens the session.
    Reopen,
    /// A person accepts its invitation, which was held.
    Accept,
    /// The agent leaves: it was removed, or a person declined for it, or one who blocks it asks.
    Evict,
}

/// Where the copy of a session ends that the asking network has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyEnd {
    /// How many events it has, the creation among them.
    pub after: u64,
    /// The id of the last of them, without its prefix.
    pub last: String,
}

/// A command on a session of the network that is asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingCommand {
    /// What the asking network calls the other.
    pub you: OwnerName,
    /// The session.
    pub session_id: SessionId,
    /// Who does it; with `evict`, who leaves.
    pub agent: AgentHandle,
    /// What.
    pub action: CrossingAction,
    /// The message: `content`, `idempotency_key`, `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub message: Option<Box<RawValue>>,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How many agents that servers run have passed on what began the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
    /// Whether the message only tells how things stand.
    #[serde(default, skip_serializing_if = "is_false")]
    pub notice: bool,
    /// Who is invited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invite: Option<Vec<AgentHandle>>,
    /// With `evict`, who blocks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<AgentHandle>,
    /// With `accept`, the number of the invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The files that the message names and the asking network has. The host stores them under ids of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<CrossingFile>,
    /// Where the copy of the asking network ends. If the event there is another one, the command is refused as `diverged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<CopyEnd>,
}

/// A file of the network that asks, which a message names.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CrossingFile {
    /// Its id in the message.
    pub file_id: FileId,
    /// Its name.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// What the host gets its content with.
    pub ticket: String,
}

/// Which file of the network that is asked the host of a session gets.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingFileAsk {
    /// The ticket of the command.
    pub ticket: String,
}

/// What became of a command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingOutcome {
    /// Why it was refused, a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The answer as the agent gets it.
    #[serde(default)]
    pub reply: serde_json::Value,
    /// Whether it is the answer of an earlier request with the same key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replayed: bool,
    /// The number of the last event of the session.
    #[serde(default)]
    pub sequence: u64,
}

/// Which events of a session are asked for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingAsk {
    /// The session.
    pub session_id: SessionId,
    /// How many events the asking network has, the creation among them.
    pub after: u64,
    /// The id of the last of them, without its prefix; absent of the creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// Events of a session, in order and without a gap.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingEvents {
    /// What the answering network calls the other.
    pub you: OwnerName,
    /// The events.
    pub events: Vec<CrossingEvent>,
    /// Whether there are more.
    pub more: bool,
    /// Whether the asking network has other events than this one: then it gets none, and its agents have left.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diverged: bool,
}

/// What became of a message, for agents of the network that is asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingStatesAsk {
    /// What the asking network calls the other.
    pub you: OwnerName,
    /// The session.
    pub session_id: SessionId,
    /// The number of the message.
    pub sequence: u64,
    /// Its id, without its prefix. A message with another id has no states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The agents.
    pub agents: Vec<AgentHandle>,
}

/// What became of it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CrossingStates {
    /// The states that are known.
    pub states: Vec<CrossingState>,
    /// Whether the copy of the session waits, because the asking network stores as much at the other as it may.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full: bool,
}

/// The state of a message for one agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingState {
    /// The agent.
    pub agent: AgentHandle,
    /// `accepted`, `delivered`, `shown`, `in_context`, `answered`, `acknowledged` or `expired`.
    pub state: String,
}

/// Which sessions have news.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingNewsAsk {
    /// `at` of the last answer; 0 at first.
    pub after: u64,
    /// `mark` of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// How long to wait for news, in milliseconds.
    #[serde(default)]
    pub wait_ms: u64,
}

/// The sessions that have news.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CrossingNewsPage {
    /// Where to go on.
    pub at: u64,
    /// What the answering network has there. If it has something else there later, it was restored from a backup, and the news
    /// begin anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The sessions.
    pub sessions: Vec<SessionId>,
}

/// An event of a session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CrossingEvent {
    /// The session began.
    Created {
        /// Who began it.
        creator: AgentHandle,
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
    },
    /// A message.
    Message {
        /// The id, without its prefix.
        id: String,
        /// Who sent it.
        sender: AgentHandle,
        /// `content`, `idempotency_key`, `metadata`.
        #[schemars(with = "serde_json::Value")]
        message: Box<RawValue>,
        /// See [`CrossingCommand::hops`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hops: Option<u32>,
        /// See [`CrossingCommand::notice`].
        #[serde(default, skip_serializing_if = "is_false")]
        notice: bool,
    },
    /// Somebody was invited.
    Invited {
        /// The id, without its prefix.
        id: String,
        /// Who was invited.
        invitee: AgentHandle,
        /// Who invited.
        by: AgentHandle,
        /// Whether it carries the first message.
        #[serde(default, skip_serializing_if = "is_false")]
        inline: bool,
        /// Whether a person accepts first.
        #[serde(default, skip_serializing_if = "is_false")]
        held: bool,
    },
    /// Somebody joined.
    Joined {
        /// The id, without its prefix.
        id: String,
        /// Who.
        agent: AgentHandle,
    },
    /// Somebody's connection dropped.
    Disconnected {
        /// The id, without its prefix.
        id: String,
        /// Whose.
        agent: AgentHandle,
    },
    /// It came back.
    Reconnected {
        /// The id, without its prefix.
        id: String,
        /// Whose.
        agent: AgentHandle,
    },
    /// Somebody left.
    Left {
        /// The id, without its prefix.
        id: String,
        /// Who.
        agent: AgentHandle,
        /// `left`, `grace_expired`, `accord_revoked` or `host_restored`.
        #[schemars(with = "String")]
        reason: LeftReason,
    },
    /// The session ended.
    Ended {
        /// The id, without its prefix.
        id: String,
        /// Who ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AgentHandle>,
        /// Who was joined.
        joined: Vec<AgentHandle>,
    },
    /// It was reopened.
    Reopened {
        /// The id, without its prefix.
        id: String,
        /// Who reopened it.
        by: AgentHandle,
        /// Who is invited again with it.
        returning: Vec<AgentHandle>,
    },
}
