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

/// What comes of a task that is followed.
pub(crate) enum Update {
    /// An event for its client; with the number of what it tells, if that is all told with it.
    Event(Box<StreamResponse>, Option<u64>),
    /// No event, but the task goes on.
    Alive,
}

impl Update {
    /// The task as it was after the event with this number; 0 is none.
    pub(crate) fn snapshot(task: Task, last: u64) -> Self {
        Self::Event(Box::new(StreamResponse::Task(task)), (last > 0).then_some(last))
    }

    /// What one event tells: the last has its number, so that nothing is missed by whoever resumes there.
    pub(crate) fn numbered(updates: Vec<StreamResponse>, number: u64) -> impl Iterator<Item = Self> {
        let count = updates.len();
        let numbered = move |(nth, update): (usize, StreamResponse)| {
            Self::Event(Box::new(update), (nth + 1 == count).then_some(number))
        };
        updates.into_iter().enumerate().map(numbered)
    }
}

/// A task that is followed.
pub(crate) enum Follow {
    Run(Box<run_tasks::RunFeed>),
    Session(Box<session_tasks::SessionFeed>),
}

impl Follow {
    /// What comes next; `None` once the task waits or is over. A failure is neither: the task may go on.
    async fn next(&mut self) -> Result<Option<Update>, Failure> {
        match self {
            Self::Run(following) => following.next().await,
            Self::Session(following) => following.next().await,
        }
    }

    /// The task as far as it was followed.
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

    /// As the messages of a stream of gRPC; an error is the last.
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

    /// As the body of an answer; with the id of a call of JSON-RPC as its results.
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
        let (data, number) = match (self.follow.next().await, &self.id) {
            (Ok(None), _) => return Ok(None),
            (Ok(Some(Update::Alive)), _) => return Ok(Some(Bytes::from_static(KEEPALIVE.as_bytes()))),
            (Ok(Some(Update::Event(update, number))), Some(id)) => {
                (json!({"jsonrpc": "2.0", "id": id, "result": update}), number)
            }
            (Ok(Some(Update::Event(update, number))), None) => (json!(update), number),
            // A stream that just ended would say that the task has come to rest.
            (Err(failure), Some(id)) => {
                self.has_failed = true;
                (failure.rpc_body(id), None)
            }
            (Err(failure), None) => {
                self.has_failed = true;
                (failure.rest_body(), None)
            }
        };
        let id = number.map(|number| format!("id: {number}\n")).unwrap_or_default();
        Ok(Some(format!("{id}data: {data}\n\n").into()))
    }
}
