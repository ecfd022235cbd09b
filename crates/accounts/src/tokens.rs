//! The interface to additional tokens for the rest of the server: create, list, end, last use.
//! Must not know: HTTP.

use std::collections::BTreeSet;

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, TimestampMs, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Order, RowOp};
use quick_cache::sync::Cache;

use crate::{
    Accounts, Authority, Failure, KnownAgent, Principal, Rejection, TokenDigest, TokenOwner,
    agent::{
        GrantCommand,
        command::{AgentEdit, EditAgent, NewToken},
        tokens::{GrantClient, GrantEdit, GrantOutcome},
    },
    claim,
    index::{EXPIRING, expiring_key},
    limits::{USE_NOTED_EVERY_MS, USES_NOTED_MAX},
    scope::Scope,
};

/// The prefix of the name of an agent's own token; no token id begins with it.
const OWN_TOKEN: &str = "own:";

/// The client that continues with a new token after an old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenClient {
    /// A client with grants of people, by its OAuth client id.
    OfGrant(String),
    /// The subject of an issuer's tokens, by the name of its tokens.
    OfIssuer {
        /// The issuer.
        issuer: String,
        /// The name.
        name: Option<String>,
    },
}

/// The last recorded uses of tokens. A hint only.
pub(crate) struct Uses(Cache<TokenDigest, TimestampMs>);

impl Default for Uses {
    fn default() -> Self {
        Self(Cache::new(USES_NOTED_MAX))
    }
}

