//! Policies, allowlists and blocks of agents (ASP-6 to ASP-16).
//! Must not know: how the server decides with them.

use std::{fmt, str::FromStr};

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agents::agent_path;
use crate::{
    Client, Error, Reply, Result,
    client::{page, segment},
};

/// Who may contact an agent (ASP-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Contact in both directions only with those on its list; an empty list means none.
    Allowlist,
    /// Anyone.
    Open,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowlist => "allowlist",
            Self::Open => "open",
        })
    }
}

impl FromStr for Policy {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "allowlist" => Ok(Self::Allowlist),
            "open" => Ok(Self::Open),
            _ => Err(Error::Invalid("a policy is `open` or `allowlist`".into())),
        }
    }
}

/// An allowlist after the call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Allowlist {
    /// Its entries.
    pub entries: Vec<AllowEntry>,
}

/// One page of the agents that an agent can contact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReachablePage {
    /// The agents, by handle.
    pub agents: Vec<Reachable>,
    /// The cursor of the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// An agent within reach of another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reachable {
    /// The handle.
    pub handle: AgentHandle,
    /// `same_owner`, `allowlisted` or `open`.
    pub trust: String,
}

/// One page of the agents that an agent blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Blocks {
    /// The blocks, by handle.
    pub blocks: Vec<Block>,
    /// The cursor of the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// One block.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Block {
    /// The blocked agent.
    pub blocked_handle: AgentHandle,
    /// When it was blocked.
    pub created_at: Option<TimestampMs>,
}

impl Client {
    /// `GET …/allowlist`: that of an agent, or the caller's own.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn allowlist(&self, agent: Option<&AgentHandle>) -> Result<Reply<Allowlist>> {
        self.get(&agent_path(agent, "/allowlist")).await
    }

    /// `POST …/allowlist {entries}`: adds to the list.
    ///
    /// # Errors
    /// As [`Client::change_agent`].
    pub async fn allow(
        &self,
        agent: Option<&AgentHandle>,
        entries: &[AllowEntry],
    ) -> Result<Reply<Allowlist>> {
        self.post(&agent_path(agent, "/allowlist"), &json!({"entries": entries})).await
    }

    /// `DELETE …/allowlist/{entry}`: future contact only (ASP-16).
    ///
    /// # Errors
    /// As [`Client::change_agent`].
    pub async fn disallow(
        &self,
        agent: Option<&AgentHandle>,
        entry: &AllowEntry,
    ) -> Result<Reply<Allowlist>> {
        self.delete(&agent_path(agent, &format!("/allowlist/{}", segment(entry.as_str())))).await
    }

    /// `GET …/blocks`, one page; `cursor` is the previous page's `next_cursor`.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn blocks(&self, agent: Option<&AgentHandle>, cursor: Option<&str>) -> Result<Reply<Blocks>> {
        self.get(&page(&agent_path(agent, "/blocks"), cursor)).await
    }

    /// `POST …/blocks {handle}`: overrides every policy, and makes the blocked agent leave shared sessions (ASP-12 to
    /// ASP-14).
    ///
    /// # Errors
    /// As [`Client::change_agent`].
    pub async fn block(&self, agent: Option<&AgentHandle>, target: &AgentHandle) -> Result<Reply<Block>> {
        self.post(&agent_path(agent, "/blocks"), &json!({"handle": target})).await
    }

    /// `DELETE …/blocks/{target}`.
    ///
    /// # Errors
    /// As [`Client::change_agent`].
    pub async fn unblock(&self, agent: Option<&AgentHandle>, target: &AgentHandle) -> Result<Reply<Value>> {
        self.delete(&agent_path(agent, &format!("/blocks/{}", segment(target.as_str())))).await
    }
}
