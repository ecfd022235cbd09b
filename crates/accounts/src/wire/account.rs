//! The account of an owner, in the members that RobotNet's command line reads and sends (wire.md 2.2). Pure.
//! Must not know: HTTP, or permissions.

use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Serialize;

use super::{OtherView, ReachedBy};
use crate::{KnownAgent, Policy, ProfileChange, Token, fields::Fields, owner::OwnerState};

/// Bytes of a local name that are read; an invalid handle is refused later.
const HANDLE_BYTES_MAX: usize = 128;

/// `GET /account`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Account")]
pub(crate) struct AccountView {
    /// The owner's name.
    id: OwnerName,
    /// The owner's name.
    username: OwnerName,
    /// Always empty: no address is stored.
    email: &'static str,
    /// The owner's name.
    display_name: OwnerName,
    /// Always null.
    #[schemars(with = "Option<String>")]
    bio: (),
    /// Always null: images are not stored.
    #[schemars(with = "Option<String>")]
    image_url: (),
    /// Always `self-hosted`.
    tier: &'static str,
    /// The owner's time of creation, in ms since the epoch.
    created_at: u64,
    /// The same.
    updated_at: u64,
}

impl AccountView {
    pub(crate) fn new(owner: OwnerName, state: &OwnerState) -> Self {
        let created_at = state.created_at().unwrap_or_default().0;
        Self {
            id: owner.clone(),
            username: owner.clone(),
            email: "",
            display_name: owner,
            bio: (),
            image_url: (),
            tier: "self-hosted",
            created_at,
            updated_at: created_at,
        }
    }
}

/// An agent in the list of its owner.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountAgent")]
pub(crate) struct OwnedAgent {
    /// The handle.
    pub(crate) handle: AgentHandle,
    /// Always `same_owner`: agents of one owner may contact each other.
    pub(crate) trust: ReachedBy,
    /// The data that its owner sees.
    #[serde(flatten)]
    pub(crate) agent: OtherView,
}

/// `GET /agents/managed`, and `GET /agents` for an owner: by handle.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountAgents")]
pub(crate) struct AccountAgentPage {
    /// The agents.
    pub(crate) agents: Vec<OwnedAgent>,
    /// The `cursor` of the next page; null at the end.
    pub(crate) next_cursor: Option<String>,
}

/// `GET /accounts/me/agents`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountAgentNames")]
pub(crate) struct AccountPicker {
    /// Every agent, by handle.
    pub(crate) agents: Vec<NamedAgent>,
}

/// An agent to choose.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountAgentName")]
pub(crate) struct NamedAgent {
    /// The handle.
    handle: AgentHandle,
    /// Its display name; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Its contact policy.
    policy: Policy,
}

impl From<&KnownAgent> for NamedAgent {
    fn from(known: &KnownAgent) -> Self {
        let name = known.state.profile().display_name.clone();
        Self { handle: known.handle.clone(), name, policy: known.state.policy() }
    }
}

/// A new agent with its token, which is shown only once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountAgentMade")]
pub(crate) struct AccountAgentMade {
    /// The token, `pla_…`.
    pub(crate) token: String,
    /// The agent.
    #[serde(flatten)]
    pub(crate) agent: OtherView,
}

impl AccountAgentMade {
    pub(crate) fn new(known: &KnownAgent, token: &Token) -> Self {
        Self { token: token.expose().to_owned(), agent: OtherView::new(known, false) }
    }
}

/// `POST /agents`.
#[derive(Debug, JsonSchema)]
pub(crate) struct NewAccountAgent {
    /// The part of the handle behind the owner.
    #[schemars(with = "OwnerName")]
    pub(crate) local_name: String,
    /// Its contact policy; `allowlist` when absent.
    pub(crate) inbound_policy: Option<Policy>,
    /// True when absent; 501 for false.
    #[expect(dead_code, reason = "what is accepted changes nothing")]
    pub(crate) can_initiate_sessions: Option<bool>,
    /// Its profile.
    #[schemars(flatten)]
    pub(crate) profile: ProfileChange,
}

impl NewAccountAgent {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let can_initiate_sessions = only(fields, "can_initiate_sessions", true)?;
        Ok(Self {
            local_name: fields.text("local_name", HANDLE_BYTES_MAX, "invalid_handle")?.unwrap_or_default(),
            inbound_policy: fields.policy("inbound_policy")?,
            can_initiate_sessions,
            profile: fields.profile()?,
        })
    }
}

/// `PATCH /agents/{owner}/{name}`: at least one member.
#[derive(Debug, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub(crate) struct SetAccountAgent {
    /// The contact policy.
    pub(crate) inbound_policy: Option<Policy>,
    /// 501 for false: every agent may begin sessions.
    #[expect(dead_code, reason = "what is accepted changes nothing")]
    pub(crate) can_initiate_sessions: Option<bool>,
    /// 501 for true: agents cannot be paused.
    #[expect(dead_code, reason = "what is accepted changes nothing")]
    pub(crate) paused: Option<bool>,
    /// 501 unless it is null: the card describes what an agent can do.
    #[expect(dead_code, reason = "what is accepted changes nothing")]
    pub(crate) skills: Option<Vec<serde_json::Value>>,
    /// The profile.
    #[schemars(flatten)]
    pub(crate) profile: ProfileChange,
}

impl SetAccountAgent {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let can_initiate_sessions = only(fields, "can_initiate_sessions", true)?;
        let paused = only(fields, "paused", false)?;
        if fields.has("skills") {
            return Err(unsupported("skills are not stored; describe them in card_body"));
        }
        let inbound_policy = fields.policy("inbound_policy")?;
        let profile = fields.profile()?;
        if inbound_policy.is_none()
            && can_initiate_sessions.is_none()
            && paused.is_none()
            && profile.is_empty()
        {
            let text = "Name inbound_policy, display_name, description, card_body or visibility.";
            return Err(Refusal::malformed("invalid_policy", text));
        }
        Ok(Self { inbound_policy, can_initiate_sessions, paused, skills: None, profile })
    }
}

/// A flag that has one value here.
fn only(fields: &Fields, name: &str, value: bool) -> Result<Option<bool>, Refusal> {
    let sent = fields.flag(name, "invalid_body")?;
    if sent.is_some_and(|sent| sent != value) {
        return Err(unsupported(&format!("{name} is always {value} on this server")));
    }
    Ok(sent)
}

/// 501: well formed, and not of this server.
fn unsupported(reason: &str) -> Refusal {
    Refusal::new(Class::NotImplemented, "not_supported", format!("Not supported: {reason}."))
}
