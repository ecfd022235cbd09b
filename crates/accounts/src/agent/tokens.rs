//! Additional tokens of an agent: scoped, with an expiry, each below the token that created it; and grants, which a
//! person gives to a client. A grant is not a credential; it is the parent of the client's tokens. Pure.
//! Must not know: how a token is sent, or OAuth's messages.

use std::collections::BTreeMap;

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::event::{EndedToken, GrantRenewed, TokenIssued, WhyEnded};
use crate::{Scope, TokenDigest};

/// The parent id of tokens that were made with the agent's own token.
pub const OWN: &str = "own";

/// The client of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantClient {
    /// Its OAuth client id.
    pub client_id: String,
    /// The name that the person saw.
    pub name: String,
    /// The requested resource.
    pub resource: String,
    /// Its expiry after its first use.
    pub until: TimestampMs,
}

/// The statement of an issuer behind a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerStatement {
    /// The digest of what the issuer signed. One text may have many signatures, so a token that is ended is known again by
    /// this.
    pub signed: TokenDigest,
    /// The expiry of the issuer's token.
    pub until: TimestampMs,
    /// The proof of the rule that admits it: without such a rule the token is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<TokenDigest>,
}

/// A token, or a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedToken {
    /// The digest of the token; `None` for a grant.
    pub token: Option<TokenDigest>,
    /// The id of its parent token, [`OWN`] for the agent's own; `None` if the owner or the operator created it.
    pub parent: Option<String>,
    /// Its scope.
    pub scope: Scope,
    /// The name that its creator chose.
    pub name: Option<String>,
    /// Its time of creation.
    pub created_at: TimestampMs,
    /// Its expiry.
    pub expires_at: Option<TimestampMs>,
    /// The client of a grant.
    pub client: Option<GrantClient>,
    /// The issuer whose token was exchanged for it.
    #[serde(default)]
    pub issuer: Option<String>,
    /// The issuer's statement.
    #[serde(default, rename = "word")]
    pub statement: Option<IssuerStatement>,
    /// The resource that it is for, if narrower than that of its parent.
    #[serde(default)]
    pub(crate) resource: Option<String>,
    /// The proof of the rule by which its creator signed in at an issuer.
    #[serde(default)]
    pub(crate) through: Option<TokenDigest>,
    /// The digest of the part that all refresh tokens of a grant share; `None` before its first use.
    pub(crate) key: Option<TokenDigest>,
    /// The digest of the valid refresh token.
    pub(crate) refresh: Option<TokenDigest>,
}

impl IssuedToken {
    /// Whether it has not expired.
    pub fn is_open(&self, now: TimestampMs) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// The tokens of one agent, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentTokens(BTreeMap<String, IssuedToken>);

impl AgentTokens {
    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &IssuedToken)> {
        self.0.iter().map(|(id, token)| (id.as_str(), token))
    }
    /// The token with an id.
    pub fn get(&self, id: &str) -> Option<&IssuedToken> {
        self.0.get(id)
    }
    /// The resource that a token is for: its own, else that of its nearest ancestor that has one.
    pub fn resource_of<'a>(&'a self, token: &'a IssuedToken) -> Option<&'a str> {
        let parent = |token: &&IssuedToken| self.get(token.parent.as_deref()?);
        let mut line = std::iter::successors(Some(token), parent);
        line.find_map(|token| {
            token.resource.as_ref().or(token.client.as_ref().map(|client| &client.resource))
        })
        .map(String::as_str)
    }
    /// The token with a digest, or the grant with this id.
    pub fn of(&self, digest: &TokenDigest) -> Option<(&str, &IssuedToken)> {
        if let Some(grant) = digest.grant() {
            let (id, token) = self.0.get_key_value(grant)?;
            return token.client.is_some().then_some((id, token));
        }
        self.iter().find(|(_, token)| token.token.is_some_and(|token| token.matches(digest)))
    }
    /// The proofs of the rules that a token depends on: of its issuer's statement, of its creator's sign-in at an issuer, and
    /// those of its ancestors. And whether the agent's own token is one of these.
    pub(crate) fn rules(&self, digest: &TokenDigest) -> (Vec<TokenDigest>, bool) {
        let (mut rules, mut is_below_own) = (Vec::new(), false);
        for id in self.of(digest).into_iter().flat_map(|(id, _)| self.line(id)) {
            is_below_own |= id == OWN;
            if let Some(token) = self.get(id) {
                rules.extend(
                    token.statement.and_then(|statement| statement.rule).into_iter().chain(token.through),
                );
            }
        }
        (rules, is_below_own)
    }
    /// The number of valid tokens that issuers' tokens were exchanged for.
    pub(crate) fn of_issuers(&self, now: TimestampMs) -> usize {
        self.iter().filter(|(_, token)| token.issuer.is_some() && token.is_open(now)).count()
    }
    /// A token and all its descendants, which end with it.
    pub(crate) fn with_descendants(&self, id: &str) -> Vec<EndedToken> {
        self.select_ended(|token_id| self.is_within(token_id, id))
    }
    /// The descendants of the agent's own token.
    pub(crate) fn of_own(&self) -> Vec<EndedToken> {
        self.select_ended(|id| self.is_within(id, OWN))
    }
    pub(crate) fn expired_tokens(&self, now: TimestampMs) -> Vec<EndedToken> {
        let has_expired = |id: &str| self.0.get(id).is_some_and(|token| !token.is_open(now));
        self.select_ended(|id| self.line(id).any(has_expired))
    }
    pub(crate) fn all(&self) -> Vec<EndedToken> {
        self.select_ended(|_| true)
    }
    /// The tokens of a grant except the `newest_max` newest.
    pub(crate) fn surplus_tokens(&self, grant: &str, newest_max: usize) -> Vec<EndedToken> {
        let tokens: Vec<_> =
            self.iter().filter(|(_, token)| token.parent.as_deref() == Some(grant)).collect();
        let surplus_count = tokens.len().saturating_sub(newest_max);
        tokens[..surplus_count].iter().flat_map(|(id, _)| self.with_descendants(id)).collect()
    }
    /// The number of tokens below the topmost ancestor of a token.
    pub(crate) fn below_topmost(&self, id: &str) -> usize {
        let topmost = self.line(id).take_while(|above| *above != OWN).last().unwrap_or(id);
        self.iter().filter(|(one, _)| *one != topmost && self.is_within(one, topmost)).count()
    }
    /// Whether a token equals another one or descends from it.
    pub(crate) fn is_within(&self, id: &str, ancestor: &str) -> bool {
        self.line(id).any(|above| above == ancestor)
    }

