//! What peers send to and get from the account surface (wire.md D.1, 2.2). One definition each: the handlers, the
//! description and the clients derive from it. Pure.
//! Must not know: HTTP, or who may ask.

mod profiles;

use std::collections::BTreeSet;

use plenary_kernel::{AgentHandle, AllowEntry, ErrorCode, OwnerName, Refusal};
pub use plenary_wire::accounts::{
    AgentMade, AgentPage, AgentView, BlockPage, BlockView, ContactMade, EntriesView, MemberView, Okay,
    OrgMade, OrgView, OwnerMade, OwnerPage, OwnerView, PendingContact, PendingContacts, ReachableAgent,
    ReachablePage, ReachedBy, TicketMade, TokenView, Unblocked, UsageView,
};
use schemars::JsonSchema;

use crate::{
    AgentState, Known, Policy, ProfileChange, Token,
    fields::Fields,
    limits::{CONTACT_MESSAGE_OCTETS_MAX, ENTRIES_PER_REQUEST_MAX},
    org::state::Role,
};

pub(crate) use profiles::listing;
pub use profiles::{
    AgentDetail, FoundAgent, FoundAgents, FoundAll, Listing, OtherView, OwnView, ProfileView, Relationship,
    ViewerView,
};

/// `POST /_admin/owners`.
#[derive(Debug, JsonSchema)]
pub struct NewOwner {
    /// The name.
    pub owner: OwnerName,
}

/// `POST /_admin/agents`.
#[derive(Debug, JsonSchema)]
pub struct NewAgent {
    /// The handle; its owner is made when it is new.
    pub handle: AgentHandle,
    /// Its gate; `allowlist` when absent (ASP-6).
    pub policy: Option<Policy>,
    /// Its allowlist; empty when absent.
    pub allowlist: Option<Vec<AllowEntry>>,
    /// Whether the agent may configure itself; false when absent.
    pub self_service: Option<bool>,
    /// Its token, 1 to 512 octets; made when absent.
    #[schemars(with = "Option<String>")]
    pub token: Option<Token>,
    /// Its profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// `PATCH /_admin/agents/{handle}`: at least one of them.
#[derive(Debug, JsonSchema)]
pub struct AgentChanges {
    /// The gate.
    pub policy: Option<Policy>,
    /// Whether the agent may configure itself.
    pub self_service: Option<bool>,
    /// The profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// `PATCH /agents/me`: at least one of them.
#[derive(Debug, JsonSchema)]
pub struct OwnChanges {
    /// The gate.
    pub policy: Option<Policy>,
    /// The profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// Entries to put on an allowlist.
#[derive(Debug, JsonSchema)]
pub struct NewEntries {
    /// Handles and `@owner.*`, one or more.
    #[schemars(length(min = 1, max = 1000))]
    pub entries: Vec<AllowEntry>,
}

/// Whom to block.
#[derive(Debug, JsonSchema)]
pub struct NewBlock {
    /// The handle, whether or not anybody has it.
    pub handle: AgentHandle,
}

/// `PUT /_admin/orgs/{org}/members/{handle}`.
#[derive(Debug, JsonSchema)]
pub struct NewMember {
    /// All the member's roles; none when absent. One that stands twice is one.
    #[schemars(with = "Option<Vec<Role>>")]
    pub roles: Option<BTreeSet<Role>>,
}

/// `POST /contacts`.
#[derive(Debug, JsonSchema)]
pub struct NewContact {
    /// Whom to ask.
    pub to: AgentHandle,
    /// What to say with it, 1 to 4096 octets.
    pub message: Option<String>,
}

impl NewOwner {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self { owner: fields.owner("owner")? })
    }
}

impl NewAgent {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self {
            handle: fields.handle("handle")?,
            policy: fields.policy("policy")?,
            allowlist: Some(fields.entries("allowlist", 0..=ENTRIES_PER_REQUEST_MAX)?),
            self_service: fields.flag("self_service", "invalid_self_service")?,
            token: fields.token("token")?,
            profile: fields.profile()?,
        })
    }
}

impl AgentChanges {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let self_service = fields.flag("self_service", "invalid_self_service")?;
        let OwnChanges { policy, profile } = OwnChanges::any(fields)?;
        if policy.is_none() && self_service.is_none() && profile.is_empty() {
            let text = "Name policy, self_service, display_name, description, card_body or visibility.";
            return Err(Refusal::malformed(ErrorCode::InvalidPolicy, text));
        }
        Ok(Self { policy, self_service, profile })
    }
}

impl OwnChanges {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let changes = Self::any(fields)?;
        if changes.policy.is_none() && changes.profile.is_empty() {
            let text = "Name policy, display_name, description, card_body or visibility.";
            return Err(Refusal::malformed(ErrorCode::InvalidPolicy, text));
        }
        Ok(changes)
    }

    fn any(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self { policy: fields.policy("policy")?, profile: fields.profile()? })
    }
}

impl NewEntries {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self { entries: fields.entries("entries", 1..=ENTRIES_PER_REQUEST_MAX)? })
    }
}

impl NewBlock {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self { handle: fields.handle("handle")? })
    }
}

impl NewMember {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        Ok(Self { roles: Some(fields.roles("roles")?) })
    }
}

impl NewContact {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let to = fields.handle("to")?;
        Ok(Self { to, message: fields.text("message", CONTACT_MESSAGE_OCTETS_MAX, "invalid_message")? })
    }
}

/// An agent that was made, or has a new token.
pub(crate) fn agent_made(known: Known, token: &Token) -> AgentMade {
    AgentMade {
        token: token.expose().to_owned(),
        policy: known.state.policy(),
        allowlist: known.state.allowlist().clone(),
        profile: ProfileView::from(&known),
        handle: known.handle,
    }
}

impl From<&Known> for AgentView {
    fn from(known: &Known) -> Self {
        Self {
            handle: known.handle.clone(),
            policy: known.state.policy(),
            allowlist: known.state.allowlist().clone(),
            self_service: known.state.configures_itself(),
            created_at: known.state.created_at().unwrap_or_default().0,
            profile: ProfileView::from(known),
        }
    }
}

impl From<&AgentState> for EntriesView {
    fn from(state: &AgentState) -> Self {
        Self { entries: state.allowlist().clone() }
    }
}