impl Accounts {
    /// Gives a client a grant, which expires at `pending_until` unless the client uses it. Returns its id.
    ///
    /// # Errors
    /// As for every edit of an agent.
    pub fn grant<'a>(
        &'a self,
        authority: Authority,
        handle: &'a AgentHandle,
        scope: Scope,
        client: GrantClient,
        pending_until: TimestampMs,
    ) -> Sealed<'a, Result<String, Failure>> {
        seal(async move {
            let new = NewToken {
                token: None,
                scope,
                expires_at: Some(pending_until),
                name: Some(client.name.clone()),
                client: Some(client),
                issuer: None,
                statement: None,
                resource: None,
            };
            let edit = AgentEdit::IssueToken(new);
            let (_, id) =
                self.edit_agent_with_token(EditAgent { authority, handle: handle.clone(), edit }).await?;
            id.ok_or(Failure::Rejected(Rejection::GrantInvalid))
        })
    }

    /// Executes a client's change of its grant.
    ///
    /// # Errors
    /// `GrantInvalid`, `ScopeExceeded`; the fault of the store.
    pub fn edit_grant<'a>(
        &'a self,
        handle: &'a AgentHandle,
        edit: &'a GrantEdit,
    ) -> Sealed<'a, Result<(GrantOutcome, KnownAgent), Failure>> {
        seal(async move {
            // Rules of issuers change only with the configuration, so this cannot change meanwhile.
            if let GrantEdit::TakeUp(renewal) | GrantEdit::Renew { renewal, .. } = edit {
                let grant = TokenDigest::of_grant(&renewal.grant).ok_or(Rejection::GrantInvalid)?;
                let rules = self.fresh_agent(handle).await?.state.rules(&grant);
                if !rules.iter().all(|rule| self.is_issuer_proof(rule)) {
                    return Err(Rejection::GrantInvalid.into());
                }
            }
            let execution = self.0.agents.execute(handle.as_str(), &GrantCommand(edit, handle), None).await?;
            Ok((execution.reply, self.agent(handle).await?))
        })
    }

    /// The bearer with an identity that outlasts its token: the grant, if the client renews the token; otherwise unchanged. For
    /// work over many requests, each with another token.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn lasting<'a>(&'a self, principal: &'a Principal) -> Sealed<'a, Result<Principal, Fault>> {
        seal(async move {
            let TokenOwner::Agent(handle) = &principal.who else { return Ok(principal.clone()) };
            let agent = self.agent(handle).await?;
            let issued = agent.state.issued();
            let parent = issued.of(&principal.token).and_then(|(_, token)| token.parent.as_deref());
            let grant = parent.filter(|id| issued.get(id).is_some_and(|parent| parent.client.is_some()));
            let token = grant.and_then(TokenDigest::of_grant).unwrap_or(principal.token);
            Ok(Principal { who: principal.who.clone(), token })
        })
    }

    /// A name for an agent's credential that outlasts the request: the id of a grant or of an additional
    /// token, or `own:` with the digest of the agent's own token. `None` for a person and for this process.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn token_name<'a>(&'a self, principal: &'a Principal) -> Sealed<'a, Result<Option<String>, Fault>> {
        seal(async move {
            let Principal { who: TokenOwner::Agent(handle), token } = self.lasting(principal).await? else {
                return Ok(None);
            };
            let agent = self.agent(&handle).await?;
            let issued = agent.state.issued().of(&token).map(|(id, _)| id.to_owned());
            Ok(issued.or_else(|| token.bytes().map(|_| format!("{OWN_TOKEN}{}", token.hex()))))
        })
    }

    /// Whether the credential that [`Accounts::token_name`] named is still valid.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn opens<'a>(&'a self, handle: &'a AgentHandle, name: &'a str) -> Sealed<'a, Result<bool, Fault>> {
        seal(async move {
            let agent = self.fresh_agent(handle).await?;
            if let Some(digest) = name.strip_prefix(OWN_TOKEN) {
                return Ok(TokenDigest::of_hex(digest).is_some_and(|token| self.admits(&agent.state, &token)));
            }
            let token = agent.state.issued().get(name);
            let digest = token.and_then(|token| token.token.or_else(|| TokenDigest::of_grant(name)));
            Ok(digest.is_some_and(|digest| self.admits(&agent.state, &digest)))
        })
    }

    /// The client behind a token of a grant, or the subject behind a token of an issuer: whoever can request a wider scope, of a
    /// person or of the issuer, and continues with the token that it then gets. `None` for other tokens.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn client_of<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> Sealed<'a, Result<Option<TokenClient>, Fault>> {
        seal(async move {
            let TokenOwner::Agent(handle) = &principal.who else { return Ok(None) };
            let agent = self.agent(handle).await?;
            let issued = agent.state.issued();
            let Some((_, token)) = issued.of(&principal.token) else { return Ok(None) };
            let granted = token.parent.as_deref().and_then(|id| issued.get(id)?.client.as_ref());
            let of_grant = granted.map(|client| TokenClient::OfGrant(client.client_id.clone()));
            Ok(of_grant.or_else(|| {
                let issuer = token.issuer.clone()?;
                Some(TokenClient::OfIssuer { issuer, name: token.name.clone() })
            }))
        })
    }

    /// Removes the expired tokens, so that connections opened with them end too.
    ///
    /// # Errors
    /// The fault of the store; the next call continues.
    pub fn expire_tokens(&self) -> Sealed<'_, Result<(), Fault>> {
        seal(async move {
            let end_key = expiring_key(self.clock().now(), "");
            let rows = self.log().read_index(EXPIRING, "", None, READ_ROWS_MAX, Order::Ascending).await?;
            let expired = rows.iter().take_while(|row| row.key < end_key);
            let agents: BTreeSet<AgentHandle> =
                expired.filter_map(|row| std::str::from_utf8(&row.value).ok()?.parse().ok()).collect();
            for agent in agents {
                self.expire_tokens_of(&agent).await?;
            }
            Ok(())
        })
    }

    /// The same for one agent.
    pub(crate) async fn expire_tokens_of(&self, agent: &AgentHandle) -> Result<(), Fault> {
        let expire = GrantCommand(&GrantEdit::Expire, agent);
        match self.0.agents.execute(agent.as_str(), &expire, None).await.map_err(Failure::from) {
            Err(Failure::Fault(fault)) => Err(fault),
            Ok(_) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Ok(()),
        }
    }

    /// Records a use of an additional token from time to time. A fault does not fail the request.
    pub(crate) async fn note_token_use(&self, token: &TokenDigest) {
        let now = self.clock().now();
        let is_due = |noted_at: TimestampMs| now.0.saturating_sub(noted_at.0) >= USE_NOTED_EVERY_MS;
        if self.0.uses.0.get(token).is_some_and(|noted_at| !is_due(noted_at)) {
            return;
        }
        self.0.uses.0.insert(*token, now);
        let value = Some(now.0.to_string().into());
        let use_row = RowOp { name: claim::use_row(token), expected: None, value };
        if let Err(fault) = self.log().append(Batch { rows: vec![use_row], ..Batch::default() }).await {
            tracing::warn!(%fault, "the use of a token was not noted");
        }
    }

    /// The last use of a token, accurate to a minute.
    pub(crate) async fn token_used_at(&self, token: &TokenDigest) -> Result<Option<TimestampMs>, Fault> {
        let row = self.log().read_row(&claim::use_row(token)).await?;
        let used_at = row.and_then(|row| std::str::from_utf8(&row.value).ok()?.parse().ok());
        Ok(used_at.map(TimestampMs))
    }
}
