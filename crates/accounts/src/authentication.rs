//! From a token to its bearer. The owner of a token is cached by its digest; its validity is checked in the bearer's
//! state each time, so that a revoked token is invalid at once.
//! Must not know: HTTP.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{OwnerName, proof::Challenge};
use plenary_log::{Fault, Order};
use quick_cache::sync::Cache;

use crate::{
    Accounts, Actor, Principal, TokenDigest, TokenOwner,
    agent::state::AgentState,
    foreign::may_be_foreign,
    index::TOKENS,
    limits::{BEARERS_CACHED_MAX, TOKEN_BYTES_MAX},
};

/// The last known owners of tokens, by digest. A hint only.
pub(crate) struct Bearers(Cache<TokenDigest, TokenOwner>);

impl Default for Bearers {
    fn default() -> Self {
        Self(Cache::new(BEARERS_CACHED_MAX))
    }
}

impl Accounts {
    /// The bearer of a token; `None` if it is not in use now. Unknown tokens are not cached, and each costs
    /// the same: one look-up.
    pub fn authenticate<'a>(&'a self, token: &'a str) -> Sealed<'a, Result<Option<Principal>, Fault>> {
        seal(self.authenticated(token))
    }

    pub(crate) async fn authenticated(&self, token: &str) -> Result<Option<Principal>, Fault> {
        let is_foreign = may_be_foreign(token);
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX && !is_foreign {
            return Ok(None);
        }
        let digest = TokenDigest::of(token);
        if self.0.operator.matches(&digest) {
            return Ok(Some(Principal { who: TokenOwner::Operator, token: digest }));
        }
        if let Some(who) = self.0.bearers.0.get(&digest)
            && self.accepts(&who, &digest).await?
        {
            return Ok(Some(Principal { who, token: digest }));
        }
        match self.look_up(digest).await? {
            None if is_foreign => self.admit_foreign(token).await,
            principal => Ok(principal),
        }
    }

    /// Whether a principal's token is still the valid one.
    pub fn is_valid<'a>(&'a self, principal: &'a Principal) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            if principal.token.is_person() {
                return self.person_is_there(principal).await;
            }
            match &principal.who {
                TokenOwner::Operator => Ok(self.0.operator.matches(&principal.token)),
                TokenOwner::Agent(agent) if principal.token.is_guest() => {
                    Ok(self.guest_standing(agent).await?.is_some())
                }
                TokenOwner::Owner(_) | TokenOwner::Agent(_) => {
                    self.accepts(&principal.who, &principal.token).await
                }
            }
        })
    }

    /// Whether the token is valid, with everything that other processes have committed.
    pub fn is_valid_everywhere<'a>(&'a self, principal: &'a Principal) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            // Console sessions and lent tokens were read with the request.
            if principal.token.lender().is_some() {
                return self.person_is_there(principal).await;
            }
            if principal.token.is_guest() {
                return self.is_valid(principal).await;
            }
            if !self.log().shared() || principal.who == TokenOwner::Operator || principal.token.is_person() {
                return Ok(true);
            }
            self.accepts_freshly(&principal.who, &principal.token).await
        })
    }

    /// The answer to a challenge, if its key is that of a valid token. A caller that does not know the digest of a token learns
    /// nothing.
    pub fn prove<'a>(&'a self, challenge: &'a Challenge) -> Sealed<'a, Result<Option<String>, Fault>> {
        seal(async move {
            if !challenge.is_well_formed() {
                return Ok(None);
            }
            if self.0.operator.hex().starts_with(&challenge.key) {
                return Ok(self.0.operator.bytes().map(|digest| challenge.answer(digest)));
            }
            let rows = self.log().read_index(TOKENS, &challenge.key, None, 1, Order::Ascending).await?;
            let Some(digest) = rows.first().and_then(|row| TokenDigest::of_hex(&row.key)) else {
                return Ok(None);
            };
            let is_valid = self.look_up(digest).await?.is_some();
            Ok(digest.bytes().filter(|_| is_valid).map(|digest| challenge.answer(digest)))
        })
    }

    /// The owner that a token is indexed for.
    pub(crate) async fn owner_of(&self, token: &TokenDigest) -> Result<Option<OwnerName>, Fault> {
        match self.look_up(*token).await?.map(|principal| principal.who) {
            Some(TokenOwner::Owner(owner)) => Ok(Some(owner)),
            Some(TokenOwner::Operator | TokenOwner::Agent(_)) | None => Ok(None),
        }
    }

    pub(crate) async fn look_up(&self, digest: TokenDigest) -> Result<Option<Principal>, Fault> {
        let rows = self.log().read_index(TOKENS, &digest.hex(), None, 1, Order::Ascending).await?;
        let Some(row) = rows.first() else {
            self.0.bearers.0.remove(&digest);
            return Ok(None);
        };
        let corrupt = || Fault::Corrupt(format!("the bearer of {digest:?} can't be read"));
        let text = std::str::from_utf8(&row.value).map_err(|_| corrupt())?;
        let who = match text.parse().map_err(|_| corrupt())? {
            Actor::Owner(owner) => TokenOwner::Owner(owner),
            Actor::Agent(agent) => TokenOwner::Agent(agent),
            Actor::Operator | Actor::Seed => return Err(corrupt()),
        };
        // Another process may have issued the token, so the state in memory may be older than the index.
        if !self.accepts(&who, &digest).await? && !self.accepts_freshly(&who, &digest).await? {
            self.0.bearers.0.remove(&digest);
            return Ok(None);
        }
        self.0.bearers.0.insert(digest, who.clone());
        Ok(Some(Principal { who, token: digest }))
    }

    /// Whether this is a valid token of the agent, and the rules that it depends on still exist.
    pub(crate) fn admits(&self, agent: &AgentState, digest: &TokenDigest) -> bool {
        agent.accepts_token_at(digest, self.clock().now())
            && agent.rules(digest).iter().all(|rule| self.is_issuer_proof(rule))
    }

    async fn accepts(&self, who: &TokenOwner, digest: &TokenDigest) -> Result<bool, Fault> {
        Ok(match who {
            TokenOwner::Operator => false,
            TokenOwner::Owner(owner) => self.owner(owner).await?.state.accepts_token(digest),
            TokenOwner::Agent(agent) => self.admits(&self.known_agent(agent).await?.state, digest),
        })
    }

    async fn accepts_freshly(&self, who: &TokenOwner, digest: &TokenDigest) -> Result<bool, Fault> {
        Ok(match who {
            TokenOwner::Operator => false,
            TokenOwner::Owner(owner) => self.fresh_owner(owner).await?.state.accepts_token(digest),
            TokenOwner::Agent(agent) => self.admits(&self.fresh_agent(agent).await?.state, digest),
        })
    }
}