    /// A token, its parent, and so on.
    fn line<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(id), |id| self.0.get(*id)?.parent.as_deref())
    }

    fn select_ended(&self, is_ended: impl Fn(&str) -> bool) -> Vec<EndedToken> {
        let ending = self.iter().filter(|(id, _)| is_ended(id));
        let to_ended = |(id, token): (&str, &IssuedToken)| EndedToken {
            id: id.to_owned(),
            token: token.token,
            expires_at: token.expires_at,
        };
        ending.map(to_ended).collect()
    }

    pub(crate) fn issue(&mut self, at: TimestampMs, event: &TokenIssued) {
        let token = IssuedToken {
            token: event.token,
            parent: event.parent.clone(),
            scope: event.scope.clone(),
            name: event.name.clone(),
            created_at: at,
            expires_at: event.expires_at,
            client: event.client.clone(),
            issuer: event.issuer.clone(),
            statement: event.statement,
            resource: event.resource.clone(),
            through: event.through,
            key: None,
            refresh: None,
        };
        self.0.insert(event.id.clone(), token);
    }

    pub(crate) fn renew(&mut self, event: &GrantRenewed) {
        if let Some(grant) = self.0.get_mut(&event.id) {
            grant.key = Some(event.key);
            grant.refresh = Some(event.refresh);
            grant.expires_at = event.expires_at.or(grant.expires_at);
        }
    }

    pub(crate) fn end(&mut self, ended: &[EndedToken]) {
        for EndedToken { id, .. } in ended {
            self.0.remove(id);
        }
    }
}

/// A change of a grant by its client, or of tokens by time. The secrets are its only authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantEdit {
    /// The client redeems its code: the first use of the grant.
    TakeUp(Renewal),
    /// The client sends its refresh token and gets new ones.
    Renew {
        /// The refresh token from the client.
        used: TokenDigest,
        /// The new tokens.
        renewal: Renewal,
    },
    /// The bearer of a refresh token revokes the grant.
    GiveBack {
        /// The grant.
        grant: String,
        /// The digest of the part that its refresh tokens share.
        key: TokenDigest,
    },
    /// A code was used twice: the tokens of the first use may be in a thief's hands.
    Distrust {
        /// The grant.
        grant: String,
    },
    /// The bearer of a token revokes it.
    GiveBackToken(TokenDigest),
    /// Expired tokens are removed.
    Expire,
}

/// The new tokens of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// The grant.
    pub grant: String,
    /// The client.
    pub client_id: String,
    /// The digest of the part that all refresh tokens of the grant share.
    pub key: TokenDigest,
    /// The new refresh token.
    pub refresh: TokenDigest,
    /// The new token.
    pub access: TokenDigest,
    /// The new token's scope, if narrower than the grant.
    pub scope: Option<Scope>,
    /// The new token's resource, if narrower than the grant's.
    pub resource: Option<String>,
    /// The new token's validity, in milliseconds.
    pub lasts_ms: u64,
}

/// The outcome of [`GrantEdit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantOutcome {
    /// The change is made.
    Done,
    /// A used refresh token was used again, so the grant was revoked.
    Reused,
}

impl WhyEnded {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::Reused => "reused",
        }
    }
}
