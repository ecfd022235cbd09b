//! What is sent to agents (wire.md 4.1, D.8).
//! Must not know: the calls.

use serde::Serialize;
use serde_json::{Map, Value};

/// A ChatRequest.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Chat {
    /// What the agent is asked.
    pub input: String,
    /// Which thread it goes on with; absent: a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Whatever else the agent gets, as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<Map<String, Value>>,
}

/// A request was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The run.
    pub run_id: String,
    /// Its thread.
    pub thread_id: String,
    /// Whether this is the run of an earlier request with the same key.
    pub replayed: bool,
}
