//! Agents: create, list, change, replace the token, remove.
//! Must not know: what an agent does in a session.

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Policy;
use crate::{
    Client, Reply, Result,
    client::{page, segment},
};

/// An agent's settings, as its owner or the agent itself reads them.
#[derive(Debug, Clone, Deserialize)]
pub struct Agent {
    /// Its handle.
    pub handle: AgentHandle,
    /// Who may contact it.
    pub policy: Policy,
    /// The agents and owners it admits, under policy `allowlist`.
    #[serde(default)]
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may change its own trust settings.
    pub self_service: Option<bool>,
    /// Whether runs requested by other owners wait for a person of its owner.
    #[serde(default)]
    pub hold_runs: bool,
    /// Whether invitations to sessions from other owners wait for a person of its owner.
    #[serde(default)]
    pub hold_invitations: bool,
    /// When it was created.
    pub created_at: Option<TimestampMs>,
    /// Its display name; its handle if none is set.
    pub display_name: Option<String>,
    /// `agent` or `person`.
    pub kind: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its card, in Markdown.
    pub card_body: Option<String>,
    /// Who may read its profile.
    pub visibility: Option<String>,
    /// Its last attention period.
    pub attention: Option<Attention>,
}

/// A period in which only some messages may disturb an agent.
#[derive(Debug, Clone, Deserialize)]
pub struct Attention {
    /// `focus` or `dnd`.
    pub level: String,
    /// When it starts.
    pub since: TimestampMs,
    /// When it ends or ended; `None` if it has no end.
    pub until: Option<TimestampMs>,
}

/// The answer of `GET /_admin/agents`.
#[derive(Debug, Clone, Deserialize)]
pub struct AgentList {
    /// The agents that the token may configure.
    pub agents: Vec<Agent>,
    /// The cursor of the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// The body of `POST /_admin/agents`.
#[derive(Clone, Serialize)]
pub struct CreateAgent {
    /// The new agent's handle; the operator may name an owner that does not exist yet, which is then created.
    pub handle: AgentHandle,
    /// Default: `allowlist`, which with an empty list is closed (ASP-6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The initial entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowlist: Vec<AllowEntry>,
    /// A token chosen by the caller; default: the server generates one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether it may change its own trust settings; default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
}

impl CreateAgent {
    /// An agent with the server's defaults.
    pub fn new(handle: AgentHandle) -> Self {
        Self { handle, policy: None, allowlist: Vec::new(), token: None, self_service: None }
    }
}

/// The answer of `POST /_admin/agents`. The token is shown only this once.
#[derive(Clone, Deserialize)]
pub struct CreatedAgent {
    /// Its handle.
    pub handle: AgentHandle,
    /// Its token, `pla_…`.
    pub token: String,
    /// Who may contact it.
    pub policy: Policy,
    /// Its allowlist.
    #[serde(default)]
    pub allowlist: Vec<AllowEntry>,
}

/// The body of `PATCH /_admin/agents/{handle}`: an absent field stays unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChangeAgent {
    /// Who may contact it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Whether it may change its own trust settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
    /// Whether runs requested by other owners wait for a person of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_runs: Option<bool>,
    /// Whether invitations to sessions from other owners wait for a person of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_invitations: Option<bool>,
    /// Its display name; null, `Some(None)`, removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<Option<String>>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// Its card, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_body: Option<Option<String>>,
    /// Who may read its profile: `private` or `public`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<String>,
}

/// The answer of `POST …/rotate-token`. The token is shown only this once; the old one is no longer valid.
#[derive(Clone, Deserialize)]
pub struct NewToken {
    /// The new token.
    pub token: String,
}

/// The path of an agent, or of a resource below it: the caller itself, or the agent that its owner names.
pub(crate) fn agent_path(agent: Option<&AgentHandle>, below: &str) -> String {
    match agent {
        None => format!("/agents/me{below}"),
        Some(handle) => format!("/_admin/agents/{}{below}", segment(handle.as_str())),
    }
}

impl Client {
    /// `POST /_admin/agents`; the operator's token, or its owner's.
    ///
    /// # Errors
    /// 409 `agent_exists`.
    pub async fn create_agent(&self, agent: &CreateAgent) -> Result<Reply<CreatedAgent>> {
        self.post("/_admin/agents", agent).await
    }

    /// `GET /_admin/agents`, one page by handle: all agents for the operator, its own for an owner. `cursor` is the
    /// previous page's `next_cursor`.
    pub async fn agents(&self, cursor: Option<&str>) -> Result<Reply<AgentList>> {
        self.get(&page("/_admin/agents", cursor)).await
    }

    /// `GET /_admin/agents/{handle}`.
    ///
    /// # Errors
    /// 404 also for another owner's agent.
    pub async fn agent(&self, handle: &AgentHandle) -> Result<Reply<Agent>> {
        self.get(&agent_path(Some(handle), "")).await
    }

    /// `PATCH` of an agent, or of the caller itself.
    ///
    /// # Errors
    /// As [`Client::agent`]; 403 `forbidden` if the owner has not set `self_service` for the agent that changes itself.
    pub async fn change_agent(
        &self,
        agent: Option<&AgentHandle>,
        change: &ChangeAgent,
    ) -> Result<Reply<Agent>> {
        self.patch(&agent_path(agent, ""), change).await
    }

    /// `DELETE /_admin/agents/{handle}`: permanent; the handle stays reserved.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn delete_agent(&self, handle: &AgentHandle) -> Result<Reply<Value>> {
        self.delete(&agent_path(Some(handle), "")).await
    }

    /// `POST /_admin/agents/{handle}/rotate-token`: closes open connections within a second.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub async fn rotate_token(&self, handle: &AgentHandle) -> Result<Reply<NewToken>> {
        self.post_empty(&agent_path(Some(handle), "/rotate-token")).await
    }
}
