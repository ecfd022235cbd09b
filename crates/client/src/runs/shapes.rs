//! Requests to agents, and the server's descriptions of agents, runs and threads (wire.md 4.1, D.8).
//! Must not know: the calls.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The description of an agent (SC-20).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Descriptor {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub purpose: String,
    /// Its operations.
    pub operations: Vec<OperationOf>,
    /// The tools that it uses.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Its handle in sessions.
    pub handle: Option<AgentHandle>,
    /// Whether it is stopped.
    #[serde(default)]
    pub stopped: bool,
    /// For an agent that attaches itself: the number of instances attached to the process that answered.
    pub instances: Option<usize>,
    /// Its path, in a list of all agents.
    pub path: Option<String>,
}

/// One operation of an agent (SC-21).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct OperationOf {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// A ChatRequest.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Chat {
    /// The task for the agent.
    pub input: String,
    /// The thread to continue; absent: a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// `create`: opens the thread `thread_id`, a UUID, if it does not exist; absent: 404 in that case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_not_exists: Option<&'static str>,
    /// Additional data for the agent, passed unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<Map<String, Value>>,
}

/// The receipt of an accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReceipt {
    /// The run.
    pub run_id: String,
    /// Its thread.
    pub thread_id: String,
    /// Whether this is the run of an earlier request with the same key.
    pub replayed: bool,
}

plenary_kernel::words! {
    /// The status of a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunStatus {
        /// It waits for other runs of its thread.
        Queued = "queued",
        /// It is running.
        Running = "running",
        /// It waits for input.
        Waiting = "waiting",
        /// It succeeded.
        Completed = "completed",
        /// It failed.
        Error = "error",
        /// It was canceled.
        Canceled = "canceled",
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
    /// Its status.
    pub status: RunStatus,
    /// Whether it waits until a person of the agent's owner releases it.
    #[serde(default)]
    pub held: bool,
    /// The result.
    pub result: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// The inputs that a waiting run requests.
    pub request_keys: Option<Map<String, Value>>,
    /// The choices for inputs of a waiting run, by key.
    pub options: Option<Map<String, Value>>,
    /// The form of a waiting run: a flat JSON Schema.
    pub form: Option<Map<String, Value>>,
    /// The agent's message about the form of a waiting run.
    pub message: Option<String>,
    /// The id of a waiting run's WaitForInput.
    pub event_id: Option<u64>,
    /// The request that started it, unchanged.
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
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// Its runs, oldest first.
    pub runs: Vec<String>,
    /// Its title, if known.
    pub title: Option<String>,
}
