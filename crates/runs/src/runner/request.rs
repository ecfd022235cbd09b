//! A request as a runner gets it: every member unchanged, with the room's own data.
//! Must not know: permissions.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    id::{RunId, ThreadId},
    members::{Members, quoted},
};

/// A request to a runner.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The run.
    pub run_id: RunId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// The depth in the chain of callers (SC-22); 0 is the outermost.
    pub depth: u32,
    /// The requester: `@owner.name`, `~owner` or `operator`.
    pub requester: Arc<str>,
    /// The type of the request: `ChatRequest`, or one of the agent's card (SC-27).
    pub request_type: Arc<str>,
    /// For a ChatRequest: the text.
    pub input: Option<String>,
    /// The JSON object as it was sent, with every member (SC-17, SC-27).
    pub body: Bytes,
    /// The agent's configured arguments (SC-10); empty if it has none.
    pub args: Arc<Map<String, Value>>,
}

impl RunRequest {
    /// The request as a value.
    pub fn members(&self) -> Map<String, Value> {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The request on one line for a program: `type`, `run_id`, `thread_id`, and every other member as it was sent
    /// (wire.md D.8).
    pub fn line(&self) -> String {
        let first = [
            ("type", quoted(&self.request_type)),
            ("run_id", quoted(&self.run_id.to_string())),
            ("thread_id", quoted(&self.thread_id.to_string())),
        ];
        Members::read(&self.body).unwrap_or_default().line(&first, &[])
    }
}
