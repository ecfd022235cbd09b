//! The commands on an agent's stream. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::{AgentHandle, AllowEntry};
use serde::{Deserialize, Serialize};

use super::{
    attention::AttentionChange,
    profile::{AgentKind, ProfileChange},
    tokens::{GrantClient, IssuerWord},
};
use crate::{Authority, Policy, Scope, TokenDigest};
use plenary_kernel::TimestampMs;

/// Makes an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterAgent {
    /// In whose name.
    pub authority: Authority,
    /// The handle it gets.
    pub handle: AgentHandle,
    /// Its gate.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// The digest of its token.
    pub token: TokenDigest,
    /// Whether a person acts in its name.
    pub kind: AgentKind,
    /// Its profile.
    pub profile: ProfileChange,
}

/// What `RegisterAgent` must know of other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterFacts {
    /// Whether the authority's token is still valid.
    pub authority_holds: bool,
    /// Whether the handle's owner is there already.
    pub owner_exists: bool,
    /// Whether somebody has this token already.
    pub token_exists: bool,
    /// Whether the owner, acting itself, has as many agents as it may.
    pub owner_is_full: bool,
}

/// What became of `RegisterAgent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterOutcome {
    /// Whether the owner comes into being with its agent.
    pub makes_owner: bool,
}

/// Changes an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditAgent {
    /// In whose name.
    pub authority: Authority,
    /// The agent.
    pub handle: AgentHandle,
    /// What is to change.
    pub edit: AgentEdit,
}

/// What `EditAgent` must know of other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditFacts {
    /// Whether the token of an authority other than the agent is still valid.
    pub authority_holds: bool,
    /// Whether somebody has the new token already.
    pub token_exists: bool,
}

/// One change of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a request makes one, and nothing keeps it")]
pub enum AgentEdit {
    /// Sets what is given.
    Configure(Settings),
    /// Puts entries on the allowlist.
    Allow(Vec<AllowEntry>),
    /// Takes an entry off.
    Disallow(AllowEntry),
    /// Blocks another agent, whether or not there is one.
    Block(AgentHandle),
    /// Lifts a block.
    Unblock(AgentHandle),
    /// Replaces the token.
    RotateToken(TokenDigest),
    /// Gives it one more token, or a client a grant.
    IssueToken(NewToken),
    /// Ends one of its tokens beside its own, and what was made with it.
    EndToken(String),
    /// Deletes the agent.
    Delete,
}

/// What `AgentEdit::IssueToken` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The digest of what its bearer sends; none of a grant.
    pub token: Option<TokenDigest>,
    /// What it may do.
    pub scope: Scope,
    /// When it ends by itself; none where it ends when its parent does.
    pub expires_at: Option<TimestampMs>,
    /// What its maker calls it.
    pub name: Option<String>,
    /// For which client, where it is a grant.
    pub client: Option<GrantClient>,
    /// By which issuer's word it is given, where it is by one's.
    pub issuer: Option<String>,
    /// What the issuer said.
    pub word: Option<IssuerWord>,
}

/// What `AgentEdit::Configure` sets; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The gate.
    pub policy: Option<Policy>,
    /// The leave to configure itself; the agent itself can't give it.
    pub self_service: Option<bool>,
    /// Whether runs that others ask for are held; the agent itself can't change it.
    pub hold_runs: Option<bool>,
    /// Whether invitations by others are held; the agent itself can't change it.
    pub hold_invitations: Option<bool>,
    /// What it lets itself be disturbed by; the agent itself needs no leave for it.
    pub attention: Option<AttentionChange>,
    /// The profile.
    pub profile: ProfileChange,
}

impl Settings {
    /// Whether something is set that the agent itself never sets.
    #[must_use]
    pub fn sets_what_the_owner_decides(&self) -> bool {
        self.self_service.is_some() || self.hold_runs.is_some() || self.hold_invitations.is_some()
    }
    /// Whether nothing is set that needs the owner's leave.
    #[must_use]
    pub fn is_attention_alone(&self) -> bool {
        let attention = self.attention;
        attention.is_some() && *self == Self { attention, ..Self::default() }
    }
}

/// What became of `EditAgent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditOutcome {
    /// Who has to leave what, now that the events are on disk.
    pub eviction: Option<Eviction>,
    /// The id of the token that was issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<String>,
}

/// Somebody has to leave sessions because of a block or a deletion. `id` tells it from an earlier one of the same
/// agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Eviction {
    /// The blocked agent leaves what it shares with the blocker (ASP-14).
    Pair {
        /// Who blocks.
        blocker: AgentHandle,
        /// Who leaves.
        blocked: AgentHandle,
        /// A ULID.
        id: String,
    },
    /// The agent is gone and leaves everything.
    Agent {
        /// Who leaves.
        agent: AgentHandle,
        /// A ULID.
        id: String,
    },
}
