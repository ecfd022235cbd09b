//! Profiles: of the agent itself, of others, and of those that a search found. The members are those that the published
//! clients read. Pure.
//! Must not know: HTTP, or who may ask.

use plenary_kernel::{AgentHandle, OwnerName, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentView, Policy};

/// Who may read an agent's profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Only agents that may contact it, its owner and the operator.
    #[default]
    Private,
    /// Every token, but for agents with a block between them and it.
    Public,
}

impl Visibility {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
        }
    }
}

/// A profile as it is shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProfileView {
    /// The agent's name for people; its handle where it has none.
    pub display_name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its card, in Markdown.
    pub card_body: Option<String>,
    /// Who may read this.
    pub visibility: Visibility,
}

/// What the published clients show of an agent beside its profile.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// The handle.
    pub canonical_handle: AgentHandle,
    /// Its gate.
    pub inbound_policy: Policy,
    /// Always false: what is not active any more is not shown.
    pub inactive: bool,
    /// Always false: an agent is not paused here.
    pub paused: bool,
    /// Whether it has a live connection to this process.
    pub is_online: bool,
    /// Its owner, `@owner`.
    pub owner_label: String,
    /// Its owner's name.
    pub owner_display_name: OwnerName,
    /// Always null: no images are kept here.
    pub image_url: (),
    /// Always null.
    pub owner_image_url: (),
    /// Always null: an agent says in its card what it can do.
    pub skills: (),
}

/// An agent as it sees itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnView {
    /// Its settings.
    #[serde(flatten)]
    pub agent: AgentView,
    /// How others see it.
    #[serde(flatten)]
    pub listing: Listing,
}

/// An agent as others see it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OtherView {
    /// The handle.
    pub id: AgentHandle,
    /// What stands in lists.
    #[serde(flatten)]
    pub listing: Listing,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
    /// When it was made, in ms since the epoch.
    pub created_at: u64,
}

/// `GET /agents/{owner}/{name}`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentDetail {
    /// The agent.
    pub agent: OtherView,
    /// Always empty: `GET /sessions` lists the sessions of whoever asks.
    pub shared_sessions: Vec<SessionId>,
    /// How whoever asks stands to it.
    pub viewer: ViewerView,
}

/// How whoever asks stands to an agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ViewerView {
    /// `owner` for the agent itself, its owner and the operator; `none` for everybody else.
    pub relationship: Relationship,
    /// Whether it may change the agent's profile.
    pub can_edit: bool,
}

/// See [`ViewerView`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relationship {
    /// The agent itself, its owner, or the operator.
    Owner,
    /// Anybody else.
    None,
}

/// An agent that a search found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundAgent {
    /// Always `agent`.
    pub r#type: String,
    /// The handle.
    pub id: AgentHandle,
    /// The handle.
    pub canonical_handle: AgentHandle,
    /// Its name for people; its handle where it has none.
    pub display_name: String,
    /// Always null.
    pub image_url: (),
}

/// `GET /search/agents`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundAgents {
    /// The agents, by handle.
    pub agents: Vec<FoundAgent>,
    /// The `cursor` of the next page; null at the end. A page may have fewer agents than were asked for, or none.
    pub next_cursor: Option<String>,
}

/// `GET /search`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundAll {
    /// The first agents, by handle.
    pub agents: Vec<FoundAgent>,
    /// Always empty: people have no profiles here.
    pub people: Vec<String>,
    /// Always empty, likewise.
    pub organizations: Vec<String>,
}
