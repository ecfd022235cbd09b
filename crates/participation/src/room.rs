//! The agents of a server in sessions: their identities, their settings, and their messages.
//! Must not know: when they send.

use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use plenary_accounts::{AccountEvent, Accounts, HostedIdentity};
use plenary_engine::{ExecuteError, KeyUse};
use plenary_hub::{Cursors, Observer, Recent};
use plenary_kernel::{AgentHandle, SessionId, json};
use plenary_log::{Fault, Log, StoredEvent, StreamName};
use plenary_room::async_trait;
use plenary_runs::{Agent, Runs, id::ThreadId, limits::RUNS_PER_THREAD_MAX, state::ThreadState};
use plenary_sessions::{
    Message, Sessions,
    event::{Origin, SessionEvent},
    state::{Phase, SessionState, Standing},
};
use quick_cache::sync::Cache;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::{
    decide::Answers,
    limits::{HOPS_MAX, MESSAGES_PER_MINUTE_MAX, RECENT_BYTES_MAX, SESSIONS_KNOWN_MAX},
    rates::Rates,
};

/// The settings of an agent's participation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Which messages it answers.
    pub answers: Answers,
    /// How many agents of this server may have passed on a message that it answers.
    pub hops_max: u32,
    /// How many messages of one sender it answers per minute and session.
    pub messages_per_minute_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            answers: Answers::default(),
            hops_max: HOPS_MAX,
            messages_per_minute_max: MESSAGES_PER_MINUTE_MAX,
        }
    }
}

/// The events of a session that concern the agents that take part in it.
const SEAT_EVENTS: [&str; 3] = ["MessageSent", "SessionEnded", "AgentLeft"];
/// With more agents, the states of sessions tell who takes part, instead of an index read for each agent.
const AGENTS_LOOKED_UP_MAX: usize = 16;

/// The agents of a server in its sessions. Cheap to clone.
#[derive(Clone)]
pub struct Participation(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) log: Log,
    pub(crate) accounts: Accounts,
    pub(crate) sessions: Sessions,
    pub(crate) runs: Runs,
    pub(crate) cursors: Arc<Cursors>,
    settings: HashMap<AgentHandle, Settings>,
    /// The settings of agents without settings of their own.
    others: Settings,
    recent: Mutex<Recent>,
    /// Signals an event that concerns an agent.
    pub(crate) news: Notify,
    pub(crate) rates: Rates,
    /// Whether an agent of this server takes or took part in a session, by stream.
    seats: Cache<StreamName, bool>,
}

/// The thread that is bound to an agent in a session.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) thread: ThreadId,
    pub(crate) part: u32,
    pub(crate) state: Arc<ThreadState>,
}

/// The id of an agent's thread in a session; after a full thread comes the next part.
pub(crate) fn thread_of(agent: &AgentHandle, session: &SessionId, part: u32) -> ThreadId {
    ThreadId::bound_to(&format!("{agent}/{session}/{part}"))
}

impl Participation {
    /// The agents of these runs in these sessions, with settings by handle, and default settings for the others.
    pub fn new(
        log: Log,
        accounts: Accounts,
        sessions: Sessions,
        runs: Runs,
        cursors: Arc<Cursors>,
        (settings, others): (HashMap<AgentHandle, Settings>, Settings),
    ) -> Self {
        Self(Arc::new(Inner {
            log,
            accounts,
            sessions,
            runs,
            cursors,
            settings,
            others,
            recent: Mutex::new(Recent::new(RECENT_BYTES_MAX)),
            news: Notify::new(),
            rates: Rates::default(),
            seats: Cache::new(SESSIONS_KNOWN_MAX),
        }))
    }

