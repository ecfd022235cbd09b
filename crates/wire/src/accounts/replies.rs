//! Owners, agents, trust and organisations: what the account operations answer (wire.md D.1, 2.2). Pure.
//! Must not know: HTTP, or who may ask.

use std::{collections::BTreeSet, fmt, str::FromStr};

use plenary_kernel::{
    AgentHandle, AllowEntry, ContactId, Malformed, OwnerName, SovereignHandle, TimestampMs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProfileView;

/// An agent's gate (ASP-6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Only who is on the agent's list, in both directions (ASP-8).
    #[default]
    Allowlist,
    /// No gate of its own (ASP-11).
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
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        match text {
            "allowlist" => Ok(Self::Allowlist),
            "open" => Ok(Self::Open),
            _ => Err(Malformed { what: "policy", expected: "`open` or `allowlist`" }),
        }
    }
}

/// A role in an organisation, of the owner grammar (wire.md D.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Role(OwnerName);

impl Role {
    /// The text of the role.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Role {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        text.parse().map(Self).map_err(|malformed: Malformed| Malformed { what: "role", ..malformed })
    }
}

/// An owner that was made, with its token: shown this once.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnerMade {
    /// The name.
    pub owner: OwnerName,
    /// The token, `plw_…`.
    pub token: String,
}

/// An owner in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnerView {
    /// The name.
    pub owner: OwnerName,
    /// When it was made, in ms since the epoch.
    pub created_at: u64,
    /// Bytes of its events and contents.
    pub stored_bytes: u64,
    /// Its events.
    pub stored_events: u64,
}

/// What an owner stores, and how much it may.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    /// The owner.
    pub owner: OwnerName,
    /// Bytes of its events and contents.
    pub stored_bytes: u64,
    /// Most bytes that it may store; absent where there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes_max: Option<u64>,
    /// Its events.
    pub stored_events: u64,
    /// Most events that it may store; absent where there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_events_max: Option<u64>,
}

/// A page of owners, by name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnerPage {
    /// The owners.
    pub owners: Vec<OwnerView>,
    /// The `cursor` of the next page, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An agent that was made, with its token: shown this once.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentMade {
    /// The handle.
    pub handle: AgentHandle,
    /// The token, `pla_…` unless it was chosen.
    pub token: String,
    /// Its gate.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: BTreeSet<AllowEntry>,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
}

/// An agent as its owner, the operator and itself see it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    /// The handle.
    pub handle: AgentHandle,
    /// Its gate.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: BTreeSet<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// When it was made, in ms since the epoch.
    pub created_at: u64,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
}

/// A page of agents, by handle.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentPage {
    /// The agents.
    pub agents: Vec<AgentView>,
    /// The `cursor` of the next page, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Why two agents may talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachedBy {
    /// They have one owner, and trust each other.
    SameOwner,
    /// Somebody's allowlist names the other.
    Allowlisted,
    /// Both are open.
    Open,
}

impl ReachedBy {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameOwner => "same_owner",
            Self::Allowlisted => "allowlisted",
            Self::Open => "open",
        }
    }
}

/// An agent that another can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReachableAgent {
    /// The handle.
    pub handle: AgentHandle,
    /// Why they may talk.
    pub trust: ReachedBy,
}

/// A page of reachable agents, by handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReachablePage {
    /// The agents.
    pub agents: Vec<ReachableAgent>,
    /// The `cursor` of the next page, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A new token: shown this once. The old one is dead.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    /// The token.
    pub token: String,
}

/// An allowlist.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EntriesView {
    /// Every entry.
    pub entries: BTreeSet<AllowEntry>,
}

/// A block.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BlockView {
    /// The id of the blocked agent: its handle, which is never given again.
    pub blocked_agent_id: AgentHandle,
    /// Its handle.
    pub blocked_handle: AgentHandle,
    /// When it was blocked, in ms since the epoch.
    pub created_at: u64,
}

/// A page of blocks, by handle.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BlockPage {
    /// The blocks.
    pub blocks: Vec<BlockView>,
    /// The `cursor` of the next page, or null.
    pub next_cursor: Option<String>,
}

/// A block that was lifted, or was not there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unblocked {
    /// Always true.
    pub unblocked: bool,
}

/// An organisation that was made or known.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrgMade {
    /// Its name.
    pub org: OwnerName,
}

/// An organisation, with a page of its members, by handle.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrgView {
    /// Its name.
    pub org: OwnerName,
    /// When it was made, in ms since the epoch.
    pub created_at: u64,
    /// The members.
    pub members: Vec<MemberView>,
    /// The `cursor` of the next page, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A member of an organisation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberView {
    /// The member.
    pub handle: SovereignHandle,
    /// Its roles.
    pub roles: BTreeSet<Role>,
}

/// A contact request that waits for an answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingContact {
    /// The request.
    pub request_id: ContactId,
    /// Who asks.
    pub from: AgentHandle,
    /// Who is asked; there may be nobody of that handle.
    pub to: AgentHandle,
    /// What was said with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was asked, epoch milliseconds.
    #[schemars(with = "u64")]
    pub created_at: TimestampMs,
}

/// `GET /contacts`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PendingContacts {
    /// Those asked of the agent oldest first, those that it asked by handle.
    pub contacts: Vec<PendingContact>,
    /// Passed back as `cursor`; present when there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A contact request that was taken, whether or not there is anybody to ask.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContactMade {
    /// The request.
    pub request_id: ContactId,
}

/// It is done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Okay {
    /// Always true.
    pub ok: bool,
}

/// A ticket in place of a token.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TicketMade {
    /// For `/connect?ticket=`, once.
    pub ticket: String,
    /// In how many seconds it is worthless.
    pub expires_in: u64,
}
