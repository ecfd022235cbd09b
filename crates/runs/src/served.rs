//! How the server mounts this room, and the news that it reports for the inbox.
//! Must not know: the other rooms.

use std::time::Duration;

use axum::Router;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::{Metrics, RegistryFault};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, FoundNews, Kind, Mount, News, NewsSource, PeriodicTask, Reference, RoomDescription,
    Senders, ServedRoom, StreamOfNews, Tally, Task, async_trait,
};
use serde_json::json;

use crate::{Runs, inside::Recount, news::is_thread, operations, refused_response, routes};

/// How often the server looks for runs of dead processes and ends them.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// An example body for each operation that has one.
const EXAMPLES: &[Example] = &[
    ("run.configure", || json!({"args": {"tone": "short"}})),
    ("run.run", || json!({"input": "What changed since yesterday?"})),
    ("run.stream", || json!({"input": "What changed since yesterday?"})),
    ("agentic.login", || json!({})),
    ("agentic.process", || json!({"prompt": "What changed since yesterday?"})),
    (
        "agentic.resume",
        || json!({"continue_result": {"name": "Nick"}, "thread_id": "018f2b0c-0000-7000-8000-000000000001"}),
    ),
    ("agentic.reset", || json!({})),
];

/// Operations that handle the idempotency key themselves.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: refused_response,
    apart: &[
        // Their bodies may also contain a key.
        (Method::POST, "/agent/{name}/run"),
        (Method::POST, "/agent/{name}/stream_request"),
        (Method::POST, "/agent/{name}/process"),
        // The response contains a token.
        (Method::POST, "/login"),
    ],
    secret: &[],
};

/// The operations for agents of other networks: to run an agent that lists them, and to read their own runs.
const GUESTS: &[&str] = &[
    "run.discovery",
    "run.describe",
    "run.run",
    "run.stream",
    "run.events",
    "run.events_of",
    "run.show",
    "run.threads",
    "agentic.process",
    "agentic.resume",
];

#[async_trait]
impl ServedRoom for Runs {
    fn about() -> RoomDescription {
        let purpose = "Agents of the server, their threads, runs and events (Agent Protocol).";
        RoomDescription::new("runs", purpose, &operations(), EXAMPLES)
            .for_guests(GUESTS)
            .refused_as(refused_response)
    }

    fn tally() -> Option<Tally> {
        let mut recount = Recount::default();
        Some(Box::new(move |event| recount.next(event)))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer, glancer, findable, teller, news);

    fn register(&self, metrics: &Metrics) {
        Runs::register(self, metrics);
    }

    fn running(&self) -> Option<Task> {
        Some(Box::pin(Runs::running(self)))
    }

    async fn resume(&self) -> Result<(), Fault> {
        Runs::resume(self).await
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let take_over = async |runs: Runs| runs.take_over().await;
        let task = PeriodicTask::new(self, SWEEP_EVERY, "runs of a dead process were not ended", take_over);
        vec![task.where_shared()]
    }

    async fn stop(&self) {
        Runs::stop(self).await
    }
}

#[async_trait]
impl NewsSource for Runs {
    fn has(&self, stream: &StreamName) -> bool {
        is_thread(stream)
    }

    fn senders(&self) -> Senders {
        Senders::NotBlocked
    }

    async fn streams(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        self.threads_of(me).await
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        _waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
        let Some(first) = events.first() else { return Ok(Vec::new()) };
        Ok(self.waits_for(&first.stream).await?.map(|(agent, _)| agent).into_iter().collect())
    }

    async fn news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        _max: usize,
    ) -> Result<StreamOfNews, Fault> {
        let waiting = match self.waits_for(stream).await? {
            Some((_, since)) => self.waiting(me, stream, since).await?,
            None => None,
        };
        let news = waiting.map(|waiting| News::at_event(Kind::RunWaiting, &waiting.event, None));
        Ok(StreamOfNews { news: news.into_iter().collect(), read: after, ..StreamOfNews::default() })
    }

    async fn describe(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        at: Version,
    ) -> Result<Option<Description>, Fault> {
        Ok(self.waiting(me, stream, at).await?.map(|waiting| {
            let reference = Reference {
                agent: Some(waiting.agent),
                run_id: Some(waiting.run.to_string()),
                thread_id: Some(waiting.thread.to_string()),
                ..Reference::default()
            };
            Description { subject: waiting.title.unwrap_or_default(), text: waiting.text, reference }
        }))
    }

    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        _blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        self.is_waiting(me, news.stream, news.version).await
    }
}
