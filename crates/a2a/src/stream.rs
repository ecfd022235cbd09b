//! A live task as the events of each binding (sections 9.4.2, 10, 11.7).
//! Must not know: the source of updates.

use a2a::{StreamResponse, Task};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, stream::unfold};
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Value, json};

use crate::{failure::Failure, run_tasks, session_tasks};

/// An update of a live task.
pub(crate) enum Update {
    /// An event for the client, with the number of the source event if this completes it.
    Event(Box<StreamResponse>, Option<u64>),
    /// No event: the task continues.
    Alive,
}

impl Update {
    /// The task after the event with this number; 0 means none.
    pub(crate) fn snapshot(task: Task, last: u64) -> Self {
        Self::Event(Box::new(StreamResponse::Task(task)), (last > 0).then_some(last))
    }

    /// The updates from one event. Only the last has its number, so that a client that resumes there misses nothing.
    pub(crate) fn numbered(updates: Vec<StreamResponse>, number: u64) -> impl Iterator<Item = Self> {
        let count = updates.len();
        let numbered = move |(nth, update): (usize, StreamResponse)| {
            Self::Event(Box::new(update), (nth + 1 == count).then_some(number))
        };
        updates.into_iter().enumerate().map(numbered)
    }
}

/// A live task.
pub(crate) enum Follow {
    Run(Box<run_tasks::RunFeed>),
    Session(Box<session_tasks::SessionFeed>),
}

impl Follow {
    /// The next update; `None` once the task waits or is over. After a failure the task may still continue.
    async fn next(&mut self) -> Result<Option<Update>, Failure> {
        match self {
            Self::Run(following) => following.next().await,
            Self::Session(following) => following.next().await,
        }
    }

    /// The current task.
    pub(crate) fn task(&self) -> Task {
        match self {
            Self::Run(following) => following.task(),
            Self::Session(following) => following.task(),
        }
    }

    /// The task once it waits or is over.
    pub(crate) async fn wait_until_paused(mut self) -> Result<Task, Failure> {
        while self.next().await?.is_some() {}
        Ok(self.task())
    }

    /// The updates as messages of a gRPC stream; an error is the last one.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Value, Failure>> + Send {
        unfold(Some(self), |follow| async move {
            let mut follow = follow?;
            loop {
                match follow.next().await {
                    Ok(None) => return None,
                    Ok(Some(Update::Alive)) => {}
                    Ok(Some(Update::Event(update, _))) => return Some((Ok(json!(update)), Some(follow))),
                    Err(failure) => return Some((Err(failure), None)),
                }
            }
        })
    }

    /// The updates as a response body; with `id`, as JSON-RPC results.
    pub(crate) fn into_response(self, id: Option<Value>) -> Response {
        pieces(FeedState { follow: self, id, has_failed: false })
    }
}

struct FeedState {
    follow: Follow,
    id: Option<Value>,
    has_failed: bool,
}

impl Pieces for FeedState {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.has_failed {
            return Ok(None);
        }
        let (data, head) = match (self.follow.next().await, &self.id) {
            (Ok(None), _) => return Ok(None),
            (Ok(Some(Update::Alive)), _) => return Ok(Some(Bytes::from_static(KEEPALIVE.as_bytes()))),
            (Ok(Some(Update::Event(update, number))), id) => {
                let data = match id {
                    Some(id) => json!({"jsonrpc": "2.0", "id": id, "result": update}),
                    None => json!(update),
                };
                (data, number.map(|number| format!("id: {number}\n")).unwrap_or_default())
            }
            // Without an error, the end of the stream would mean that the task waits or is over.
            (Err(failure), Some(id)) => {
                self.has_failed = true;
                (failure.rpc_body(id), String::new())
            }
            // The SDKs would read an error without this name as an empty update.
            (Err(failure), None) => {
                self.has_failed = true;
                (failure.rest_body(), "event: error\n".to_owned())
            }
        };
        Ok(Some(format!("{head}data: {data}\n\n").into()))
    }
}
