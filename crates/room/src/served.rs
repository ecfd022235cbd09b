//! A room as the server serves it: its operations, its observer, its background work, and its shutdown. The server
//! has one list of rooms and knows only this interface.
//! Must not know: any one room.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::{BoxFuture, ready};
use plenary_edge::{Metrics, Operation, OperationDoc, Origin, RegistryFault};
use plenary_hub::Observer;
use plenary_log::{Charge, Fault, StoredEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{EphemeralSource, Findable, Glancer, NewsSource, Teller};

/// An operation's id, and a body that it takes.
pub type Example = (&'static str, fn() -> Value);

/// What is said of a room before it is built.
#[derive(Debug)]
pub struct RoomDescription {
    /// Its name, under which its operations are listed; of several rooms with one name the first says what it is for.
    pub room: &'static str,
    /// What it is for; empty where another room of the name says it.
    pub purpose: &'static str,
    /// What it answers.
    pub operations: Vec<OperationDoc>,
}

impl RoomDescription {
    /// The operations of a room, each with its example.
    #[must_use]
    pub fn new<S: Clone + Send + Sync + 'static>(
        room: &'static str,
        purpose: &'static str,
        operations: &[Operation<S>],
        examples: &[Example],
    ) -> Self {
        let described = |operation: &Operation<S>| {
            let doc = operation.doc().clone().room(room);
            let example = examples.iter().find(|(id, _)| *id == doc.id());
            match example {
                Some((_, body)) => doc.example(*body),
                None => doc,
            }
        };
        Self { room, purpose, operations: operations.iter().map(described).collect() }
    }

    /// A room that answers nothing of its own.
    #[must_use]
    pub const fn silent(room: &'static str) -> Self {
        Self { room, purpose: "", operations: Vec::new() }
    }
}

/// What routes are made with.
#[derive(Debug, Clone, Copy)]
pub struct Mount<'a> {
    /// Where requests are counted.
    pub metrics: &'a Metrics,
    /// How clients reach the server.
    pub origin: &'a Origin,
}

/// Something that goes on beside requests until it ends by itself.
pub type Task = BoxFuture<'static, ()>;

/// Something that is done again and again. A fault is logged, and the next turn tries again.
pub struct Turn {
    /// How often.
    pub every: Duration,
    /// Whether it is for processes that share a store only.
    pub shared_only: bool,
    /// What the log says of a fault.
    pub fault_text: &'static str,
    /// Does it once.
    pub run: Box<dyn Fn() -> BoxFuture<'static, Result<(), Fault>> + Send + Sync>,
}

impl Turn {
    /// A turn of every process.
    pub fn new<F>(
        every: Duration,
        fault_text: &'static str,
        run: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Fault>> + Send + 'static,
    {
        Self { every, shared_only: false, fault_text, run: Box::new(move || Box::pin(run())) }
    }

    /// The same, for processes that share a store only.
    #[must_use]
    pub fn where_shared(self) -> Self {
        Self { shared_only: true, ..self }
    }
}

/// A room that is served.
pub trait ServedRoom: Send + Sync + 'static {
    /// What is said of it before it is built.
    fn about() -> RoomDescription
    where
        Self: Sized;

    /// Its routes: those of the operations that [`ServedRoom::about`] lists.
    ///
    /// # Errors
    /// When the operations contradict each other.
    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault>;

    /// The observers of committed events. They are called in the order of the rooms.
    fn observer(&self) -> Option<Arc<dyn Observer>> {
        None
    }

    /// What it brings to inboxes.
    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        None
    }

    /// What it tells onlookers of its events.
    fn teller(&self) -> Option<Arc<dyn Teller>> {
        None
    }

    /// Its ephemeral events, if it has some.
    fn ephemeral(&self) -> Option<Arc<dyn EphemeralSource>> {
        None
    }

    /// What is found in it by its words.
    fn findable(&self) -> Option<Arc<dyn Findable>> {
        None
    }

    /// What it knows of agents at a glance.
    fn glancer(&self) -> Option<Arc<dyn Glancer>> {
        None
    }

    /// Whose storage a stored event counts for, and how much; `None` for events that count for nobody or are not its own.
    /// For a store from before that was counted.
    fn recount<'a>(&'a self, _event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Ok(None)))
    }

    /// Registers what it counts.
    fn register(&self, _metrics: &Metrics) {}

    /// What goes on from the moment that committed events are handed out.
    fn running(&self) -> Option<Task> {
        None
    }

    /// Finishes what a crash has left, before anything is served.
    fn resume(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(ready(Ok(())))
    }

    /// What goes on while requests are served, until `stop`.
    fn serving(&self, _stop: CancellationToken) -> Option<Task> {
        None
    }

    /// What is done again and again while requests are served.
    fn turns(&self) -> Vec<Turn> {
        Vec::new()
    }

    /// Ends its live streams and waits; no new one begins.
    fn close(&self) {}

    /// Ends what goes on in it, while connections still hear of it.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Its last writes, after serving has ended. The next start makes up for a failure.
    fn last_writes(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(ready(Ok(())))
    }
}