    /// The recently committed events that concern an agent.
    pub(crate) fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.recent.lock()
    }

    pub(crate) fn settings(&self, agent: &AgentHandle) -> Settings {
        self.0.settings.get(agent).copied().unwrap_or(self.0.others)
    }

    /// The agent of a handle, if this server runs it.
    pub(crate) fn agent(&self, handle: &AgentHandle) -> Option<Arc<Agent>> {
        self.0.runs.agents().of(handle)
    }

    /// The agents of this server that are joined in a session.
    pub(crate) fn members<'a>(&'a self, state: &'a SessionState) -> impl Iterator<Item = Arc<Agent>> + 'a {
        state.standing(Standing::Joined).filter_map(|handle| self.agent(handle))
    }

    /// The thread for an agent's next request in a session: the first that is not full.
    pub(crate) async fn seat(&self, agent: &Agent, session: &SessionId) -> Result<Seat, Fault> {
        let mut part = 0;
        loop {
            let thread = thread_of(&agent.handle, session, part);
            let state = self.0.runs.thread(thread).await?;
            if state.runs.len() < RUNS_PER_THREAD_MAX {
                return Ok(Seat { thread, part, state });
            }
            part += 1;
        }
    }

    /// The idempotency key of a command for an agent in a session; keys are unique per agent, session and kind.
    pub(crate) fn key(agent: &AgentHandle, session: &SessionId, kind: &str, key: &str) -> KeyUse {
        let scope = format!("participation/{kind}/{session}/{agent}");
        let digest = json::digest(format!("{scope}/{key}").as_bytes());
        KeyUse { scope, key: key.to_owned(), digest }
    }

    /// Sends a message in a session, once per key. A rejection is logged, not returned as a fault.
    pub(crate) async fn say(
        &self,
        acting: &HostedIdentity,
        session: &SessionId,
        message: &Message,
        key: &str,
    ) -> Result<(), Fault> {
        let key = Self::key(acting.handle(), session, "says", key);
        match self.0.sessions.send_message(session, acting, message, &key).await {
            Ok(_) | Err(ExecuteError::KeyReused) => Ok(()),
            Err(ExecuteError::Rejected(rejection)) => {
                tracing::debug!(agent = %acting.handle(), %session, ?rejection, "an agent may no longer speak in a session");
                Ok(())
            }
            Err(ExecuteError::OverQuota(exceeded)) => {
                let agent = acting.handle();
                tracing::warn!(%agent, %session, ?exceeded, "an agent's message was not stored: the owner's quota is used up");
                Ok(())
            }
            Err(ExecuteError::Fault(fault)) => Err(fault),
        }
    }

    /// Sends a notice; no agent of this server answers notices.
    pub(crate) async fn notify(
        &self,
        acting: &HostedIdentity,
        session: &SessionId,
        text: &str,
        mut metadata: Map<String, Value>,
        key: &str,
    ) -> Result<(), Fault> {
        metadata.insert("notice".into(), true.into());
        let origin = Origin { hops: acting.hops().saturating_add(1), notice: true };
        let message = Message { content: text.into(), metadata, origin, trace: None };
        self.say(acting, session, &message, key).await
    }

    /// Whether an event may concern an agent of this server; cheap for events that do not.
    pub(crate) async fn concerns(&self, event: &StoredEvent) -> bool {
        match event.stream.category() {
            Sessions::CATEGORY => match &*event.kind {
                "AgentInvited" | "AgentJoined" => self.invites(event),
                kind if SEAT_EVENTS.contains(&kind) => self.has_seat(&event.stream).await,
                _ => false,
            },
            Runs::CATEGORY => {
                matches!(&*event.kind, "RunCompleted" | "QueuedRunCanceled" | "EventEmitted")
                    && event.stream.id().parse().is_ok_and(ThreadId::is_bound)
            }
            Runs::SWITCHES => &*event.kind == "AgentStarted",
            Runs::ENLISTED if &*event.kind == Runs::ENLISTED_KIND => {
                // The agent may already take part in sessions whose cached answer is "no".
                self.0.seats.clear();
                true
            }
            _ => {
                matches!(AccountEvent::of(event), Some(AccountEvent::AgentDeleted(handle)) if self.agent(&handle).is_some())
            }
        }
    }

    /// Whether an agent of this server is invited, or joins because a person accepted an invitation.
    fn invites(&self, event: &StoredEvent) -> bool {
        let agent = match SessionEvent::decode(event) {
            Ok(SessionEvent::AgentInvited(invited)) => invited.invitee,
            Ok(SessionEvent::AgentJoined(joined)) if joined.released => joined.agent,
            Ok(_) | Err(_) => return false,
        };
        let is_ours = self.agent(&agent).is_some();
        if is_ours {
            self.0.seats.insert(event.stream.clone(), true);
        }
        is_ours
    }

    /// Finds out for a page of the log in which sessions agents of this server take or took part, with few reads.
    pub(crate) async fn look_up_seats(&self, page: &[StoredEvent]) -> Result<(), Fault> {
        let agents = self.0.runs.agents().all();
        let is_asked = |event: &&StoredEvent| {
            event.stream.category() == Sessions::CATEGORY
                && SEAT_EVENTS.contains(&&*event.kind)
                && self.0.seats.peek(&event.stream).is_none()
        };
        let streams: BTreeSet<_> = page.iter().filter(is_asked).map(|event| &event.stream).collect();
        if streams.is_empty() || agents.len() > AGENTS_LOOKED_UP_MAX {
            return Ok(());
        }
        let (ids, mut found): (Vec<_>, _) =
            (streams.iter().map(|stream| stream.id()).collect(), BTreeSet::new());
        for agent in &agents {
            found.extend(self.0.sessions.taken_part_in(&agent.handle, &ids).await?);
        }
        // These answers do not hold for an agent that has come meanwhile. One that became known meanwhile is newer.
        let now = self.0.runs.agents().all();
        if now.len() == agents.len() && now.iter().zip(&agents).all(|(now, then)| Arc::ptr_eq(now, then)) {
            for stream in streams {
                let has = || Ok::<_, Infallible>(found.contains(stream.id()));
                let Ok(_) = self.0.seats.get_or_insert_with(stream, has);
            }
        }
        Ok(())
    }

    /// Whether an agent of this server takes or took part in a session.
    async fn has_seat(&self, stream: &StreamName) -> bool {
        if let Some(known) = self.0.seats.get(stream) {
            return known;
        }
        // If the state can't be read now, the reactor reads it later.
        let Ok(state) = self.0.sessions.current_state(stream.id()).await else { return true };
        let has = state.participants.keys().any(|handle| self.agent(handle).is_some());
        self.0.seats.insert(stream.clone(), has);
        has
    }
}

/// Whether a session is active and an agent is joined in it.
pub(crate) fn is_in(state: &SessionState, agent: &AgentHandle) -> bool {
    let joined = state.participant(agent).is_some_and(|p| p.standing == Standing::Joined);
    joined && state.phase == Phase::Active
}

#[async_trait]
impl Observer for Participation {
    async fn committed(&self, events: &[StoredEvent]) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        let mut ours = Vec::new();
        for event in events {
            if self.concerns(event).await {
                ours.push(event.clone());
            }
        }
        let is_news = !ours.is_empty();
        self.recent().push(first.position, last.position, ours);
        if is_news {
            self.0.news.notify_one();
        }
    }
}
