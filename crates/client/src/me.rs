//! An agent's own settings: it reads them, and changes them if its owner allows it (wire.md D.1, 2.2).
//! Must not know: other agents' settings.

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Client, Reply, Result,
    accounts::{Agent, Allowlist, Block, Blocks, Entries, Policy, ReachablePage, Target},
    client::{page, segment},
};

/// A ticket that stands for the token where headers cannot be set.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ticket {
    /// To be given as `?ticket=`, once.
    pub ticket: String,
    /// How long it holds, in seconds.
    pub expires_in: u64,
}

/// What the bearer's owner stores, and how much it may.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Usage {
    /// Bytes of its events and contents.
    pub stored_bytes: u64,
    /// The quota of bytes; absent if there is none.
    pub stored_bytes_max: Option<u64>,
    /// Its events.
    pub stored_events: u64,
    /// The quota of events; absent if there is none.
    pub stored_events_max: Option<u64>,
}

/// Whom one can reach, and what they do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WhoPage {
    /// Whoever asks first, on the first page.
    pub agents: Vec<WhoIsThere>,
    /// The `cursor` of the next page, when there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WhoIsThere {
    /// The handle.
    pub handle: AgentHandle,
    /// `agent` or `person`.
    #[serde(default)]
    pub kind: String,
    /// `working`, `waiting`, `idle` or `gone`.
    pub state: String,
    /// Since when, where that is known.
    #[serde(default)]
    pub since: Option<TimestampMs>,
    /// News that it has not seen; of one's own owner's alone.
    #[serde(default)]
    pub unread: Option<u64>,
    /// The live sessions of its coding agents; of one's own owner's alone.
    #[serde(default)]
    pub sessions: Vec<WhoSession>,
    /// `focus` or `dnd`, where it does not let everything disturb it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<String>,
    /// Until when, where an end was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_until: Option<TimestampMs>,
}

/// A live session of a coding agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WhoSession {
    /// What the coding agent calls it.
    pub session: String,
    /// Which coding agent it is.
    pub client: String,
    /// `working`, `waiting` or `idle`.
    pub state: String,
    /// Whether it runs hooks.
    pub hooks: bool,
    /// When something last happened in it.
    pub since: TimestampMs,
    /// `focus` or `dnd`, where it does not let everything disturb it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<String>,
    /// Until when, where an end was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_until: Option<TimestampMs>,
}

impl Client {
    /// `GET /usage`: what the bearer's owner stores.
    ///
    /// # Errors
    /// As every call.
    pub async fn usage(&self) -> Result<Reply<Usage>> {
        self.get("/usage").await
    }

    /// `GET /agents/me`: who the token speaks for.
    ///
    /// # Errors
    /// As every call; 401 where the token is not an agent's.
    pub async fn me(&self) -> Result<Reply<Agent>> {
        self.get("/agents/me").await
    }

    /// `GET /agents`, one page of whom the agent can reach; `cursor` is the last page's `next_cursor`.
    ///
    /// # Errors
    /// As every call; 401 where the token is not an agent's.
    pub async fn reachable(
        &self,
        query: Option<&str>,
        owner: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<Reply<ReachablePage>> {
        let given = [("query", query), ("owner", owner), ("cursor", cursor)];
        let given = given.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(value?))));
        let query = given.collect::<Vec<_>>().join("&");
        self.get(&format!("/agents?{query}")).await
    }

    /// `GET /who`, one page of whom one can reach and what they do; `cursor` is the last page's `next_cursor`.
    ///
    /// # Errors
    /// As every call; 401 where the token is not an agent's.
    pub async fn who(
        &self,
        query: Option<&str>,
        owner: Option<&str>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<Reply<WhoPage>> {
        let limit = limit.map(|limit| limit.to_string());
        let given = [("query", query), ("owner", owner), ("limit", limit.as_deref()), ("cursor", cursor)];
        let given = given.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(value?))));
        let query = given.collect::<Vec<_>>().join("&");
        self.get(&format!("/who?{query}")).await
    }

    /// `PATCH /agents/me {policy}`.
    ///
    /// # Errors
    /// As every call; 403 `forbidden` where the owner has not set `self_service`.
    pub async fn set_my_policy(&self, policy: Policy) -> Result<Reply<Agent>> {
        #[derive(Serialize)]
        struct Body {
            policy: Policy,
        }
        self.patch("/agents/me", &Body { policy }).await
    }

    /// `PATCH /agents/me {attention}`: what may disturb the agent: `open`, `focus` or `dnd`.
    ///
    /// # Errors
    /// As every call; 400 `invalid_attention` where the end is past.
    pub async fn set_attention(&self, attention: &str, until: Option<TimestampMs>) -> Result<Reply<Agent>> {
        #[derive(Serialize)]
        struct Body<'a> {
            attention: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            attention_until: Option<TimestampMs>,
        }
        self.patch("/agents/me", &Body { attention, attention_until: until }).await
    }

    /// `GET /agents/me/allowlist`.
    ///
    /// # Errors
    /// As every call.
    pub async fn my_allowlist(&self) -> Result<Reply<Allowlist>> {
        self.get("/agents/me/allowlist").await
    }

    /// `POST /agents/me/allowlist {entries}`: adds to the list.
    ///
    /// # Errors
    /// As [`Client::set_my_policy`].
    pub async fn allow_for_me(&self, entries: &[AllowEntry]) -> Result<Reply<Allowlist>> {
        self.post("/agents/me/allowlist", &Entries { entries }).await
    }

    /// `DELETE /agents/me/allowlist/{entry}`.
    ///
    /// # Errors
    /// As [`Client::set_my_policy`].
    pub async fn disallow_for_me(&self, entry: &AllowEntry) -> Result<Reply<Allowlist>> {
        self.delete(&format!("/agents/me/allowlist/{}", segment(entry.as_str()))).await
    }

    /// `GET /agents/me/blocks`, one page; `cursor` is the last page's `next_cursor`.
    ///
    /// # Errors
    /// As every call.
    pub async fn my_blocks(&self, cursor: Option<&str>) -> Result<Reply<Blocks>> {
        self.get(&page("/agents/me/blocks", cursor)).await
    }

    /// `POST /agents/me/blocks {handle}`.
    ///
    /// # Errors
    /// As [`Client::set_my_policy`].
    pub async fn block_for_me(&self, handle: &AgentHandle) -> Result<Reply<Block>> {
        self.post("/agents/me/blocks", &Target { handle }).await
    }

    /// `DELETE /agents/me/blocks/{handle}`.
    ///
    /// # Errors
    /// As [`Client::set_my_policy`].
    pub async fn unblock_for_me(&self, handle: &AgentHandle) -> Result<Reply<Value>> {
        self.delete(&format!("/agents/me/blocks/{}", segment(handle.as_str()))).await
    }

    /// `POST /auth/ticket`: for browsers, which cannot set headers on WebSocket and EventSource.
    ///
    /// # Errors
    /// As every call.
    pub async fn ticket(&self) -> Result<Reply<Ticket>> {
        self.post_empty("/auth/ticket").await
    }
}
