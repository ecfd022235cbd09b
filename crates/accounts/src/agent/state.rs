//! An agent: the fold of its stream. Pure.
//! Must not know: other agents' states, or the rules of a command.

use std::collections::{BTreeMap, BTreeSet};

use plenary_kernel::{AgentHandle, AllowEntry, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use super::{
    attention::Attention,
    event::{AgentEvent, TokensEnded, WhyEnded},
    profile::{AgentKind, Profile},
    tokens::{AgentTokens, IssuedToken},
};
use crate::{Policy, TokenDigest};

/// A block, with its time and its event on the blocker's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedSince {
    /// The time of the block.
    pub at: TimestampMs,
    /// Its version on the blocker's stream.
    pub version: Version,
}

/// An agent. The default is an unused handle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    created_at: Option<TimestampMs>,
    updated_at: Option<TimestampMs>,
    deleted: bool,
    policy: Policy,
    allowlist: BTreeSet<AllowEntry>,
    blocks: BTreeMap<AgentHandle, BlockedSince>,
    self_service: bool,
    #[serde(default)]
    hold_runs: bool,
    #[serde(default)]
    hold_invitations: bool,
    token: Option<TokenDigest>,
    /// The proof of the rule by which the creator of its own token signed in at an issuer.
    #[serde(default)]
    through: Option<TokenDigest>,
    profile: Profile,
    #[serde(default)]
    kind: AgentKind,
    #[serde(default)]
    attention: Option<Attention>,
    /// Its additional tokens.
    #[serde(default)]
    issued: AgentTokens,
    /// Revoked tokens of issuers, by the digest of the signed text, with their expiry.
    #[serde(default)]
    refused: BTreeMap<TokenDigest, TimestampMs>,
}

