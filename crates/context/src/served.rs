//! Registers this room with the server, and reports its news for the inbox.
//! Must not know: the other rooms.

use std::time::Duration;

use axum::Router;
use plenary_edge::{Metrics, RegistryFault};
use plenary_engine::{recount_event, recount_in};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, FoundNews, Kind, Mount, News, NewsSource, PeriodicTask, Reference, RoomDescription,
    Senders, ServedRoom, StreamOfNews, Tally, Task, async_trait,
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

#[async_trait]
impl ServedRoom for Context {
    fn about() -> RoomDescription {
        let purpose = "Packages, facts, projects and what to begin with (Agentic Protocol).";
        RoomDescription::new("context", purpose, &operations(), EXAMPLES).for_guests(GUESTS)
    }

    fn tally() -> Option<Tally> {
        let (projects, packages) = (recount_event::<ProjectRoom>, recount_event::<PackageRoom>);
        let (facts, sessions, blobs) =
            (recount_event::<FactRoom>, recount_event::<SessionRoom>, recount_event::<BlobRoom>);
        Some(Box::new(move |event| recount_in(event, &[projects, packages, facts, sessions, blobs])))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.metrics)
    }

    plenary_room::plays!(observer, findable, teller, news);

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
        let probe = async |context: Context| context.probe_model().await;
        vec![PeriodicTask::new(self, PROBE_EVERY, "the model was not probed", probe)]
    }

    fn close(&self) {
        Context::close(self);
    }

    async fn last_writes(&self) -> Result<(), Fault> {
        self.close_search().await
    }
}

#[async_trait]
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

    async fn streams(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        self.awaiting_review_of(me).await
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
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
    }

    async fn news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        _max: usize,
    ) -> Result<StreamOfNews, Fault> {
        let asked = self.review_asked(me, stream).await?;
        let news = asked.map(|asked| News::at_event(Kind::ReviewRequested, &asked.event, asked.by));
        Ok(StreamOfNews { news: news.into_iter().collect(), read: after, ..StreamOfNews::default() })
    }

    async fn describe(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        at: Version,
    ) -> Result<Option<Description>, Fault> {
        let asked = self.review_asked(me, stream).await?.filter(|asked| asked.event.version == at);
        Ok(asked.map(|asked| {
            let (project_id, package_id) = (Some(asked.project_id), Some(asked.package_id));
            let reference = Reference { project_id, package_id, ..Reference::default() };
            Description { subject: asked.title, text: asked.text, reference }
        }))
    }

    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        _blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        self.is_review_open(me, news.stream, news.version).await
    }
}
