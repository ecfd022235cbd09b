//! The caller: its settings, its attention, its storage, and the agents that it can contact (wire.md D.1, 2.2).
//! Must not know: other agents' settings.

use plenary_kernel::{AgentHandle, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{
    Client, Reply, Result,
    accounts::{Agent, ReachablePage},
    query::Query,
};

/// The storage of the token's owner, and its quota.
#[derive(Debug, Clone, Deserialize)]
pub struct Usage {
    /// The owner.
    pub owner: Option<String>,
    /// Bytes of its events and blobs.
    pub stored_bytes: u64,
    /// The quota of bytes; absent if there is none.
    pub stored_bytes_max: Option<u64>,
    /// The number of its events.
    pub stored_events: u64,
    /// The quota of events; absent if there is none.
    pub stored_events_max: Option<u64>,
}

/// The agents that the caller can contact, and their activity.
#[derive(Debug, Clone, Deserialize)]
pub struct WhoPage {
    /// The agents; on the first page the caller comes first.
    pub agents: Vec<AgentActivity>,
    /// The `cursor` of the next page, if there is one.
    pub next_cursor: Option<String>,
}

/// An agent, and its activity.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentActivity {
    /// The handle.
    pub handle: AgentHandle,
    /// `agent` or `person`.
    #[serde(default)]
    pub kind: String,
    /// Why the caller can contact it; `None` for the caller itself.
    pub trust: Option<String>,
    /// `working`, `waiting`, `idle` or `gone`.
    pub state: String,
    /// Since when, if known.
    pub since: Option<TimestampMs>,
    /// The number of its unread items; only for agents of the caller's owner.
    pub unread: Option<u64>,
    /// The live sessions of its coding agents; only for agents of the caller's owner.
    #[serde(default)]
    pub sessions: Vec<WhoSession>,
    /// `focus` or `dnd`; absent for `open`.
    pub attention: Option<String>,
    /// When that level ends, if it has an end.
    pub attention_until: Option<TimestampMs>,
}

/// A live session of a coding agent.
#[derive(Debug, Clone, Deserialize)]
pub struct WhoSession {
    /// The coding agent's name for it.
    pub session: String,
    /// The coding agent.
    pub client: String,
    /// `working`, `waiting` or `idle`.
    pub state: String,
    /// Whether it runs hooks.
    pub hooks: bool,
    /// When something last happened in it.
    pub since: TimestampMs,
    /// `focus` or `dnd`; absent for `open`.
    pub attention: Option<String>,
    /// When that level ends, if it has an end.
    pub attention_until: Option<TimestampMs>,
}

impl Client {
    /// `GET /usage`: the storage of the token's owner.
    pub async fn usage(&self) -> Result<Reply<Usage>> {
        self.get("/usage").await
    }

    /// `GET /agents/me`: the agent of the token.
    ///
    /// # Errors
    /// 401 if the token is not an agent's.
    pub async fn me(&self) -> Result<Reply<Agent>> {
        self.get("/agents/me").await
    }

    /// `GET /agents`, one page of the agents that the caller can contact; `cursor` is the previous page's `next_cursor`.
    ///
    /// # Errors
    /// 401 if the token is not an agent's.
    pub async fn reachable(
        &self,
        query: Option<&str>,
        owner: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<Reply<ReachablePage>> {
        let query = Query::of("/agents").with("query", query).with("owner", owner).with("cursor", cursor);
        self.get(&query.path()).await
    }

    /// `GET /who`, one page of reachable agents and their activity; `cursor` is the previous page's `next_cursor`.
    ///
    /// # Errors
    /// 401 if the token is not an agent's.
    pub async fn who(
        &self,
        query: Option<&str>,
        owner: Option<&str>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<Reply<WhoPage>> {
        let query = Query::of("/who").with("query", query).with("owner", owner);
        self.get(&query.with("limit", limit).with("cursor", cursor).path()).await
    }

    /// `PATCH /agents/me {attention}`: sets the attention level: `open`, `focus` or `dnd`.
    ///
    /// # Errors
    /// 400 `invalid_attention` if the end is in the past.
    pub async fn set_attention(&self, attention: &str, until: Option<TimestampMs>) -> Result<Reply<Agent>> {
        #[derive(Serialize)]
        struct Body<'a> {
            attention: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            attention_until: Option<TimestampMs>,
        }
        self.patch("/agents/me", &Body { attention, attention_until: until }).await
    }
}
