//! A room as the server serves it: its operations, its observer, its background work, and its shutdown. The server
//! has one list of rooms and knows only this interface.
//! Must not know: any particular room.

use async_trait::async_trait;
use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use plenary_edge::{Metrics, Operation, OperationDoc, Origin, RefusalForm, RegistryFault};
use plenary_hub::Observer;
use plenary_log::{Charge, Fault, StoredEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{EphemeralSource, Findable, Glancer, NewsSource, Teller};

/// An operation's id, and a body that it accepts.
pub type Example = (&'static str, fn() -> Value);

/// The static description of a room, available before the room is built.
#[derive(Debug)]
pub struct RoomDescription {
    /// Its name, under which its operations are listed. If several rooms share a name, the first gives the purpose.
    pub room: &'static str,
    /// Its purpose; empty if another room of the same name gives it.
    pub purpose: &'static str,
    /// Its operations.
    pub operations: Vec<OperationDoc>,
    /// The ids of those for agents of other networks.
    pub guests: &'static [&'static str],
}

impl RoomDescription {
    /// Describes the operations of a room, each with its example.
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
        Self { room, purpose, operations: operations.iter().map(described).collect(), guests: &[] }
    }

    /// The same room, with these operations for agents of other networks. Their own rules then decide.
    pub fn for_guests(mut self, ids: &'static [&'static str]) -> Self {
        let opened = |doc: OperationDoc| if ids.contains(&doc.id()) { doc.for_guests() } else { doc };
        self.operations = self.operations.into_iter().map(opened).collect();
        Self { guests: ids, ..self }
    }

    /// The same room, whose refusals before any operation have this form.
    pub fn refused_as(mut self, form: RefusalForm) -> Self {
        self.operations = self.operations.into_iter().map(|doc| doc.refused_as(form)).collect();
        self
    }

    /// A room without operations.
    pub const fn silent(room: &'static str) -> Self {
        Self { room, purpose: "", operations: Vec::new(), guests: &[] }
    }
}

/// What a room needs to build its routes.
#[derive(Debug, Clone, Copy)]
pub struct Mount<'a> {
    /// The registry that counts requests.
    pub metrics: &'a Metrics,
    /// The server's address, as clients reach it.
    pub origin: &'a Origin,
}

/// Given the events of a log in their order, it returns the owner whose storage quota each one counts towards, and its size;
/// `None` for an event that counts towards no quota or belongs to another room.
pub type Tally = Box<dyn FnMut(&StoredEvent) -> Result<Option<Charge>, Fault> + Send>;

/// A background task that ends by itself.
pub type Task = BoxFuture<'static, ()>;

/// A periodic task. A fault is logged, and the next run tries again.
pub struct PeriodicTask {
    /// The interval.
    pub every: Duration,
    /// Whether it runs only in processes that share a store.
    pub shared_only: bool,
    /// The log message for a fault.
    pub fault_text: &'static str,
    /// Does the work once.
    pub run: Box<dyn Fn() -> BoxFuture<'static, Result<(), Fault>> + Send + Sync>,
}

impl PeriodicTask {
    /// Work of `room` that every process repeats.
    pub fn new<R, F>(
        room: &R,
        every: Duration,
        fault_text: &'static str,
        run: impl Fn(R) -> F + Send + Sync + 'static,
    ) -> Self
    where
        R: Clone + Send + Sync + 'static,
        F: Future<Output = Result<(), Fault>> + Send + 'static,
    {
        let room = room.clone();
        Self { every, shared_only: false, fault_text, run: Box::new(move || Box::pin(run(room.clone()))) }
    }

    /// Restricts the task to processes that share a store.
    pub fn where_shared(self) -> Self {
        Self { shared_only: true, ..self }
    }
}

/// The parts of a [`ServedRoom`] that the room itself plays: `plays!(observer, news)`.
#[macro_export]
macro_rules! plays {
    ($($part:ident),+) => { $($crate::plays!(@ $part);)+ };
    (@ observer) => { $crate::plays!(@ observer, $crate::Observer); };
    (@ news) => { $crate::plays!(@ news, $crate::NewsSource); };
    (@ teller) => { $crate::plays!(@ teller, $crate::Teller); };
    (@ ephemeral) => { $crate::plays!(@ ephemeral, $crate::EphemeralSource); };
    (@ findable) => { $crate::plays!(@ findable, $crate::Findable); };
    (@ glancer) => { $crate::plays!(@ glancer, $crate::Glancer); };
    (@ $part:ident, $role:path) => {
        fn $part(&self) -> Option<std::sync::Arc<dyn $role>> {
            Some(std::sync::Arc::new(self.clone()))
        }
    };
}

/// A room that the server serves.
#[async_trait]
pub trait ServedRoom: Send + Sync + 'static {
    /// The static description of the room.
    fn about() -> RoomDescription
    where
        Self: Sized;

    /// Counts what owners store in the room's streams; `None` for a room without streams that count. Every room says so, as
    /// a room that is missing in a count would make right counters look wrong.
    fn tally() -> Option<Tally>
    where
        Self: Sized;

    /// The routes of the operations that [`ServedRoom::about`] lists.
    ///
    /// # Errors
    /// When the operations contradict each other.
    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault>;

    /// The observer of committed events. Observers are called in the order of the rooms.
    fn observer(&self) -> Option<Arc<dyn Observer>> {
        None
    }

    /// Its source of news for inboxes.
    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        None
    }

    /// Its source of events for `/watch`.
    fn teller(&self) -> Option<Arc<dyn Teller>> {
        None
    }

    /// Its source of ephemeral events, if it has any.
    fn ephemeral(&self) -> Option<Arc<dyn EphemeralSource>> {
        None
    }

    /// Its part in the full-text search.
    fn findable(&self) -> Option<Arc<dyn Findable>> {
        None
    }

    /// Its source of summary data about agents.
    fn glancer(&self) -> Option<Arc<dyn Glancer>> {
        None
    }

    /// Registers its metrics.
    fn register(&self, _metrics: &Metrics) {}

    /// A task that runs from the moment the dispatch of committed events starts.
    fn running(&self) -> Option<Task> {
        None
    }

    /// Completes work that a crash interrupted, before the server accepts requests.
    async fn resume(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// A task that runs while requests are served, until `stop`.
    fn serving(&self, _stop: CancellationToken) -> Option<Task> {
        None
    }

    /// Its periodic tasks, which run while requests are served.
    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        Vec::new()
    }

    /// Ends its live streams, and the requests that wait; no new ones begin.
    fn close(&self) {}

    /// Stops its running work while clients are still connected and receive the last events.
    async fn stop(&self) {}

    /// Its last writes, after serving has ended. The next start repairs what a failure leaves undone.
    async fn last_writes(&self) -> Result<(), Fault> {
        Ok(())
    }
}
