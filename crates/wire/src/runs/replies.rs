//! What is said of agents, runs and threads (wire.md 4.1, 4.2). Pure.
//! Must not know: where it is read from.

use std::sync::Arc;

use plenary_kernel::AgentHandle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RunId, ThreadId};

/// An operation that an agent advertises (SC-21).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOperation {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of what it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_schema: Option<Value>,
    /// The JSON schema of what it gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub output_schema: Option<Value>,
}

/// How a run ended (SC-26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// It did what was asked.
    Success,
    /// It could not.
    Error,
    /// It was told to stop.
    Canceled,
}

/// Where a run stands (wire.md 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Another run of its thread is going on.
    Queued,
    /// It is going on.
    Running,
    /// It waits for its caller.
    Waiting,
    /// It ended with success.
    Completed,
    /// It ended with an error.
    Error,
    /// It ended because it was told to.
    Canceled,
}

impl RunStatus {
    /// Whether it is going on, or waits for its caller.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Canceled => "canceled",
        }
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Error | Self::Canceled)
    }
}

impl From<FinishReason> for RunStatus {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::Success => Self::Completed,
            FinishReason::Error => Self::Error,
            FinishReason::Canceled => Self::Canceled,
        }
    }
}

/// An agent and its path, as `GET /` lists them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Listed(pub String, pub String);

/// `GET /agent/{name}/describe` (SC-20).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentDescriptor {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The endpoints below its path.
    pub endpoints: Vec<String>,
    /// Its operations; each agent has `chat`.
    pub operations: Vec<AgentOperation>,
    /// The tools that it uses, for information.
    pub tools: Vec<String>,
    /// Its address: `@owner.name`, under which it takes part in sessions.
    pub handle: AgentHandle,
    /// Whether it is stopped: it takes no runs until it is started.
    pub stopped: bool,
    /// Of an agent that attaches itself: how many instances of it are attached to the process that was asked. Without
    /// any, its runs wait for one for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<usize>,
}

/// An agent in the list of all of them: `GET /agent`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Described {
    /// Where its endpoints are.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub descriptor: AgentDescriptor,
}

/// An agent was let go.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Dismissal {
    /// That it was.
    pub dismissed: bool,
}

/// `GET /agent/{name}/runs/{run_id}` (SC-40).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Which run.
    pub run_id: RunId,
    /// Of which thread.
    pub thread_id: ThreadId,
    /// The agent's name.
    #[schemars(with = "String")]
    pub agent: Arc<str>,
    /// Where it stands.
    pub status: RunStatus,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Of one that waits: what is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_keys: Option<Map<String, Value>>,
    /// When it was asked for, RFC 3339, UTC.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// The id of its last event; 0 while it is queued.
    pub last_event_id: u64,
}

/// A thread, as `GET /agent/{name}/threads` lists them (SC-41).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ThreadReport {
    /// Which.
    pub thread_id: ThreadId,
    /// The same.
    pub id: ThreadId,
    /// The agent's name.
    #[schemars(with = "String")]
    pub agent: Arc<str>,
    /// When it was opened, RFC 3339, UTC.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// Its runs, oldest first.
    pub runs: Vec<RunId>,
    /// What its first request says, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}
