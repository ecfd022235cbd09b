//! Profiles on the wire: of the agent itself, of others, and of search results. The members are those that the
//! published clients read. Pure.
//! Must not know: HTTP, or permissions.

use plenary_kernel::{AgentHandle, OwnerName, SessionId};
use schemars::JsonSchema;
use serde::Serialize;

use super::AgentView;
use crate::{KnownAgent, Policy, Profile, Visibility};

/// A profile on the wire.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfileView {
    /// The agent's display name; its handle if it has none.
    pub display_name: String,
    /// Its purpose, in one line.
    pub description: Option<String>,
    /// Its card, in Markdown.
    pub card_body: Option<String>,
    /// Its visibility.
    pub visibility: Visibility,
}

impl From<&KnownAgent> for ProfileView {
    fn from(known: &KnownAgent) -> Self {
        let Profile { display_name, description, card_body, visibility } = known.state.profile().clone();
        let display_name = display_name.unwrap_or_else(|| known.handle.to_string());
        Self { display_name, description, card_body, visibility }
    }
}

/// Additional data that the published clients show of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListingProfile {
    /// The handle.
    pub id: AgentHandle,
    /// The handle.
    pub canonical_handle: AgentHandle,
    /// The part of the handle behind the owner.
    pub local_name: String,
    /// The part of the handle before the name.
    pub namespace: OwnerName,
    /// Always `account`.
    pub owner_type: &'static str,
    /// Its owner's name.
    pub owner_id: OwnerName,
    /// Always `personal`.
    pub scope: &'static str,
    /// Always true: every agent may begin sessions.
    pub can_initiate_sessions: bool,
    /// When its settings, its profile or its lists last changed, in ms since the epoch.
    pub updated_at: u64,
    /// Its contact policy.
    pub inbound_policy: Policy,
    /// Always false: inactive agents are not shown.
    pub inactive: bool,
    /// Always false: agents cannot be paused.
    pub paused: bool,
    /// Whether it has a live connection to this process.
    pub is_online: bool,
    /// Its owner, `@owner`.
    pub owner_label: String,
    /// Its owner's name.
    pub owner_display_name: OwnerName,
    /// Always null: images are not stored.
    #[schemars(with = "Option<String>")]
    pub image_url: (),
    /// Always null.
    #[schemars(with = "Option<String>")]
    pub owner_image_url: (),
    /// Always null: the card describes what an agent can do.
    #[schemars(with = "Option<Vec<String>>")]
    pub skills: (),
}

impl ListingProfile {
    pub(crate) fn new(known: &KnownAgent, is_online: bool) -> Self {
        Self {
            id: known.handle.clone(),
            canonical_handle: known.handle.clone(),
            local_name: known.handle.name().to_owned(),
            namespace: known.handle.owner_name(),
            owner_type: "account",
            owner_id: known.handle.owner_name(),
            scope: "personal",
            can_initiate_sessions: true,
            updated_at: known.state.updated_at().unwrap_or_default().0,
            inbound_policy: known.state.policy(),
            inactive: false,
            paused: false,
            is_online,
            owner_label: format!("@{}", known.handle.owner()),
            owner_display_name: known.handle.owner_name(),
            image_url: (),
            owner_image_url: (),
            skills: (),
        }
    }
}

/// An agent's view of itself.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnView {
    /// Its settings.
    #[serde(flatten)]
    pub agent: AgentView,
    /// The view of others.
    #[serde(flatten)]
    pub listing: ListingProfile,
}

/// The view of an agent for others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OtherView {
    /// The data in lists.
    #[serde(flatten)]
    pub listing: ListingProfile,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
    /// Its time of creation, in ms since the epoch.
    pub created_at: u64,
}

impl OtherView {
    pub(crate) fn new(known: &KnownAgent, is_online: bool) -> Self {
        Self {
            listing: ListingProfile::new(known, is_online),
            profile: ProfileView::from(known),
            created_at: known.state.created_at().unwrap_or_default().0,
        }
    }
}

/// `GET /agents/{owner}/{name}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentDetail {
    /// The agent.
    pub agent: OtherView,
    /// Always empty: `GET /sessions` lists the caller's sessions.
    pub shared_sessions: Vec<SessionId>,
    /// The caller's relation to it.
    pub viewer: ViewerView,
}

/// The caller's relation to an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ViewerView {
    /// `owner` for the agent itself, its owner and the operator; `none` for all others.
    pub relationship: Relationship,
    /// Whether it may change the agent's profile.
    pub can_edit: bool,
}

/// See [`ViewerView`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relationship {
    /// The agent itself, its owner, or the operator.
    Owner,
    /// Any other caller.
    None,
}

/// An agent that a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundAgent {
    /// Always `agent`.
    pub r#type: &'static str,
    /// The handle.
    pub id: AgentHandle,
    /// The handle.
    pub canonical_handle: AgentHandle,
    /// Its display name; its handle if it has none.
    pub display_name: String,
    /// Always null.
    #[schemars(with = "Option<String>")]
    pub image_url: (),
}

impl From<&KnownAgent> for FoundAgent {
    fn from(known: &KnownAgent) -> Self {
        let (id, canonical_handle) = (known.handle.clone(), known.handle.clone());
        let display_name = ProfileView::from(known).display_name;
        Self { r#type: "agent", id, canonical_handle, display_name, image_url: () }
    }
}

/// `GET /search/agents`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundAgents {
    /// The agents, by handle.
    pub agents: Vec<FoundAgent>,
    /// The `cursor` of the next page; null at the end. A page may have fewer agents than `limit`, or none.
    pub next_cursor: Option<String>,
}
