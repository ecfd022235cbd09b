//! The requests and responses of the account operations (wire.md D.1, 2.2). One definition each: the handlers, the
//! description and the clients derive from it. Pure.
//! Must not know: HTTP, or permissions.

mod account;
mod profiles;
mod tokens;

use std::collections::BTreeSet;

use plenary_kernel::{AgentHandle, AllowEntry, ContactId, OwnerName, Refusal, SovereignHandle, TimestampMs};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    AgentKind, AgentState, Attention, AttentionLevel, KnownAgent, Policy, ProfileChange, Token,
    fields::Fields,
    limits::{
        CONTACT_MESSAGE_BYTES_MAX, ENTRIES_PER_REQUEST_MAX, ROLES_PER_MEMBER_MAX, TOKEN_BYTES_MAX,
        TOKEN_BYTES_MIN,
    },
    org::state::Role,
};

pub(crate) use account::{
    AccountAgentMade, AccountAgentPage, AccountPicker, AccountView, NewAccountAgent, OwnedAgent,
    SetAccountAgent,
};
pub use profiles::{
    AgentDetail, FoundAgent, FoundAgents, ListingProfile, OtherView, OwnView, ProfileView, Relationship,
    ViewerView,
};

pub(crate) use tokens::TokenRequest;
pub use tokens::{AgentTokenList, AgentTokenView, ClientView, MadeToken};

/// `POST /_admin/owners`.
#[derive(Debug, JsonSchema)]
pub struct NewOwner {
    /// The name.
    pub owner: OwnerName,
}

/// `POST /_admin/agents`.
#[derive(Debug, JsonSchema)]
pub struct NewAgent {
    /// The handle; its owner is created if it is new.
    pub handle: AgentHandle,
    /// Its contact policy; `allowlist` when absent (ASP-6).
    pub policy: Option<Policy>,
    /// Its allowlist; empty when absent.
    #[schemars(length(max = ENTRIES_PER_REQUEST_MAX))]
    pub allowlist: Option<Vec<AllowEntry>>,
    /// Whether the agent may configure itself; false when absent.
    pub self_service: Option<bool>,
    /// Its token, 16 to 512 printable ASCII characters without spaces; generated when absent.
    #[schemars(with = "Option<String>", length(min = TOKEN_BYTES_MIN, max = TOKEN_BYTES_MAX), regex(pattern = "^[!-~]*$"))]
    pub token: Option<Token>,
    /// Its profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// `PATCH /_admin/agents/{handle}`: at least one member.
#[derive(Debug, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct AgentChanges {
    /// The contact policy.
    pub policy: Option<Policy>,
    /// Whether the agent may configure itself.
    pub self_service: Option<bool>,
    /// Whether runs requested by other owners' agents wait until a person of its owner releases them; only the owner and the
    /// operator decide.
    pub hold_runs: Option<bool>,
    /// Whether invitations of others to sessions wait until a person of its owner accepts them; only the owner and the operator
    /// decide.
    pub hold_invitations: Option<bool>,
    /// Its attention level.
    pub attention: Option<AttentionLevel>,
    /// Its end, in ms.
    #[schemars(with = "Option<u64>")]
    pub attention_until: Option<TimestampMs>,
    /// The profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// `PATCH /agents/me`: at least one member.
#[derive(Debug, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct OwnChanges {
    /// The contact policy.
    pub policy: Option<Policy>,
    /// Its attention level.
    pub attention: Option<AttentionLevel>,
    /// Its end, in ms.
    #[schemars(with = "Option<u64>")]
    pub attention_until: Option<TimestampMs>,
    /// The profile.
    #[schemars(flatten)]
    pub profile: ProfileChange,
}

/// Entries to add to an allowlist.
#[derive(Debug, JsonSchema)]
pub struct NewEntries {
    /// Handles and `@owner.*`, one or more.
    #[schemars(length(min = 1, max = ENTRIES_PER_REQUEST_MAX))]
    pub entries: Vec<AllowEntry>,
}

/// The agent to block.
#[derive(Debug, JsonSchema)]
pub struct NewBlock {
    /// The handle; the agent may not exist.
    pub handle: AgentHandle,
}

