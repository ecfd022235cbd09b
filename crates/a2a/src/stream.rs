//! A live task as Server-Sent Events of either binding (sections 9.4.2, 11.7).
//! Must not know: the source of updates.

use a2a::{StreamResponse, Task};
use axum::response::Response;
use bytes::Bytes;
use plenary_log::Fault;
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Value, json};

use crate::{failure::Failure, run_tasks, session_tasks};

/// What comes of a task that is followed.
pub(crate) enum Update {
    /// An event for its client.
    Event(Box<StreamResponse>),
    /// No event, but the task goes on.
    Alive,
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
        let data = match (self.follow.next().await, &self.id) {
            (Ok(None), _) => return Ok(None),
            (Ok(Some(Update::Alive)), _) => return Ok(Some(Bytes::from_static(KEEPALIVE.as_bytes()))),
            (Ok(Some(Update::Event(update))), Some(id)) => {
                json!({"jsonrpc": "2.0", "id": id, "result": update})
            }
            (Ok(Some(Update::Event(update))), None) => json!(update),
            // A stream that just ended would say that the task has come to rest.
            (Err(failure), Some(id)) => {
                self.has_failed = true;
                failure.rpc_body(id)
            }
            (Err(failure), None) => {
                self.has_failed = true;
                failure.rest_body()
            }
        };
        Ok(Some(format!("data: {data}\n\n").into()))
    }
}
