//! Registers this room with the server, and reports its news for the inbox.
//! Must not know: the other rooms.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::{BoxFuture, ready};
use plenary_edge::{Metrics, RegistryFault};
use plenary_engine::{Room, recount};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Charge, Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, Findable, Kind, Mount, News, NewsSource, PeriodicTask, Reference, RoomDescription,
    Senders, ServedRoom, StreamOfNews, Task, Teller,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Context,
    blob::room::BlobRoom,
    fact::room::FactRoom,
    news::{asks_for_review, is_package, is_project},
    operations,
    package::room::PackageRoom,
    project::room::ProjectRoom,
    routes,
    session::room::SessionRoom,
};

/// How often a failed model is checked.
const PROBE_EVERY: Duration = Duration::from_secs(2);

/// An example body for each operation that has one.
const EXAMPLES: &[Example] = &[
    ("context.create_project", || json!({"project_id": "parser", "name": "The parser"})),
    ("context.edit_project", || json!({"description": "Reads what people write."})),
    ("context.share", || json!({"role": "reader"})),
    ("context.deposit", package),
    ("context.flag", || json!({"review_type": "human", "note": "Please look at the grammar."})),
    ("context.review", || json!({"status": "complete", "note": "Good."})),
    (
        "context.assert_fact",
        || json!({"subject": "parser", "predicate": "language", "value": "Rust", "confidence": 1.0}),
    ),
    ("context.start_session", || json!({"actor_type": "agent"})),
    ("context.end_session", || json!({"ended_at": "2026-01-02T03:04:05Z"})),
    ("context.put_blob", || json!("the content itself")),
    ("context.import", || json!("{\"record\":\"project\",\"data\":{\"project_id\":\"parser\"}}\n")),
];

fn package() -> Value {
    json!({
        "package_id": "pkg_0123456789abcdef0123456789abcdef",
        "project_id": "parser",
        "relay_version": "0.1",
        "title": "Comments are read",
        "status": "complete",
        "package_type": "milestone",
        "review_type": "none",
        "created_at": "2026-01-02T03:04:05Z",
        "created_by": {"id": "@nick.laptop", "type": "agent"},
        "content_md": "The grammar has comments now.",
    })
}

impl Context {
    /// The owner whose quota a stored event of this room counts towards, and its size.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        fn of<R: Room>(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
            recount::<R>(&R::State::default(), event)
        }
        match event.stream.category() {
            ProjectRoom::CATEGORY => of::<ProjectRoom>(event),
            PackageRoom::CATEGORY => of::<PackageRoom>(event),
            FactRoom::CATEGORY => of::<FactRoom>(event),
            SessionRoom::CATEGORY => of::<SessionRoom>(event),
            BlobRoom::CATEGORY => of::<BlobRoom>(event),
            _ => Ok(None),
        }
    }
}

/// The operations for agents of other networks, on a project that is shared with them.
const GUESTS: &[&str] = &[
    "context.project",
    "context.members",
    "context.pull",
    "context.deposit",
    "context.get",
    "context.reviews",
    "context.awaiting_review",
    "context.flag",
    "context.review",
    "context.facts",
    "context.assert_fact",
    "context.invalidate_fact",
    "context.orient",
    "context.orchestrate",
    "context.start_session",
    "context.sessions",
    "context.session",
    "context.end_session",
    "context.events",
    "context.export",
    "context.get_blob",
];

impl ServedRoom for Context {
    fn about() -> RoomDescription {
        let purpose = "Packages, facts, projects and what to begin with (Agentic Protocol).";
        RoomDescription::new("context", purpose, &operations(), EXAMPLES).for_guests(GUESTS)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.metrics)
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn findable(&self) -> Option<Arc<dyn Findable>> {
        Some(Arc::new(self.clone()))
    }

    fn teller(&self) -> Option<Arc<dyn Teller>> {
        Some(Arc::new(self.clone()))
    }

    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }

    fn register(&self, metrics: &Metrics) {
        let lag = "Events not yet indexed for search";
        metrics.register("search_lag_events", lag, self.search_lag().clone());
        if let Some(semantic) = self.semantic_lag() {
            let lag = "Events not yet indexed for search by meaning";
            metrics.register("search_semantic_lag_events", lag, semantic.clone());
        }
    }

    fn serving(&self, _stop: CancellationToken) -> Option<Task> {
        // Ends when the indexes are closed, after the last write.
        let context = self.clone();
        Some(Box::pin(async move { context.index().await }))
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let context = self.clone();
        let probe = move || {
            let context = context.clone();
            async move { context.probe_model().await }
        };
        vec![PeriodicTask::new(PROBE_EVERY, "the model was not probed", probe)]
    }

    fn close(&self) {
        Context::close(self);
    }

    fn last_writes(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.close_search())
    }
}

impl NewsSource for Context {
    fn has(&self, stream: &StreamName) -> bool {
        is_package(stream)
    }

    fn decides_readers(&self, stream: &StreamName) -> bool {
        // The set of reviewers may have changed.
        is_project(stream)
    }

    fn senders(&self) -> Senders {
        Senders::NotBlocked
    }

    fn streams<'a>(&'a self, me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>> {
        Box::pin(self.awaiting_review_of(me))
    }

    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>> {
        Box::pin(async move {
            let mut readers = Vec::new();
            for event in events {
                if asks_for_review(event)? {
                    for handle in waiting() {
                        if self.may_review(&handle, &event.stream).await? {
                            readers.push(handle);
                        }
                    }
                    break;
                }
            }
            Ok(readers)
        })
    }

    fn news<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        after: Version,
        _max: usize,
    ) -> BoxFuture<'a, Result<StreamOfNews, Fault>> {
        Box::pin(async move {
            let asked = self.review_asked(me, stream).await?;
            let news = asked.map(|asked| News::at_event(Kind::ReviewRequested, &asked.event, asked.by));
            Ok(StreamOfNews { news: news.into_iter().collect(), read: after, ..StreamOfNews::default() })
        })
    }

    fn describe<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        at: Version,
    ) -> BoxFuture<'a, Result<Option<Description>, Fault>> {
        Box::pin(async move {
            let asked = self.review_asked(me, stream).await?.filter(|asked| asked.event.version == at);
            Ok(asked.map(|asked| {
                let (project_id, package_id) = (Some(asked.project_id), Some(asked.package_id));
                let reference = Reference { project_id, package_id, ..Reference::default() };
                Description { subject: asked.title, text: asked.text, reference }
            }))
        })
    }
}
