//! What clients send to the account operations. Pure.
//! Must not know: how the server reads it.

use plenary_kernel::{AgentHandle, AllowEntry, OwnerName};
use serde::Serialize;

use super::{Policy, Visibility};

/// An owner to make.
#[derive(Debug, Clone, Serialize)]
pub struct NewOwner {
    /// The name.
    pub owner: OwnerName,
}

/// An agent to make; what is absent is as the server has it.
#[derive(Clone, Serialize)]
pub struct NewAgent {
    /// The new agent's address; its owner is made if new and the operator asks.
    pub handle: AgentHandle,
    /// Default: `allowlist`, which with an empty list is closed (ASP-6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The first entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowlist: Vec<AllowEntry>,
    /// A token of one's own choice; default: the server makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether it may change its own trust; default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
}

impl NewAgent {
    /// An agent with the server's defaults.
    #[must_use]
    pub fn new(handle: AgentHandle) -> Self {
        Self { handle, policy: None, allowlist: Vec::new(), token: None, self_service: None }
    }
}

/// A change of an agent: what is absent stays as it is.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AgentChanges {
    /// Who may reach it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Whether it may change its own trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
    /// Its name for people; null, `Some(None)`, removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<Option<String>>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// Its card, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_body: Option<Option<String>>,
    /// Who may read its profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

/// Entries to put on an allowlist.
#[derive(Debug, Clone, Serialize)]
pub struct NewEntries {
    /// Handles and `@owner.*`, one or more.
    pub entries: Vec<AllowEntry>,
}

/// Whom to block.
#[derive(Debug, Clone, Serialize)]
pub struct NewBlock {
    /// The handle, whether or not anybody has it.
    pub handle: AgentHandle,
}

/// A membership.
#[derive(Debug, Clone, Serialize)]
pub struct NewMember {
    /// All the member's roles.
    pub roles: Vec<String>,
}

/// Whom to ask for contact.
#[derive(Debug, Clone, Serialize)]
pub struct NewContact {
    /// Whom to ask.
    pub to: AgentHandle,
    /// What to say with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Which page of a list.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PageQuery {
    /// The last page's `next_cursor`.
    pub cursor: Option<String>,
}

impl PageQuery {
    /// The page that a `next_cursor` names, or the first.
    #[must_use]
    pub fn at(cursor: Option<&str>) -> Self {
        Self { cursor: cursor.map(str::to_owned) }
    }
}

/// Which agents that can be reached.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReachableQuery {
    /// Only those with this text.
    pub query: Option<String>,
    /// Only of this owner.
    pub owner: Option<String>,
    /// The last page's `next_cursor`.
    pub cursor: Option<String>,
}

/// Which contact requests.
#[derive(Debug, Clone, Serialize)]
pub struct ContactsQuery {
    /// `incoming` or `outgoing`.
    pub direction: &'static str,
    /// The last page's `next_cursor`.
    pub cursor: Option<String>,
}
