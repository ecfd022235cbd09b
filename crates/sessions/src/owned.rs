//! The sessions of all agents of an owner in one list: newest first, each once, in the view of the agent that sees most
//! of it.
//! Must not know: HTTP.

use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, OwnerName, SessionId, TimestampMs, limits::PAGE_BYTES_MAX};
use plenary_log::{Fault, Order};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    AGENTS_LISTED_MAX, Sessions,
    state::Phase,
    views::{ParticipantView, SessionView, bytes_of, view},
};

/// Sessions of one agent per index read.
const IDS_AT_ONCE: usize = 64;

/// A session, with the owner's agents that see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OwnedSession {
    /// The session, as the agent that sees most of it sees it.
    #[serde(flatten)]
    pub(crate) session: SessionView,
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
    pub(crate) fn new(listed: OwnedSessionList, state: Option<Phase>) -> Self {
        let asked = |owned: &OwnedSession| state.is_none_or(|state| owned.session.state == state);
        let shown = |OwnedSession { session, seen_by }| {
            let SessionView { id, state, topic, participants, created_at, ended_at } = session;
            let acting_handle = seen_by.into_iter().next();
            AccountSession { id, state, topic, participants, created_at, ended_at, acting_handle }
        };
        let sessions = listed.sessions.into_iter().filter(asked).map(shown).collect();
        Self { sessions, next_cursor: listed.next_cursor }
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
        let mut ids = self.newest_owned(owner, before, limit + 1).await?;
        let mut more = ids.len() > limit;
        if more {
            ids.pop_first();
        }
        let mut sessions = Vec::with_capacity(ids.len());
        let (mut bytes, mut last) = (0, None);
        for (id, agents) in ids.into_iter().rev() {
            let session = self.owned(&id, agents).await;
            let session = Fault::skip_corrupt(session, "a damaged session is left out of a list")?.flatten();
            bytes += session.as_ref().map_or(0, |owned| bytes_of(&owned.session));
            if bytes > PAGE_BYTES_MAX && !sessions.is_empty() {
                more = true;
                break;
            }
            sessions.extend(session);
            last = Some(id);
        }
        Ok(OwnedSessionList { sessions, next_cursor: last.filter(|_| more) })
    }

    /// The newest ids only, newest first.
    pub(crate) async fn newest_ids(
        &self,
        owner: Option<&OwnerName>,
        most: usize,
    ) -> Result<Vec<String>, Fault> {
        Ok(self.newest_owned(owner, None, most).await?.into_keys().rev().collect())
    }

    /// The newest ids, each with its agents. Reads no more ids per agent than can be in the result.
    async fn newest_owned(
        &self,
        owner: Option<&OwnerName>,
        before: Option<&str>,
        most: usize,
    ) -> Result<BTreeMap<String, Vec<AgentHandle>>, Fault> {
        let mut found: BTreeMap<String, Vec<AgentHandle>> = BTreeMap::new();
        for agent in self.accounts().agents_of(owner, AGENTS_LISTED_MAX).await? {
            let mut behind = before.map(str::to_owned);
            loop {
                let ids =
                    self.ids_of(&agent.handle, behind.as_deref(), Order::Descending, IDS_AT_ONCE).await?;
                let is_end = ids.len() < IDS_AT_ONCE;
                behind = ids.last().cloned();
                for id in ids {
                    found.entry(id).or_default().push(agent.handle.clone());
                }
                while found.len() > most {
                    found.pop_first();
                }
                let oldest = found.first_key_value().map(|(id, _)| id).filter(|_| found.len() == most);
                if is_end || oldest > behind.as_ref() && oldest.is_some() {
                    break;
                }
            }
        }
        Ok(found)
    }

    async fn owned(&self, id: &str, mut agents: Vec<AgentHandle>) -> Result<Option<OwnedSession>, Fault> {
        let named = id.parse().map_err(|_| Fault::Corrupt(format!("a session id in the index: {id}")))?;
        let (state, _) = self.0.streams.fresh(id).await?;
        agents.retain(|agent| state.participant(agent).is_some());
        agents.sort_by_key(|agent| {
            let most = state.participant(agent).map(|seen| (seen.stay.is_some(), seen.frozen));
            std::cmp::Reverse(most)
        });
        let Some((me, mine)) = agents.first().and_then(|me| Some((me, state.participant(me)?))) else {
            return Ok(None);
        };
        let seen = self.seen(me, &named, &state).await?;
        let session = view(named, &seen, me, mine);
        Ok(session.map(|session| OwnedSession { session, seen_by: agents }))
    }
}
