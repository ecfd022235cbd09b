//! A request as a runner gets it: every member unchanged, with the room's own data.
//! Must not know: permissions.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    id::{RunId, ThreadId},
    members::{Members, quoted},
};

/// What is asked of a runner.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The run.
    pub run_id: RunId,
    /// Its thread.
    pub thread_id: ThreadId,
    /// How deep in a chain of callers it is (SC-22); 0 is the outermost.
    pub depth: u32,
    /// Who asks: `@owner.name`, `~owner` or `operator`.
    pub requester: Arc<str>,
    /// Its type: `ChatRequest`, or one that the agent's card has (SC-27).
    pub request_type: Arc<str>,
    /// Of a ChatRequest: the text.
    pub input: Option<String>,
    /// The JSON object as it was sent, with every member (SC-17, SC-27).
    pub body: Bytes,
    /// What the agent was configured with (SC-10); empty when it was not.
    pub args: Arc<Map<String, Value>>,
}

impl RunRequest {
    /// The request as a value.
    #[must_use]
    pub fn members(&self) -> Map<String, Value> {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The request on one line for a program: `type`, `run_id`, `thread_id`, and every other member as it was sent
    /// (wire.md D.8).
    #[must_use]
    pub fn line(&self) -> String {
        let first = [
            ("type", quoted(&self.request_type)),
            ("run_id", quoted(&self.run_id.to_string())),
            ("thread_id", quoted(&self.thread_id.to_string())),
        ];
        Members::read(&self.body).unwrap_or_default().line(&first, &[])
    }
}
