//! The operations of the Agent Protocol whose requests and replies are plain (wire.md 4, D.8). Pure.
//! Must not know: requests to run, and events; each has many forms.

mod id;
mod replies;

pub use id::{RunId, ThreadId};
pub use replies::{
    AgentDescriptor, AgentOperation, Described, Dismissal, FinishReason, Listed, RunReport, RunStatus,
    ThreadReport,
};

use serde::Serialize;

use crate::Operation;

/// What each agent that the server runs says of itself, and where it is.
pub const DESCRIPTORS: Operation<(), Vec<Described>> = Operation::get("run.descriptors", "/agent");
/// What one says of itself (SC-20).
pub const DESCRIBE: Operation<(), AgentDescriptor> = Operation::get("run.describe", "/agent/{name}/describe");
/// Stops an agent: what goes on is canceled, and nothing is taken until it is started.
pub const STOP_AGENT: Operation<(), AgentDescriptor> =
    Operation::post("run.stop_agent", "/agent/{name}/stop");
/// Starts it again.
pub const START_AGENT: Operation<(), AgentDescriptor> =
    Operation::post("run.start_agent", "/agent/{name}/start");
/// Lets go of an agent that came by itself.
pub const DISMISS_AGENT: Operation<(), Dismissal> =
    Operation::post("run.dismiss_agent", "/agent/{name}/dismiss");
/// Where a run stands (SC-40).
pub const SHOW: Operation<(), RunReport> = Operation::get("run.show", "/agent/{name}/runs/{run_id}");
/// A page of threads, newest first (SC-41); the header `Link` says whether there are more.
pub const THREADS: Operation<(), Vec<ThreadReport>, ThreadsQuery> =
    Operation::get("run.threads", "/agent/{name}/threads");
/// What an agent made, as it is (SC-47).
pub const ARTIFACT: Operation = Operation::get("run.artifact", "/artifacts/{artifact_id}");

/// Which threads.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ThreadsQuery {
    /// At most so many.
    pub limit: Option<u32>,
    /// Only threads that were opened before this one.
    pub before: Option<String>,
}
