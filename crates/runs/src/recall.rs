//! The history of a thread before a run, for agents without their own memory (SC-4).
//! Must not know: the agent, or HTTP.

use std::{future::Future, pin::Pin, sync::Arc};

use plenary_kernel::Version;
use plenary_log::{Fault, StreamName};
use serde_json::{Map, Value};

use crate::{
    Runs,
    event::{RunQueued, ThreadEvent},
    id::{RunId, ThreadId},
    limits::{TURNS_BYTES_MAX, TURNS_MAX},
    members::Members,
    runner::{Recall, RunRequest, Turn},
    runs::stream,
};

/// The request of a run as its runner gets it.
pub(crate) fn request_of(
    thread: ThreadId,
    agent: Arc<str>,
    queued: &RunQueued,
    args: Arc<Map<String, Value>>,
) -> RunRequest {
    let input = Members::read(&queued.request).unwrap_or_default().text("input").ok().flatten();
    RunRequest {
        agent,
        run_id: queued.run,
        thread_id: thread,
        depth: queued.depth,
        requester: queued.by.to_string().into(),
        request_type: queued.request_type.clone(),
        input,
        body: queued.request.clone(),
        args,
    }
}

impl Runs {
    /// The event at a version of a stream.
    pub(crate) async fn event_at(&self, stream: &StreamName, at: Version) -> Result<ThreadEvent, Fault> {
        let stored = self.log().read_stream(stream, Version(at.0.saturating_sub(1)), 1).await?;
        match stored.first() {
            Some(stored) => ThreadEvent::decode(stored),
            None => Err(Fault::Corrupt(format!("nothing stands at {at} of {stream}"))),
        }
    }

    async fn earlier(&self, thread: ThreadId, before: RunId) -> Result<Vec<Turn>, Fault> {
        let state = self.fresh(thread).await?;
        let Some(opened) = &state.opened else { return Ok(Vec::new()) };
        let stream = stream(thread);
        let (mut turns, mut bytes) = (Vec::new(), 0);
        let earlier = state.runs.iter().rev().skip_while(|run| run.id != before).skip(1);
        for run in earlier.filter(|run| run.status.is_over()) {
            let queued = self.event_at(&stream, run.queued).await?;
            let ended = self.event_at(&stream, run.ended).await?;
            // A run that was canceled before it started has no output.
            let (ThreadEvent::RunQueued(queued), ThreadEvent::RunCompleted(ended)) = (queued, ended) else {
                continue;
            };
            bytes += queued.request.len() + ended.result.len();
            if turns.len() == TURNS_MAX || bytes > TURNS_BYTES_MAX {
                break;
            }
            let result = ended.has_result.then(|| String::from_utf8_lossy(&ended.result).into_owned());
            let request = request_of(thread, opened.agent.clone(), &queued, Arc::default());
            turns.push(Turn { run_id: run.id, request, finish_reason: ended.finish_reason, result });
        }
        turns.reverse();
        Ok(turns)
    }
}

impl Recall for Runs {
    fn turns(
        &self,
        thread: ThreadId,
        before: RunId,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<Turn>, Fault>> + Send + '_>> {
        Box::pin(self.earlier(thread, before))
    }
}
