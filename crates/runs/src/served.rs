//! How the server mounts this room, and the news that it reports for the inbox.
//! Must not know: the other rooms.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::{Metrics, RegistryFault};
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Charge, Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, Findable, Glancer, Kind, Mount, News, NewsSource, PeriodicTask, Reference,
    RoomDescription, Senders, ServedRoom, StreamOfNews, Task, Teller,
};
use serde_json::json;

use crate::{
    Runs,
    configuration::{Configuration, ConfigurationRoom},
    enlistment::{EnlistedRoom, Enlistment},
    news::is_thread,
    operations, refused_response,
    room::ThreadRoom,
    routes,
    switch::{Switch, SwitchRoom},
};

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

impl ServedRoom for Runs {
    fn about() -> RoomDescription {
        let purpose = "Agents of the server, their threads, runs and events (Agent Protocol).";
        RoomDescription::new("runs", purpose, &operations(), EXAMPLES)
            .for_guests(GUESTS)
            .refused_as(refused_response)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn glancer(&self) -> Option<Arc<dyn Glancer>> {
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
        Box::pin(async move {
            match event.stream.category() {
                ThreadRoom::CATEGORY => {
                    let (state, _) = self.0.threads.state(event.stream.id()).await?;
                    recount::<ThreadRoom>(&state, event)
                }
                ConfigurationRoom::CATEGORY => recount::<ConfigurationRoom>(&Configuration::default(), event),
                EnlistedRoom::CATEGORY => recount::<EnlistedRoom>(&Enlistment::default(), event),
                SwitchRoom::CATEGORY => recount::<SwitchRoom>(&Switch::default(), event),
                _ => Ok(None),
            }
        })
    }

    fn register(&self, metrics: &Metrics) {
        Runs::register(self, metrics);
    }

    fn running(&self) -> Option<Task> {
        Some(Box::pin(Runs::running(self)))
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(Runs::resume(self))
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let runs = self.clone();
        let take_over = move || {
            let runs = runs.clone();
            async move { runs.take_over().await }
        };
        vec![
            PeriodicTask::new(SWEEP_EVERY, "runs of a dead process were not ended", take_over).where_shared(),
        ]
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(Runs::stop(self))
    }
}

impl NewsSource for Runs {
    fn has(&self, stream: &StreamName) -> bool {
        is_thread(stream)
    }

    fn senders(&self) -> Senders {
        Senders::NotBlocked
    }

    fn streams<'a>(&'a self, me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>> {
        Box::pin(self.threads_of(me))
    }

    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        _waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>> {
        Box::pin(async move {
            let Some(first) = events.first() else { return Ok(Vec::new()) };
            Ok(self.waits_for(&first.stream).await?.map(|(agent, _)| agent).into_iter().collect())
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
            let waiting = match self.waits_for(stream).await? {
                Some((_, since)) => self.waiting(me, stream, since).await?,
                None => None,
            };
            let news = waiting.map(|waiting| News::at_event(Kind::RunWaiting, &waiting.event, None));
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
            Ok(self.waiting(me, stream, at).await?.map(|waiting| {
                let reference = Reference {
                    agent: Some(waiting.agent),
                    run_id: Some(waiting.run.to_string()),
                    thread_id: Some(waiting.thread.to_string()),
                    ..Reference::default()
                };
                Description { subject: waiting.title.unwrap_or_default(), text: waiting.text, reference }
            }))
        })
    }
}
