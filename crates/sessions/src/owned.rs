//! The sessions of all agents of an owner in one list: newest first, each once, in the view of the agent that sees most
//! of it.
//! Must not know: HTTP.

use std::{collections::BTreeMap, pin::pin};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, OwnerName, SessionId, TimestampMs, Version, limits::PAGE_BYTES_MAX};
use plenary_log::{Fault, Order};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    AGENTS_LISTED_MAX, Sessions,
    event::{SessionEvent, event_time},
    room::{EVERY_PART, SessionRoom},
    state::Phase,
    views::{ParticipantView, READS_AT_ONCE, SessionView, bytes_of, view},
};

/// Sessions of one agent per index read.
const IDS_AT_ONCE: usize = 64;

/// A session, with the owner's agents that see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OwnedSession {
    /// The session, as the agent that sees most of it sees it.
    #[serde(flatten)]
    pub(crate) session: SessionView,
    /// The time of the last event that this agent may read, epoch milliseconds.
    #[schemars(with = "u64")]
    pub(crate) last_event_at: TimestampMs,
    /// The owner's agents that take or took part, or are invited; the one that sees most first.
    pub(crate) seen_by: Vec<AgentHandle>,
}

/// `GET /_admin/sessions`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OwnedSessionList {
    /// Newest first.
    pub(crate) sessions: Vec<OwnedSession>,
    /// The `before` of the next page; present if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A session in the members that RobotNet's command line reads: null where nothing is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountSession {
    id: SessionId,
    /// `active` or `ended`.
    #[schemars(with = "String")]
    state: Phase,
    topic: Option<String>,
    participants: Vec<ParticipantView>,
    /// Epoch milliseconds.
    #[schemars(with = "u64")]
    created_at: TimestampMs,
    /// Epoch milliseconds; null for an active session.
    #[schemars(with = "Option<u64>")]
    ended_at: Option<TimestampMs>,
    /// Which of the owner's agents sees most of it.
    acting_handle: Option<AgentHandle>,
}

/// `GET /accounts/me/sessions`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountSessionList {
    /// Newest first.
    sessions: Vec<AccountSession>,
    /// The `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

impl AccountSessionList {
    /// A page of the sessions of an owner's agents, in one state or in both.
    pub(crate) fn new(list: OwnedSessionList, state: Option<Phase>) -> Self {
        let has_requested_state =
            |owned: &OwnedSession| state.is_none_or(|state| owned.session.state == state);
        let account_session = |OwnedSession { session, seen_by, .. }| {
            let SessionView { id, state, topic, participants, created_at, ended_at } = session;
            let acting_handle = seen_by.into_iter().next();
            AccountSession { id, state, topic, participants, created_at, ended_at, acting_handle }
        };
        let sessions = list.sessions.into_iter().filter(has_requested_state).map(account_session).collect();
        Self { sessions, next_cursor: list.next_cursor }
    }
}

impl Sessions {
    /// The sessions of all agents of an owner, or of all owners, older than `before`.
    pub(crate) async fn list_owned(
        &self,
        owner: Option<&OwnerName>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<OwnedSessionList, Fault> {
        let mut ids = self.newest_owned(EVERY_PART, owner, before, limit + 1).await?;
        let mut has_more = ids.len() > limit;
        if has_more {
            ids.pop_first();
        }
        self.load(ids.keys()).await;
        let mut sessions = Vec::with_capacity(ids.len());
        let (mut bytes, mut last) = (0, None);
        let load = |(id, agents): (String, Vec<AgentHandle>)| async move {
            let session = self.owned_session(&id, agents).await;
            let session = Fault::skip_corrupt(session, "a damaged session is left out of a list")?.flatten();
            Ok::<_, Fault>((id, session))
        };
        let mut loaded = pin!(stream::iter(ids.into_iter().rev()).map(load).buffered(READS_AT_ONCE));
        while let Some((id, session)) = loaded.try_next().await? {
            bytes += session.as_ref().map_or(0, |owned| bytes_of(&owned.session));
            if bytes > PAGE_BYTES_MAX && !sessions.is_empty() {
                has_more = true;
                break;
            }
            sessions.extend(session);
            last = Some(id);
        }
        Ok(OwnedSessionList { sessions, next_cursor: last.filter(|_| has_more) })
    }

    /// The ids of the newest sessions of an owner's agents in these indexes, newest first.
    pub(crate) async fn newest_ids(
        &self,
        indexes: &[&'static str],
        owner: Option<&OwnerName>,
        max: usize,
    ) -> Result<Vec<String>, Fault> {
        Ok(self.newest_owned(indexes, owner, None, max).await?.into_keys().rev().collect())
    }

    /// The newest ids, each with its agents. Reads no more ids per agent than can be in the result.
    async fn newest_owned(
        &self,
        indexes: &[&'static str],
        owner: Option<&OwnerName>,
        before: Option<&str>,
        max: usize,
    ) -> Result<BTreeMap<String, Vec<AgentHandle>>, Fault> {
        let mut agents_by_session: BTreeMap<String, Vec<AgentHandle>> = BTreeMap::new();
        for agent in self.accounts().agents_of(owner, AGENTS_LISTED_MAX).await? {
            let mut last_id = before.map(str::to_owned);
            loop {
                let after = last_id.as_deref();
                let ids = self.ids_in(indexes, &agent.handle, after, Order::Descending, IDS_AT_ONCE).await?;
                let is_end = ids.len() < IDS_AT_ONCE;
                last_id = ids.last().cloned();
                for id in ids {
                    agents_by_session.entry(id).or_default().push(agent.handle.clone());
                }
                while agents_by_session.len() > max {
                    agents_by_session.pop_first();
                }
                let oldest = agents_by_session
                    .first_key_value()
                    .map(|(id, _)| id)
                    .filter(|_| agents_by_session.len() == max);
                if is_end || oldest > last_id.as_ref() && oldest.is_some() {
                    break;
                }
            }
        }
        Ok(agents_by_session)
    }

    async fn owned_session(
        &self,
        id: &str,
        mut agents: Vec<AgentHandle>,
    ) -> Result<Option<OwnedSession>, Fault> {
        let session_id =
            id.parse().map_err(|_| Fault::Corrupt(format!("a session id in the index: {id}")))?;
        let (state, head) = self.0.streams.fresh(id).await?;
        agents.retain(|agent| state.participant(agent).is_some());
        agents.sort_by_key(|agent| {
            let visibility = state.participant(agent).map(|part| (part.stay.is_some(), part.frozen));
            std::cmp::Reverse(visibility)
        });
        let Some((viewer, participant)) =
            agents.first().and_then(|viewer| Some((viewer, state.participant(viewer)?)))
        else {
            return Ok(None);
        };
        let last = participant.last_readable(head);
        let Some(session) = view(session_id, &state, viewer) else { return Ok(None) };
        let last_event_at = self.time_of(id, last).await?.unwrap_or(session.created_at);
        Ok(Some(OwnedSession { session, last_event_at, seen_by: agents }))
    }

    /// The time of an event; `None` for the creation, whose time is that of the session.
    async fn time_of(&self, id: &str, version: Version) -> Result<Option<TimestampMs>, Fault> {
        let stream = SessionRoom::stream(id);
        let event = self.log().read_stream(&stream, Version(version.0 - 1), 1).await?.pop();
        let event = event.ok_or_else(|| Fault::Corrupt(format!("{stream} ends before {version}")))?;
        Ok(SessionEvent::decode(&event)?.id().map(|id| event_time(id, event.at)))
    }
}
