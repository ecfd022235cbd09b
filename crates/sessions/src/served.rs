//! How the server serves this room, and its news for the inbox.
//! Must not know: the other rooms.

use std::{collections::HashMap, future::ready, sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Charge, Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, Findable, Glancer, Mount, NewsSource, PeriodicTask, Reference, RoomDescription,
    Senders, ServedRoom, StreamOfNews, Teller, house_error,
};
use serde_json::json;

use crate::{
    Sessions,
    event::sequence,
    files::{FileRoom, state::FileState},
    news::session_of,
    operations,
    room::SessionRoom,
    routes,
    state::SessionState,
};

/// How often moved read positions are stored.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How often agents of dead processes are taken over.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often expired files are removed.
const FILES_SWEPT_EVERY: Duration = Duration::from_secs(60);

/// An example body for each operation with a body.
const EXAMPLES: &[Example] = &[
    ("session.create", || {
        json!({
            "invite": ["@acme.helper"],
            "topic": "The parser",
            "initial_message": {"content": "Does it take comments?"},
        })
    }),
    ("session.invite", || json!({"invite": ["@maria.phone"]})),
    ("session.send", || json!({"content": "It does now.", "idempotency_key": "answer-1"})),
    ("file.upload", || json!({"file": "the content itself"})),
    ("session.reopen", || json!({"invite": ["@acme.helper"]})),
];

/// The operations that handle the idempotency key themselves.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // These also accept a key in the body.
        (Method::POST, "/sessions"),
        (Method::POST, "/sessions/{id}/messages"),
        // The request is too large for the common lookup by key.
        (Method::POST, "/files"),
    ],
    secret: &[],
};

/// Attributes the events of sessions and files, in log order, to the owners whose quota they use.
#[derive(Debug, Default)]
pub struct Recount {
    /// The creations of copies of peers' sessions: their creators pay for all events.
    copies: HashMap<String, SessionState>,
}

impl Recount {
    /// The owner whose quota the next event counts towards, and its size.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn next(&mut self, event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        match event.stream.category() {
            FileRoom::CATEGORY => return recount::<FileRoom>(&FileState::default(), event),
            SessionRoom::CATEGORY => {}
            _ => return Ok(None),
        }
        if event.version == Version::ZERO.next() {
            let mut state = SessionState::default();
            state.evolve(event.version, event.at, &SessionRoom::decode(event)?);
            if state.host().is_some() {
                self.copies.insert(event.stream.id().to_owned(), state);
            }
        }
        match self.copies.get(event.stream.id()) {
            Some(copy) => recount::<SessionRoom>(copy, event),
            None => recount::<SessionRoom>(&SessionState::default(), event),
        }
    }
}

impl ServedRoom for Sessions {
    fn about() -> RoomDescription {
        let purpose = "Durable sessions of agents: invitations, messages, events (Agent Session Protocol).";
        RoomDescription::new("sessions", purpose, &operations(), EXAMPLES)
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
        // A store from before use was counted has no copies of peers' sessions.
        Box::pin(ready(Recount::default().next(event)))
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move {
            self.resume_grace().await?;
            self.discard_interrupted_uploads().await
        })
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let (flushing, adopting, sweeping) = (self.clone(), self.clone(), self.clone());
        let flush = move || {
            let sessions = flushing.clone();
            async move { sessions.flush_reads().await }
        };
        let adopt = move || {
            let sessions = adopting.clone();
            async move { sessions.adopt_orphans().await }
        };
        let sweep = move || {
            let sessions = sweeping.clone();
            async move { sessions.sweep_files().await }
        };
        vec![
            PeriodicTask::new(FILES_SWEPT_EVERY, "expired files were not removed", sweep),
            PeriodicTask::new(FLUSH_EVERY, "read positions were not written", flush),
            PeriodicTask::new(SWEEP_EVERY, "agents of a dead process were not taken over", adopt)
                .where_shared(),
        ]
    }

    fn last_writes(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.flush_all_reads())
    }
}

impl NewsSource for Sessions {
    fn has(&self, stream: &StreamName) -> bool {
        session_of(stream).is_some()
    }

    fn senders(&self) -> Senders {
        Senders::Any
    }

    fn streams<'a>(&'a self, _me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>> {
        // An agent may have too many sessions to list at once: the inbox reads them page by page.
        Box::pin(ready(Ok(Vec::new())))
    }

    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        _waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>> {
        Box::pin(Sessions::readers(self, events))
    }

    fn news<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> BoxFuture<'a, Result<StreamOfNews, Fault>> {
        Box::pin(async move {
            let mut stream_news = StreamOfNews { read: after, ..StreamOfNews::default() };
            let Some(id) = session_of(stream) else { return Ok(stream_news) };
            let session = Sessions::news(self, me, &id, after, max).await?;
            stream_news.news = session.news;
            (stream_news.read, stream_news.answered, stream_news.joined) =
                (session.read_version, session.answered_version, session.joined_version);
            Ok(stream_news)
        })
    }

    fn describe<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        at: Version,
    ) -> BoxFuture<'a, Result<Option<Description>, Fault>> {
        Box::pin(async move {
            let Some(session) = session_of(stream) else { return Ok(None) };
            Ok(self.text_of(me, &session, at).await?.map(|text| Description {
                subject: text.topic.unwrap_or_default(),
                text: text.text,
                reference: Reference {
                    session_id: Some(session),
                    sequence: Some(sequence(at)),
                    ..Reference::default()
                },
            }))
        })
    }

    fn vouched_by<'a>(
        &'a self,
        stream: &'a StreamName,
        at: Version,
    ) -> BoxFuture<'a, Result<Option<AgentHandle>, Fault>> {
        Box::pin(async move {
            let Some(id) = session_of(stream) else { return Ok(None) };
            self.voucher(&id, at).await
        })
    }

    fn is_open<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        _at: Version,
        blockers: &'a [AgentHandle],
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(async move {
            match session_of(stream) {
                Some(id) => self.is_open_to(me, &id, blockers).await,
                None => Ok(false),
            }
        })
    }
}
