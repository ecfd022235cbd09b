//! The commands on an agent's stream. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::{AgentHandle, AllowEntry};
use serde::{Deserialize, Serialize};

use super::{
    attention::AttentionChange,
    profile::{AgentKind, ProfileChange},
    tokens::{GrantClient, IssuerStatement},
};
use crate::{Authority, Policy, Scope, TokenDigest};
use plenary_kernel::TimestampMs;

/// Creates an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterAgent {
    /// The authority.
    pub authority: Authority,
    /// The new handle.
    pub handle: AgentHandle,
    /// Its contact policy.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// The digest of its token.
    pub token: TokenDigest,
    /// Whether it stands for a person.
    pub kind: AgentKind,
    /// Its profile.
    pub profile: ProfileChange,
}

impl RegisterAgent {
    /// A program with the default policy, an empty allowlist and no profile.
    pub fn new(authority: Authority, handle: AgentHandle, token: TokenDigest) -> Self {
        Self {
            authority,
            handle,
            policy: Policy::default(),
            allowlist: Vec::new(),
            self_service: false,
            token,
            kind: AgentKind::Agent,
            profile: ProfileChange::default(),
        }
    }
}

/// The facts of `RegisterAgent` from other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterFacts {
    /// Whether the authority's token is still valid.
    pub is_authorized: bool,
    /// Whether the handle's owner exists.
    pub owner_exists: bool,
    /// Whether the token is in use already.
    pub token_exists: bool,
    /// Whether the owner acts itself and has reached its limit of agents.
    pub owner_is_full: bool,
    /// The proof of the rule by which the actor signed in at an issuer, if it did.
    pub through: Option<TokenDigest>,
}

/// The outcome of `RegisterAgent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterOutcome {
    /// Whether the owner is created with its agent.
    pub makes_owner: bool,
}

/// Changes an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditAgent {
    /// The authority.
    pub authority: Authority,
    /// The agent.
    pub handle: AgentHandle,
    /// The change.
    pub edit: AgentEdit,
}

/// The facts of `EditAgent` from other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditFacts {
    /// Whether the token of an authority other than the agent is still valid.
    pub is_authorized: bool,
    /// Whether the new token is in use already.
    pub token_exists: bool,
    /// The proof of the rule by which the actor signed in at an issuer, if it did.
    pub through: Option<TokenDigest>,
}

/// One change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a request makes one, and nothing keeps it")]
pub enum AgentEdit {
    /// Changes settings.
    Configure(Settings),
    /// Adds entries to the allowlist.
    Allow(Vec<AllowEntry>),
    /// Removes an entry from the allowlist.
    Disallow(AllowEntry),
    /// Blocks a handle, whether or not an agent has it.
    Block(AgentHandle),
    /// Lifts a block.
    Unblock(AgentHandle),
    /// Replaces the token.
    RotateToken(TokenDigest),
    /// Adds a token, or a grant for a client.
    IssueToken(NewToken),
    /// Revokes an additional token, and all tokens made with it.
    EndToken(String),
    /// Deletes the agent.
    Delete,
}

/// The token of `AgentEdit::IssueToken`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The digest of the token; `None` for a grant.
    pub token: Option<TokenDigest>,
    /// Its scope.
    pub scope: Scope,
    /// Its expiry; `None` if it ends with its parent.
    pub expires_at: Option<TimestampMs>,
    /// The name that its creator chose.
    pub name: Option<String>,
    /// The client of a grant.
    pub client: Option<GrantClient>,
    /// The issuer whose token was exchanged for it, if any.
    pub issuer: Option<String>,
    /// The issuer's statement.
    pub statement: Option<IssuerStatement>,
    /// The resource that it is for, if narrower than that of its parent.
    pub resource: Option<String>,
}

/// The settings of `AgentEdit::Configure`; absent ones stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The contact policy.
    pub policy: Option<Policy>,
    /// The permission to configure itself; the agent itself can't change it.
    pub self_service: Option<bool>,
    /// Whether runs that others ask for are held; the agent itself can't change it.
    pub hold_runs: Option<bool>,
    /// Whether invitations by others are held; the agent itself can't change it.
    pub hold_invitations: Option<bool>,
    /// The attention level; the agent needs no permission to change it.
    pub attention: Option<AttentionChange>,
    /// The profile.
    pub profile: ProfileChange,
}

impl Settings {
    /// Whether it has a setting that the agent itself can never change.
    pub fn sets_what_the_owner_decides(&self) -> bool {
        self.self_service.is_some() || self.hold_runs.is_some() || self.hold_invitations.is_some()
    }
    /// Whether the agent can change all of it without the owner's permission.
    pub fn is_attention_alone(&self) -> bool {
        let attention = self.attention;
        attention.is_some() && *self == Self { attention, ..Self::default() }
    }
}

/// The outcome of `EditAgent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditOutcome {
    /// The eviction to carry out, now that the events are on disk.
    pub eviction: Option<Eviction>,
    /// The id of the issued token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<String>,
}

/// An agent must leave sessions because of a block or a deletion. `id` distinguishes it from an earlier eviction of the same
/// agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Eviction {
    /// The blocked agent leaves what it shares with the blocker (ASP-14).
    Pair {
        /// The blocking agent.
        blocker: AgentHandle,
        /// The leaving agent.
        blocked: AgentHandle,
        /// A ULID.
        id: String,
    },
    /// The agent is deleted and leaves all sessions.
    Agent {
        /// The leaving agent.
        agent: AgentHandle,
        /// A ULID.
        id: String,
    },
}
