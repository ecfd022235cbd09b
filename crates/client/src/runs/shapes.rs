//! Requests to agents, and the server's descriptions of agents, runs and threads (wire.md 4.1, D.8).
//! Must not know: the calls.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::FinishReason;

/// An agent and its path, as `GET /` lists them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentPath(pub String, pub String);

/// What an agent is (SC-20).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Descriptor {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: String,
    /// The endpoints below its path.
    pub endpoints: Vec<String>,
    /// What it can be asked.
    pub operations: Vec<OperationOf>,
    /// The tools that it uses.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Its address in sessions.
    #[serde(default)]
    pub handle: Option<AgentHandle>,
    /// Whether it is stopped.
    #[serde(default)]
    pub stopped: bool,
    /// Of an agent that attaches itself: how many instances of it are attached to the process that was asked.
    #[serde(default)]
    pub instances: Option<usize>,
    /// Where it is, in the list of all of them.
    #[serde(default)]
    pub path: Option<String>,
}

/// `POST …/dismiss`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Dismissal {
    /// That the agent was let go.
    pub dismissed: bool,
}

/// One operation of an agent (SC-21).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct OperationOf {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON schema of what it takes.
    #[serde(default)]
    pub input_schema: Option<Value>,
    /// A JSON schema of what it gives.
    #[serde(default)]
    pub output_schema: Option<Value>,
}

/// A ChatRequest.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Chat {
    /// What the agent is asked.
    pub input: String,
    /// Which thread it goes on with; absent: a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// `create`: the thread is opened under `thread_id`, a UUID, if it is not there; absent: a 404.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_not_exists: Option<&'static str>,
    /// Whatever else the agent gets, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<Map<String, Value>>,
}

/// Until when a request is answered late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until the run starts: RunStarted.
    Started,
    /// Until it ends or waits for input: RunCompleted or WaitForInput.
    Result,
}

impl Wait {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "true",
            Self::Result => "result",
        }
    }
}

/// A request was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReceipt {
    /// The run.
    pub run_id: String,
    /// Its thread.
    pub thread_id: String,
    /// Whether this is the run of an earlier request with the same key.
    pub replayed: bool,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Behind other runs of its thread.
    Queued,
    /// At work.
    Running,
    /// For input.
    Waiting,
    /// Over, with success.
    Completed,
    /// Over, having failed.
    Error,
    /// Over, having been told to stop.
    Canceled,
}

impl RunStatus {
    /// As it stands in JSON.
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
}

/// A run (SC-40).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RunReport {
    /// The run.
    pub run_id: String,
    /// Its thread.
    pub thread_id: String,
    /// The agent's name.
    pub agent: String,
    /// Where it stands.
    pub status: RunStatus,
    /// Whether it waits until a person of the agent's owner releases it.
    #[serde(default)]
    pub held: bool,
    /// How it ended.
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
    /// What came of it.
    #[serde(default)]
    pub result: Option<String>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// Of one that waits, what it asks for.
    #[serde(default)]
    pub request_keys: Option<Map<String, Value>>,
    /// Of one that waits, the answers among which the agent offers a choice, by key.
    #[serde(default)]
    pub options: Option<Map<String, Value>>,
    /// Of one that waits, what it asks for as a form: a flat JSON Schema.
    #[serde(default)]
    pub form: Option<Map<String, Value>>,
    /// Of one that waits with a form, what the agent says about it.
    #[serde(default)]
    pub message: Option<String>,
    /// Of one that waits, the id of its WaitForInput.
    #[serde(default)]
    pub event_id: Option<u64>,
    /// The request that it is the run of, as it was sent.
    #[serde(default)]
    pub request: Value,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// The id of its last event; 0 if it is queued.
    pub last_event_id: u64,
}

/// A thread (SC-41).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Thread {
    /// The thread.
    pub thread_id: String,
    /// The agent's name.
    pub agent: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// Its runs, oldest first.
    pub runs: Vec<String>,
    /// What it is about, where that is known.
    #[serde(default)]
    pub title: Option<String>,
}