impl AgentState {
    /// Whether the agent exists now.
    pub fn is_live(&self) -> bool {
        self.created_at.is_some() && !self.deleted
    }
    /// Whether the agent existed and was deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted
    }
    /// Whether the agent exists or existed: the handle stays reserved.
    pub fn is_reserved(&self) -> bool {
        self.created_at.is_some()
    }
    /// Whether this is a token of the agent now, its own or one of the others, or the process acts for it, or a person whose
    /// session of the console was checked with the request.
    pub fn accepts_token(&self, digest: &TokenDigest) -> bool {
        let is_checked = digest.is_inside() || digest.is_person();
        let is_own = || self.token.is_some_and(|token| token.matches(digest));
        self.is_live() && (is_checked || is_own() || self.issued.of(digest).is_some())
    }
    /// The same at a time: a token may have expired without an event yet.
    pub fn accepts_token_at(&self, digest: &TokenDigest, now: TimestampMs) -> bool {
        self.accepts_token(digest) && self.issued.of(digest).is_none_or(|(_, token)| token.is_open(now))
    }
    /// The proofs of the rules of issuers that a token depends on: without one of these rules it is invalid.
    pub(crate) fn rules(&self, digest: &TokenDigest) -> Vec<TokenDigest> {
        let (mut rules, is_below_own) = self.issued.rules(digest);
        let is_own = self.token.is_some_and(|token| token.matches(digest));
        rules.extend(self.through.filter(|_| is_own || is_below_own));
        rules
    }
    /// Its additional tokens.
    pub fn issued(&self) -> &AgentTokens {
        &self.issued
    }
    /// Whether a token of an issuer with this digest was revoked.
    pub(crate) fn has_refused(&self, token: &TokenDigest, now: TimestampMs) -> bool {
        self.refused.get(token).is_some_and(|until| now < *until)
    }
    /// The number of such tokens.
    pub(crate) fn refused_count(&self, now: TimestampMs) -> usize {
        self.refused.values().filter(|until| now < **until).count()
    }
    /// Whether it blocks the other agent (ASP-12).
    pub fn blocks(&self, other: &AgentHandle) -> bool {
        self.blocks.contains_key(other)
    }
    /// Its block of the other agent.
    pub fn blocks_since(&self, other: &AgentHandle) -> Option<BlockedSince> {
        self.blocks.get(other).copied()
    }
    /// The blocked agents, by handle.
    pub fn blocked(&self) -> &BTreeMap<AgentHandle, BlockedSince> {
        &self.blocks
    }
    /// Its contact policy (ASP-6).
    pub fn policy(&self) -> Policy {
        self.policy
    }
    /// Its allowlist (ASP-7).
    pub fn allowlist(&self) -> &BTreeSet<AllowEntry> {
        &self.allowlist
    }
    /// Whether its owner lets it configure itself (ASP-3).
    pub fn configures_itself(&self) -> bool {
        self.self_service
    }
    /// Whether a run that another owner's agent requests waits until a person of its owner releases it.
    pub fn holds_runs(&self) -> bool {
        self.hold_runs
    }
    /// Whether an invitation by another owner's agent waits until a person of its owner accepts it.
    pub fn holds_invitations(&self) -> bool {
        self.hold_invitations
    }
    /// Its profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
    /// Its kind: a person or a program.
    pub fn kind(&self) -> AgentKind {
        self.kind
    }
    /// The last period with an attention level other than `open`.
    pub fn attention(&self) -> Option<Attention> {
        self.attention
    }
    /// Its time of creation.
    pub fn created_at(&self) -> Option<TimestampMs> {
        self.created_at
    }
    /// The time of the last change of its settings, profile or lists by its owner or itself.
    pub fn updated_at(&self) -> Option<TimestampMs> {
        self.updated_at
    }
    pub(crate) fn token(&self) -> Option<TokenDigest> {
        self.token
    }

    /// Records the tokens of issuers that are revoked before their expiry.
    fn refuse(&mut self, at: TimestampMs, event: &TokensEnded) {
        self.refused.retain(|_, until| at < *until);
        if event.why == WhyEnded::Expired {
            return;
        }
        let ended_tokens = event.ended.iter().filter_map(|ended_tokens| self.issued.get(&ended_tokens.id));
        let statement = |token: &IssuedToken| match token.statement {
            Some(statement) => Some((statement.signed, statement.until)),
            // An entry from before issuers' statements were stored is identified by its own digest.
            None => Some((token.token?, token.expires_at?)),
        };
        let statements = ended_tokens.filter(|token| token.issuer.is_some()).filter_map(statement);
        self.refused.extend(statements.filter(|(_, until)| at < *until));
    }

    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &AgentEvent) {
        match event {
            AgentEvent::AgentRegistered(event) => {
                *self = Self {
                    created_at: Some(at),
                    policy: event.policy,
                    allowlist: event.allowlist.iter().cloned().collect(),
                    self_service: event.self_service,
                    token: Some(event.token),
                    through: event.through,
                    kind: event.kind,
                    ..Self::default()
                };
                self.profile.evolve(&event.profile);
            }
            AgentEvent::AgentConfigured(event) => {
                self.policy = event.policy.unwrap_or(self.policy);
                self.self_service = event.self_service.unwrap_or(self.self_service);
                self.hold_runs = event.hold_runs.unwrap_or(self.hold_runs);
                self.hold_invitations = event.hold_invitations.unwrap_or(self.hold_invitations);
                if let Some(change) = event.attention() {
                    self.attention = change.after(self.attention, at);
                }
                self.profile.evolve(&event.profile);
            }
            AgentEvent::EntriesAllowed(event) => self.allowlist.extend(event.entries.iter().cloned()),
            AgentEvent::EntriesDisallowed(event) => {
                for entry in &event.entries {
                    self.allowlist.remove(entry);
                }
            }
            AgentEvent::AgentBlocked(event) => {
                self.blocks.insert(event.blocked.clone(), BlockedSince { at, version });
            }
            AgentEvent::AgentUnblocked(event) => {
                self.blocks.remove(&event.blocked);
            }
            AgentEvent::TokenRotated(event) => {
                self.token = Some(event.new);
                self.through = event.through;
                self.issued.end(&event.ended);
            }
            AgentEvent::TokenIssued(event) => self.issued.issue(at, event),
            AgentEvent::GrantRenewed(event) => self.issued.renew(event),
            AgentEvent::TokensEnded(event) => {
                self.refuse(at, event);
                self.issued.end(&event.ended);
            }
            AgentEvent::AgentDeleted(_) => {
                // The agents that it blocked stay blocked in the channels that it began.
                let blocks = std::mem::take(&mut self.blocks);
                *self = Self { created_at: self.created_at, deleted: true, blocks, ..Self::default() };
            }
        }
        let is_of_tokens = matches!(
            event,
            AgentEvent::TokenRotated(_)
                | AgentEvent::TokenIssued(_)
                | AgentEvent::GrantRenewed(_)
                | AgentEvent::TokensEnded(_)
        );
        if !is_of_tokens {
            self.updated_at = Some(at);
        }
    }
}
