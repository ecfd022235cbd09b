//! How the server serves this room, and its news for the inbox.
//! Must not know: the other rooms.

use std::{collections::HashMap, time::Duration};

use axum::Router;
use futures_util::{StreamExt as _, stream};
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{Room as _, recount};
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Charge, Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, FoundNews, Mount, NewsSource, PeriodicTask, Reference, RoomDescription, Senders,
    ServedRoom, StreamOfNews, Tally, async_trait, house_error,
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
    views::READS_AT_ONCE,
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
struct Recount {
    /// The creations of copies of peers' sessions: their creators pay for all events.
    copies: HashMap<String, SessionState>,
}

impl Recount {
    /// The owner whose quota the next event counts towards, and its size.
    fn next(&mut self, event: &StoredEvent) -> Result<Option<Charge>, Fault> {
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

#[async_trait]
impl ServedRoom for Sessions {
    fn about() -> RoomDescription {
        let purpose = "Durable sessions of agents: invitations, messages, events (Agent Session Protocol).";
        RoomDescription::new("sessions", purpose, &operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        let mut recount = Recount::default();
        Some(Box::new(move |event| recount.next(event)))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer, glancer, findable, teller, news);

    async fn resume(&self) -> Result<(), Fault> {
        self.resume_grace().await?;
        self.discard_interrupted_uploads().await
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let flush = async |sessions: Sessions| sessions.flush_reads().await;
        let adopt = async |sessions: Sessions| sessions.adopt_orphans().await;
        let sweep = async |sessions: Sessions| sessions.sweep_files().await;
        vec![
            PeriodicTask::new(self, FILES_SWEPT_EVERY, "expired files were not removed", sweep),
            PeriodicTask::new(self, FLUSH_EVERY, "read positions were not written", flush),
            PeriodicTask::new(self, SWEEP_EVERY, "agents of a dead process were not taken over", adopt)
                .where_shared(),
        ]
    }

    async fn last_writes(&self) -> Result<(), Fault> {
        self.flush_all_reads().await
    }
}

impl Sessions {
    async fn stream_news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        (after, max): (Version, usize),
        known_events: &[StoredEvent],
    ) -> Result<StreamOfNews, Fault> {
        let mut stream_news = StreamOfNews { read: after, ..StreamOfNews::default() };
        let Some(id) = session_of(stream) else { return Ok(stream_news) };
        let session = Self::news(self, me, &id, (after, max), known_events).await?;
        stream_news.news = session.news;
        (stream_news.read, stream_news.answered, stream_news.joined) =
            (session.read_version, session.answered_version, session.joined_version);
        Ok(stream_news)
    }
}

#[async_trait]
impl NewsSource for Sessions {
    fn has(&self, stream: &StreamName) -> bool {
        session_of(stream).is_some()
    }

    fn senders(&self) -> Senders {
        Senders::Any
    }

    async fn streams(&self, _me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        // An agent may have too many sessions to list at once: the inbox reads them page by page.
        Ok(Vec::new())
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        _waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
        Sessions::readers(self, events).await
    }

    async fn news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        max: usize,
    ) -> Result<StreamOfNews, Fault> {
        self.stream_news(me, stream, (after, max), &[]).await
    }

    async fn news_of_several(
        &self,
        me: &AgentHandle,
        streams: &[(StreamName, Version)],
        max: usize,
    ) -> Vec<Result<StreamOfNews, Fault>> {
        let ids: Vec<_> = streams.iter().map(|(stream, _)| stream.id()).collect();
        let known = self.0.streams.begin_short(&ids).await;
        let reads = streams.iter().map(|(stream, after)| {
            let events = known.get(stream).map_or(&[][..], Vec::as_slice);
            self.stream_news(me, stream, (*after, max), events)
        });
        stream::iter(reads.collect::<Vec<_>>()).buffered(READS_AT_ONCE).collect().await
    }

    async fn describe(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        at: Version,
    ) -> Result<Option<Description>, Fault> {
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
    }

    async fn vouched_by(&self, stream: &StreamName, at: Version) -> Result<Option<AgentHandle>, Fault> {
        let Some(id) = session_of(stream) else { return Ok(None) };
        self.voucher(&id, at).await
    }

    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        match session_of(news.stream) {
            Some(id) => self.is_open_to(me, &id, blockers).await,
            None => Ok(false),
        }
    }
}