/// `PUT /_admin/orgs/{org}/members/{handle}`.
#[derive(Debug, JsonSchema)]
pub struct NewMember {
    /// All roles of the member; none when absent. Duplicates count once.
    #[schemars(with = "Option<Vec<Role>>", length(max = ROLES_PER_MEMBER_MAX))]
    pub roles: Option<BTreeSet<Role>>,
}

/// `POST /contacts`.
#[derive(Debug, JsonSchema)]
pub struct NewContact {
    /// The agent to ask.
    pub to: AgentHandle,
    /// A message for the request, 1 to 4096 bytes.
    #[schemars(length(min = 1, max = CONTACT_MESSAGE_BYTES_MAX))]
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
        let OwnChanges { policy, attention, attention_until, profile } = OwnChanges::any(fields)?;
        let hold_runs = fields.flag("hold_runs", "invalid_hold_runs")?;
        let hold_invitations = fields.flag("hold_invitations", "invalid_hold_invitations")?;
        let changes_holds = hold_runs.is_some() || hold_invitations.is_some();
        let is_none = policy.is_none() && self_service.is_none() && !changes_holds;
        if is_none && attention.is_none() && profile.is_empty() {
            let text = "Name policy, self_service, hold_runs, hold_invitations, attention, display_name, description, \
                        card_body or visibility.";
            return Err(Refusal::malformed("invalid_policy", text));
        }
        Ok(Self { policy, self_service, hold_runs, hold_invitations, attention, attention_until, profile })
    }
}

impl OwnChanges {
    pub(crate) fn read(fields: &Fields) -> Result<Self, Refusal> {
        let changes = Self::any(fields)?;
        if changes.policy.is_none() && changes.attention.is_none() && changes.profile.is_empty() {
            let text = "Name policy, attention, display_name, description, card_body or visibility.";
            return Err(Refusal::malformed("invalid_policy", text));
        }
        Ok(changes)
    }

    fn any(fields: &Fields) -> Result<Self, Refusal> {
        let (attention, attention_until) = fields.attention()?;
        Ok(Self { policy: fields.policy("policy")?, attention, attention_until, profile: fields.profile()? })
    }

    /// Whether the body names nothing that needs the owner's permission, whatever its values.
    pub(crate) fn is_attention_alone(fields: &Fields) -> bool {
        // Of these, null removes the text.
        let mut texts = ["display_name", "description", "card_body"].iter();
        let needs_leave =
            texts.any(|name| fields.has_member(name)) || fields.has("policy") || fields.has("visibility");
        !needs_leave && (fields.has("attention") || fields.has("attention_until"))
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
        Ok(Self { to, message: fields.text("message", CONTACT_MESSAGE_BYTES_MAX, "invalid_message")? })
    }
}

/// A new owner with its token, which is shown only once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnerMade {
    /// The name.
    pub owner: OwnerName,
    /// The token, `plw_…`.
    pub token: String,
}

/// An owner in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnerView {
    /// The name.
    pub owner: OwnerName,
    /// Its time of creation, in ms since the epoch.
    pub created_at: u64,
    /// Bytes of its events and contents.
    pub stored_bytes: u64,
    /// Its events.
    pub stored_events: u64,
}

/// The storage of an owner, and its quota.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UsageView {
    /// The owner.
    pub owner: OwnerName,
    /// Bytes of its events and contents.
    pub stored_bytes: u64,
    /// The quota of bytes; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes_max: Option<u64>,
    /// Its events.
    pub stored_events: u64,
    /// The quota of events; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_events_max: Option<u64>,
}

/// A page of owners, by name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnerPage {
    /// The owners.
    pub owners: Vec<OwnerView>,
    /// The `cursor` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A new agent with its token, which is shown only once.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentMade {
    /// The handle.
    pub handle: AgentHandle,
    /// The token, `pla_…` unless it was chosen.
    pub token: String,
    /// Its contact policy.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: BTreeSet<AllowEntry>,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
}

impl AgentMade {
    pub(crate) fn new(known: KnownAgent, token: &Token) -> Self {
        Self {
            token: token.expose().to_owned(),
            policy: known.state.policy(),
            allowlist: known.state.allowlist().clone(),
            profile: ProfileView::from(&known),
            handle: known.handle,
        }
    }
}

