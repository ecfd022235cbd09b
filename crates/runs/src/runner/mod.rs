//! The interface between the room and the kinds of agents: a kind is a [`Runner`], and its only access to the room is
//! the [`Run`] that it gets. The room writes the log, the ids and the base members, queues runs, enforces time and
//! size, and ends runs that do not end by themselves.
//! Must not know: HTTP, the log, or any kind of agent.

mod channel;
mod event;
mod request;
#[cfg(test)]
mod tests;

use std::{future::Future, pin::Pin, sync::Arc};

use plenary_log::Fault;
use plenary_room::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use channel::{
    Answers, Delta, EmitError, Input, Output, ReceivedOutput, Run, RunReceiver, RunSignal, run_channel,
};
pub use event::{ELICITATION, Event, EventKind, InvalidEvent, ProgramMessage, Role};
pub use request::RunRequest;

use crate::id::{RunId, ThreadId};

/// The future of a run.
pub type RunFuture = Pin<Box<dyn Future<Output = RunEnd> + Send>>;

/// An agent, or a kind of agents: the code that carries out runs. It is called once per run; runs of different
/// threads are concurrent, runs of one thread never are.
pub trait Runner: Send + Sync + 'static {
    /// The description of the agent (SC-9, SC-20).
    fn card(&self) -> Card;

    /// Carries out one run. The output goes through `run`; the returned value ends the run. The future is dropped if
    /// it does not end in time after a cancel, so processes and connections that it owns must end with it. A panic
    /// ends the run with an error.
    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture;
}

/// How an agent describes itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// Its purpose, one line.
    pub purpose: String,
    /// Its operations beside `chat`, which every agent has (SC-13, SC-21).
    pub operations: Vec<AgentOperation>,
    /// The tools that it uses, for information.
    pub tools: Vec<String>,
    /// The types of request that it accepts beside `ChatRequest` (SC-27); `*` is any.
    pub request_types: Vec<String>,
    /// For an agent that attaches itself: the number of its instances attached to this process.
    pub instances: Option<usize>,
}

impl Card {
    /// The card of an agent whose only operation is `chat`.
    pub fn new(purpose: impl Into<String>) -> Self {
        Self { purpose: purpose.into(), ..Self::default() }
    }
}

/// An operation that an agent advertises (SC-21).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentOperation {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_schema: Option<Value>,
    /// The JSON schema of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub output_schema: Option<Value>,
}

/// How a run ended (SC-26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// It succeeded.
    Success,
    /// It failed.
    Error,
    /// It was canceled.
    Canceled,
}

/// The end of a run as its runner reports it. A run that was told to cancel ends as `canceled` whatever the runner
/// reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The reason.
    pub finish_reason: FinishReason,
    /// The result (SC-14). A success without one gets its joined TextOutputs as the result.
    pub result: Option<String>,
    /// For an error: what went wrong, for people.
    pub error: Option<String>,
    /// For an error: the agent did not accept the request.
    pub rejected: bool,
}

impl RunEnd {
    /// Success; the joined text output is the result.
    pub const fn success() -> Self {
        Self { finish_reason: FinishReason::Success, result: None, error: None, rejected: false }
    }

    /// Success with a result.
    pub fn with(result: impl Into<String>) -> Self {
        Self { result: Some(result.into()), ..Self::success() }
    }

    /// An error, with its text for people.
    pub fn error(text: impl Into<String>) -> Self {
        Self { finish_reason: FinishReason::Error, error: Some(text.into()), ..Self::success() }
    }

    /// An error: the agent does not accept the request, and why.
    pub fn rejected(text: impl Into<String>) -> Self {
        Self { rejected: true, ..Self::error(text) }
    }

    /// The run stopped because it was told to.
    pub const fn canceled() -> Self {
        Self { finish_reason: FinishReason::Canceled, result: None, error: None, rejected: false }
    }
}

/// An earlier run of the thread (SC-4).
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The run.
    pub run_id: RunId,
    /// Its request.
    pub request: RunRequest,
    /// How it ended.
    pub finish_reason: FinishReason,
    /// Its result, if any.
    pub result: Option<String>,
}

/// Access to the history of a run's thread.
#[async_trait]
pub trait Recall: Send + Sync + 'static {
    /// The ended runs of a thread before this one, oldest first: the newest of them within [`crate::limits::TURNS_MAX`]
    /// and [`crate::limits::TURNS_BYTES_MAX`].
    async fn turns(&self, thread: ThreadId, before: RunId) -> Result<Vec<Turn>, Fault>;

    /// The text that the runner keeps with a thread; `None` if there is none, or no store.
    async fn stored_text(&self, _thread: ThreadId) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Keeps a text with a thread, instead of the text before, if there is a store.
    async fn store_text(&self, _thread: ThreadId, _text: String) -> Result<(), Fault> {
        Ok(())
    }
}
