//! Additional tokens of an agent: scoped, with an expiry, each below the token that created it; and grants, which a
//! person gives to a client. A grant is not a credential; it is the parent of the client's tokens. Pure.
//! Must not know: how a token is sent, or OAuth's messages.

use std::collections::BTreeMap;

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::event::{EndedToken, GrantRenewed, TokenIssued, WhyEnded};
use crate::{Scope, TokenDigest};

/// The parent of what was made with the agent's own token.
pub const OWN: &str = "own";

/// The client that a grant was given to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantClient {
    /// By which id it calls itself.
    pub client_id: String,
    /// By which name it was shown to the person.
    pub name: String,
    /// The resource that it asked for.
    pub resource: String,
    /// Until when it may last, once the client has taken it up.
    pub until: TimestampMs,
}

/// The word of an issuer by which a token was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerWord {
    /// The digest of what the issuer signed. One text may have many signatures, so a token that is ended is known again by
    /// this.
    pub signed: TokenDigest,
    /// Until when the issuer vouches for it.
    pub until: TimestampMs,
    /// The proof of the rule that admits it: the token is good for nothing where no such rule stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<TokenDigest>,
}

/// A token, or a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedToken {
    /// The digest of the token; `None` for a grant.
    pub token: Option<TokenDigest>,
    /// The id of the token that it was made with, [`OWN`] for the agent's own; none where the owner or the operator made it.
    pub parent: Option<String>,
    /// Its scope.
    pub scope: Scope,
    /// The name that its creator chose.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: TimestampMs,
    /// When it ends by itself.
    pub expires_at: Option<TimestampMs>,
    /// The client of a grant.
    pub client: Option<GrantClient>,
    /// The issuer by whose word it was given.
    #[serde(default)]
    pub issuer: Option<String>,
    /// The issuer's statement.
    #[serde(default)]
    pub word: Option<IssuerWord>,
    /// What every refresh token of a grant has, by its digest; none before it is taken up.
    pub(crate) key: Option<TokenDigest>,
    /// The one refresh token that counts.
    pub(crate) refresh: Option<TokenDigest>,
}