/// An agent as its owner, the operator and itself see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentView {
    /// The handle.
    pub handle: AgentHandle,
    /// Its contact policy.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: BTreeSet<AllowEntry>,
    /// Whether it is a program or a person.
    pub kind: AgentKind,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// Whether runs that others ask for wait until a person of its owner releases them; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hold_runs: bool,
    /// Whether invitations of others to sessions wait until a person of its owner accepts them; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hold_invitations: bool,
    /// The number of its additional tokens and grants.
    pub tokens_issued: usize,
    /// Its time of creation, in ms since the epoch.
    pub created_at: u64,
    /// The last period with an attention level other than `open`; over if its `until` is past. Absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileView,
}

impl From<&KnownAgent> for AgentView {
    fn from(known: &KnownAgent) -> Self {
        Self {
            handle: known.handle.clone(),
            policy: known.state.policy(),
            allowlist: known.state.allowlist().clone(),
            kind: known.state.kind(),
            self_service: known.state.configures_itself(),
            hold_runs: known.state.holds_runs(),
            hold_invitations: known.state.holds_invitations(),
            tokens_issued: known.state.issued().len(),
            created_at: known.state.created_at().unwrap_or_default().0,
            attention: known.state.attention(),
            profile: ProfileView::from(known),
        }
    }
}

/// A page of agents, by handle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentPage {
    /// The agents.
    pub agents: Vec<AgentView>,
    /// The `cursor` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Why two agents may contact each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachedBy {
    /// They have one owner, and trust each other.
    SameOwner,
    /// One of the two allowlists names the other agent.
    Allowlisted,
    /// Both are open.
    Open,
}

/// An agent that another can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReachableAgent {
    /// The handle.
    pub handle: AgentHandle,
    /// Why they may contact each other.
    pub trust: ReachedBy,
}

/// A page of reachable agents, by handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReachablePage {
    /// The agents.
    pub agents: Vec<ReachableAgent>,
    /// The `cursor` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A new token, shown only once. The old token is no longer valid.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenView {
    /// The token.
    pub token: String,
}

/// An allowlist.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntriesView {
    /// Every entry.
    pub entries: BTreeSet<AllowEntry>,
}

impl From<&AgentState> for EntriesView {
    fn from(state: &AgentState) -> Self {
        Self { entries: state.allowlist().clone() }
    }
}

/// A block.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlockView {
    /// The id of the blocked agent: its handle, which is never reused.
    pub blocked_agent_id: AgentHandle,
    /// Its handle.
    pub blocked_handle: AgentHandle,
    /// The time of the block, in ms since the epoch.
    pub created_at: u64,
}

/// A page of blocks, by handle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlockPage {
    /// The blocks.
    pub blocks: Vec<BlockView>,
    /// The `cursor` of the next page, or null.
    pub next_cursor: Option<String>,
}

/// A block that was removed, or did not exist.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnblockReceipt {
    /// Always true.
    pub unblocked: bool,
}

/// A new or existing organisation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrgMade {
    /// Its name.
    pub org: OwnerName,
}

/// An organisation, with a page of its members, by handle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrgView {
    /// Its name.
    pub org: OwnerName,
    /// Its time of creation, in ms since the epoch.
    pub created_at: u64,
    /// The members.
    pub members: Vec<MemberView>,
    /// The `cursor` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A member of an organisation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemberView {
    /// The member.
    pub handle: SovereignHandle,
    /// Its roles.
    pub roles: BTreeSet<Role>,
}

/// A contact request that waits for an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingContact {
    /// The request.
    pub request_id: ContactId,
    /// The requesting agent.
    pub from: AgentHandle,
    /// The requested agent; it may not exist.
    pub to: AgentHandle,
    /// The message of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The time of the request, in ms since the epoch.
    #[schemars(with = "u64")]
    pub created_at: TimestampMs,
}

/// `GET /contacts`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingContacts {
    /// Requests to the agent, oldest first, or requests by the agent, by handle.
    pub contacts: Vec<PendingContact>,
    /// The `cursor` of the next page; present if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An accepted contact request; the agent may not exist.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContactMade {
    /// The request.
    pub request_id: ContactId,
}

/// It is done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Okay {
    /// Always true.
    pub ok: bool,
}

/// A ticket instead of a token.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TicketMade {
    /// For `/connect?ticket=`, once.
    pub ticket: String,
    /// Seconds until it expires.
    pub expires_in: u64,
}
