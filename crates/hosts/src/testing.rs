//! Requests and runs for the tests of kinds.

use std::{pin::Pin, sync::Arc};

use plenary_kernel::{Stamp, TimestampMs};
use plenary_log::Fault;
use plenary_runs::{
    Ears, Recall, Run, RunRequest, Turn,
    id::{RunId, ThreadId},
    run_of,
};
use serde_json::Value;

/// A thread without earlier runs.
struct Nothing;

impl Recall for Nothing {
    fn turns(
        &self,
        _: ThreadId,
        _: RunId,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<Turn>, Fault>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A ChatRequest with this body.
pub(crate) fn request(body: &Value) -> RunRequest {
    let stamp = Stamp::new(TimestampMs(1), [0; 10]);
    RunRequest {
        agent: "tool".into(),
        run_id: RunId::mint(&stamp, 0),
        thread_id: ThreadId::mint(&stamp, 1),
        depth: 0,
        requester: "operator".into(),
        request_type: "ChatRequest".into(),
        input: body["input"].as_str().map(Into::into),
        body: body.to_string().into(),
        args: Arc::default(),
    }
}

/// Both ends of its run.
pub(crate) fn run(request: &RunRequest) -> (Run, Ears) {
    run_of(Arc::new(request.clone()), Arc::new(Nothing))
}
