//! The history of a thread before a run, for agents without their own memory (SC-4).
//! Must not know: the agent, or HTTP.

use std::sync::Arc;

use plenary_kernel::Version;
use plenary_log::{Batch, Fault, RowOp, StreamName};
use plenary_room::async_trait;
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
    pub(crate) async fn event_at(&self, stream: &StreamName, at: Version) -> Result<ThreadEvent, Fault> {
        let stored_events = self.log().read_stream(stream, Version(at.0.saturating_sub(1)), 1).await?;
        match stored_events.first() {
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
            let completed = self.event_at(&stream, run.ended).await?;
            // A run that was canceled before it started has no output.
            let (ThreadEvent::RunQueued(queued), ThreadEvent::RunCompleted(completed)) = (queued, completed)
            else {
                continue;
            };
            bytes += queued.request.len() + completed.result.len();
            if turns.len() == TURNS_MAX || bytes > TURNS_BYTES_MAX {
                break;
            }
            let result =
                completed.has_result.then(|| String::from_utf8_lossy(&completed.result).into_owned());
            let request = request_of(thread, opened.agent.clone(), &queued, Arc::default());
            turns.push(Turn { run_id: run.id, request, finish_reason: completed.finish_reason, result });
        }
        turns.reverse();
        Ok(turns)
    }
}

/// The row with the text that a runner keeps with a thread.
fn stored_text_row(thread: ThreadId) -> String {
    format!("runs.kept/{thread}")
}

impl Runs {
    async fn read_stored_text(&self, thread: ThreadId) -> Result<Option<String>, Fault> {
        let row = self.log().read_row(&stored_text_row(thread)).await?;
        Ok(row.map(|row| String::from_utf8_lossy(&row.value).into_owned()))
    }

    async fn write_stored_text(&self, thread: ThreadId, text: String) -> Result<(), Fault> {
        let name = stored_text_row(thread);
        let row = self.log().read_row(&name).await?;
        if row.as_ref().is_some_and(|row| *row.value == *text.as_bytes()) {
            return Ok(());
        }
        // No conflict: a thread has one active run.
        let op = RowOp { name, expected: None, value: Some(text.into()) };
        self.log().append(Batch { rows: vec![op], ..Batch::default() }).await.map(drop)
    }
}

#[async_trait]
impl Recall for Runs {
    async fn turns(&self, thread: ThreadId, before: RunId) -> Result<Vec<Turn>, Fault> {
        self.earlier(thread, before).await
    }

    async fn stored_text(&self, thread: ThreadId) -> Result<Option<String>, Fault> {
        self.read_stored_text(thread).await
    }

    async fn store_text(&self, thread: ThreadId, text: String) -> Result<(), Fault> {
        self.write_stored_text(thread, text).await
    }
}