impl IssuedToken {
    /// Whether it has not ended by itself.
    #[must_use]
    pub fn is_open(&self, now: TimestampMs) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// The tokens of one agent, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentTokens(BTreeMap<String, IssuedToken>);

impl AgentTokens {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &IssuedToken)> {
        self.0.iter().map(|(id, token)| (id.as_str(), token))
    }
    /// One by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&IssuedToken> {
        self.0.get(id)
    }
    /// The resource that a client was let in to, where a token came of its grant.
    #[must_use]
    pub fn resource_of<'a>(&'a self, token: &'a IssuedToken) -> Option<&'a str> {
        let parent = |token: &&IssuedToken| self.get(token.parent.as_deref()?);
        let mut line = std::iter::successors(Some(token), parent);
        line.find_map(|token| token.client.as_ref()).map(|client| client.resource.as_str())
    }
    /// One by what its bearer sends, or the grant that this is.
    #[must_use]
    pub fn of(&self, digest: &TokenDigest) -> Option<(&str, &IssuedToken)> {
        if let Some(grant) = digest.grant() {
            let (id, token) = self.0.get_key_value(grant)?;
            return token.client.is_some().then_some((id, token));
        }
        self.iter().find(|(_, token)| token.token.is_some_and(|token| token.matches(digest)))
    }
    /// The proofs of the rules that a token hangs on, by its own issuer's word and by those of what it was made with.
    pub(crate) fn rules(&self, digest: &TokenDigest) -> impl Iterator<Item = TokenDigest> {
        let line = self.of(digest).into_iter().flat_map(|(id, _)| self.line(id));
        line.filter_map(|id| self.get(id)?.word?.rule)
    }
    /// How many of those are open that were given by an issuer's word.
    pub(crate) fn of_issuers(&self, now: TimestampMs) -> usize {
        self.iter().filter(|(_, token)| token.issuer.is_some() && token.is_open(now)).count()
    }
    /// One and everything below it, as what ends with it.
    pub(crate) fn with_descendants(&self, id: &str) -> Vec<EndedToken> {
        self.ended(|at| self.is_within(at, id))
    }
    /// What was made with the agent's own token, and everything below.
    pub(crate) fn of_own(&self) -> Vec<EndedToken> {
        self.ended(|at| self.is_within(at, OWN))
    }
    /// What has ended by itself.
    pub(crate) fn expired(&self, now: TimestampMs) -> Vec<EndedToken> {
        let over = |id: &str| self.0.get(id).is_some_and(|token| !token.is_open(now));
        self.ended(|id| self.line(id).any(over))
    }
    pub(crate) fn all(&self) -> Vec<EndedToken> {
        self.ended(|_| true)
    }
    /// The tokens of a grant beyond the youngest few.
    pub(crate) fn surplus(&self, grant: &str, kept_max: usize) -> Vec<EndedToken> {
        let below: Vec<_> = self.iter().filter(|(_, token)| token.parent.as_deref() == Some(grant)).collect();
        let over = below.len().saturating_sub(kept_max);
        below[..over].iter().flat_map(|(id, _)| self.with_descendants(id)).collect()
    }
    /// How many are below the topmost one that a token is below, or is: all that its bearer can have made or be made with.
    pub(crate) fn below_topmost(&self, id: &str) -> usize {
        let topmost = self.line(id).take_while(|above| *above != OWN).last().unwrap_or(id);
        self.iter().filter(|(one, _)| *one != topmost && self.is_within(one, topmost)).count()
    }
    /// Whether a token is another one or below it.
    pub(crate) fn is_within(&self, id: &str, of: &str) -> bool {
        self.line(id).any(|above| above == of)
    }

    /// A token, its parent, and so on.
    fn line<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(id), |id| self.0.get(*id)?.parent.as_deref())
    }

    fn ended(&self, ends: impl Fn(&str) -> bool) -> Vec<EndedToken> {
        let ending = self.iter().filter(|(id, _)| ends(id));
        let ended = |(id, token): (&str, &IssuedToken)| EndedToken {
            id: id.to_owned(),
            token: token.token,
            expires_at: token.expires_at,
        };
        ending.map(ended).collect()
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
            word: event.word,
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

/// What a client does with a grant, or time does with tokens. Nobody's authority stands behind it but the secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantEdit {
    /// The client takes the grant up with the code that it got.
    TakeUp(Renewal),
    /// The client sends its refresh token and gets new ones.
    Renew {
        /// The refresh token that it sent.
        used: TokenDigest,
        /// What it gets.
        renewal: Renewal,
    },
    /// Whoever has a refresh token of the grant gives it back.
    GiveBack {
        /// The grant.
        grant: String,
        /// What each of its refresh tokens has.
        key: TokenDigest,
    },
    /// A code came twice: whoever has what the first one got may have stolen it.
    Distrust {
        /// The grant.
        grant: String,
    },
    /// A bearer gives its token back.
    GiveBackToken(TokenDigest),
    /// What has ended by itself is taken away.
    Expire,
}

/// What a client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// The grant.
    pub grant: String,
    /// The client that asks.
    pub client_id: String,
    /// The digest of the part that all refresh tokens of the grant share.
    pub key: TokenDigest,
    /// The new refresh token.
    pub refresh: TokenDigest,
    /// The new token.
    pub access: TokenDigest,
    /// What the new token may do, where that is less than the grant.
    pub scope: Option<Scope>,
    /// How long the new token lasts, in milliseconds.
    pub lasts_ms: u64,
}

/// What became of [`GrantEdit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantOutcome {
    /// It was done.
    Done,
    /// A refresh token came that had been used: the grant has ended.
    Reused,
}

impl WhyEnded {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::Reused => "reused",
        }
    }
}
