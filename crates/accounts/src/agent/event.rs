//! The events of an agent's stream, and their stored form. The forms are frozen: a change is a new form, and the old
//! form stays readable. Pure.

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs};
use serde::{Deserialize, Serialize};

use super::{
    attention::{AttentionChange, AttentionLevel},
    profile::{AgentKind, ProfileChange},
    tokens::{GrantClient, IssuerStatement},
};
use crate::{Actor, Policy, Scope, TokenDigest};

/// An event of an agent. `by` is its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a decision makes a few and a fold reads one at a time; nothing keeps them"
)]
pub enum AgentEvent {
    /// The agent was registered.
    AgentRegistered(AgentRegistered),
    /// Settings or the profile changed.
    AgentConfigured(AgentConfigured),
    /// Entries were added to its allowlist.
    EntriesAllowed(AllowedEntries),
    /// Entries were removed from its allowlist.
    EntriesDisallowed(DisallowedEntries),
    /// It blocked another agent (ASP-12).
    AgentBlocked(Block),
    /// It lifted a block.
    AgentUnblocked(Block),
    /// Its token was replaced; the old one is invalid.
    TokenRotated(TokenRotated),
    /// It was deleted with its tokens; the handle stays reserved.
    AgentDeleted(AgentDeleted),
    /// It got an additional token, or a client got a grant.
    TokenIssued(TokenIssued),
    /// A client used its grant for the first time, or renewed it.
    GrantRenewed(GrantRenewed),
    /// Additional tokens ended.
    TokensEnded(TokensEnded),
}

/// See [`AgentEvent::AgentRegistered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRegistered {
    /// The creator.
    pub by: Actor,
    /// Its contact policy.
    pub policy: Policy,
    /// Its allowlist.
    pub allowlist: Vec<AllowEntry>,
    /// Whether it may configure itself.
    pub self_service: bool,
    /// The digest of its token.
    pub token: TokenDigest,
    /// The proof of the rule by which the creator signed in at an issuer: without such a rule the token is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<TokenDigest>,
    /// Whether it stands for a person.
    #[serde(default, skip_serializing_if = "AgentKind::is_agent")]
    pub kind: AgentKind,
    /// Its profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// See [`AgentEvent::AgentConfigured`]. Absent members are unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConfigured {
    /// The cause.
    pub by: Actor,
    /// The new contact policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The new permission to configure itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_service: Option<bool>,
    /// Whether runs that others ask for are held from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_runs: Option<bool>,
    /// Whether invitations by others are held from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_invitations: Option<bool>,
    /// The new attention level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionLevel>,
    /// The end of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_until: Option<TimestampMs>,
    /// The changes of the profile.
    #[serde(flatten)]
    pub profile: ProfileChange,
}

/// See [`AgentEvent::EntriesAllowed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedEntries {
    /// The cause.
    pub by: Actor,
    /// The new entries.
    pub entries: Vec<AllowEntry>,
    /// Whether they count towards the quota of the cause's owner. Those of an accepted contact do not, and older events say
    /// nothing: they were not counted, so a recount leaves them out too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
}

/// See [`AgentEvent::EntriesDisallowed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisallowedEntries {
    /// The cause.
    pub by: Actor,
    /// The removed entries.
    pub entries: Vec<AllowEntry>,
}

/// A block, or the end of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The cause.
    pub by: Actor,
    /// The blocked agent.
    pub blocked: AgentHandle,
}

/// See [`AgentEvent::TokenRotated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRotated {
    /// The cause.
    pub by: Actor,
    /// The digest of the invalid token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<TokenDigest>,
    /// The digest of the new one.
    pub new: TokenDigest,
    /// The proof of the rule by which the creator signed in at an issuer: without such a rule the token is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<TokenDigest>,
    /// The tokens that were made with the old one and ended with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedToken>,
}

/// See [`AgentEvent::AgentDeleted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDeleted {
    /// The cause.
    pub by: Actor,
    /// The digest of its own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// Its additional tokens, which ended too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedToken>,
}

/// See [`AgentEvent::TokenIssued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenIssued {
    /// The creator.
    pub by: Actor,
    /// Its id: a ULID.
    pub id: String,
    /// The digest of the token; absent for a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// The id of the parent token, `own` for the agent's own; absent if the owner or the operator created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its scope.
    pub scope: Scope,
    /// The name that its creator chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its expiry; an unused grant ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
    /// The client of a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<GrantClient>,
    /// The configured name of the issuer whose token was exchanged for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The issuer's statement.
    #[serde(default, rename = "word", skip_serializing_if = "Option::is_none")]
    pub statement: Option<IssuerStatement>,
    /// The resource that it is for, if narrower than that of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The proof of the rule by which the creator signed in at an issuer: without such a rule the token is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<TokenDigest>,
}

/// See [`AgentEvent::GrantRenewed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRenewed {
    /// The grant.
    pub id: String,
    /// The digest of the part that all refresh tokens of the grant share.
    pub key: TokenDigest,
    /// The digest of the valid refresh token.
    pub refresh: TokenDigest,
    /// The previous expiry of the unused grant, at its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_until: Option<TimestampMs>,
    /// The new expiry, at its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
}

/// An ended token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedToken {
    /// Its id.
    pub id: String,
    /// Its digest; absent for a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenDigest>,
    /// Its expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<TimestampMs>,
}

/// The reason why tokens ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyEnded {
    /// They were revoked.
    Revoked,
    /// They expired.
    Expired,
    /// A code or a refresh token was used twice.
    Reused,
}

/// See [`AgentEvent::TokensEnded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensEnded {
    /// The cause; absent after expiry and after a repeated use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// The reason.
    pub why: WhyEnded,
    /// The ended tokens, including those made with them.
    pub ended: Vec<EndedToken>,
}

impl AgentConfigured {
    /// The change of the attention level.
    pub fn attention(&self) -> Option<AttentionChange> {
        self.attention.map(|level| AttentionChange { level, until: self.attention_until })
    }
}

plenary_engine::stored_forms! {
    AgentEvent: AgentRegistered, AgentConfigured, EntriesAllowed, EntriesDisallowed, AgentBlocked,
    AgentUnblocked, TokenRotated, AgentDeleted, TokenIssued, GrantRenewed, TokensEnded
}
