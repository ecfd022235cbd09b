//! Tokens and people of external issuers, after their verification. Such a token becomes a token of an agent like any
//! other: with a scope, an expiry, and an entry in the list, where it can be revoked.
//! Must not know: the form of an issuer's token, or the rules of admission.

use std::{collections::HashSet, sync::Arc};

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, TimestampMs, text};
use plenary_log::Fault;
use plenary_room::async_trait;

use crate::{
    Accounts, Actor, Authority, Failure, Principal, Rejection, Scope, Token, TokenDigest, TokenKind,
    TokenOwner,
    agent::{
        command::{AgentEdit, EditAgent, NewToken},
        tokens::{IssuedToken, IssuerStatement},
    },
    limits::{FOREIGN_TOKEN_BYTES_MAX, FOREIGN_TOKEN_MS_MAX, TOKEN_NAME_CHARS_MAX},
};

/// Who knows tokens that an issuer outside this server gives out.
#[async_trait]
pub trait ForeignTokens: Send + Sync {
    /// What a token of an issuer is good for; `None` where it is good for nothing.
    async fn admitted(&self, token: &str) -> Result<Option<Admission>, Fault>;
}

/// What an issuer's word is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// The agent as which its bearer speaks.
    pub agent: AgentHandle,
    /// What the bearer may do.
    pub scope: Scope,
    /// The configured name of the issuer.
    pub issuer: String,
    /// Of whom the issuer speaks.
    pub subject: String,
    /// The issuer's statement.
    pub statement: IssuerStatement,
    /// The resource that its token is for; `None` for this server.
    pub resource: Option<String>,
    /// When it ends.
    pub ends: TimestampMs,
}

impl Admission {
    /// What the token is called in the list of the agent's tokens.
    fn name(&self) -> String {
        let visible = |one: &char| !one.is_control() && !text::is_hidden(*one);
        format!("{}: {}", self.issuer, self.subject)
            .chars()
            .filter(visible)
            .take(TOKEN_NAME_CHARS_MAX)
            .collect()
    }
}

/// Whether a token may be one of an issuer, by its look.
pub(crate) fn may_be_foreign(token: &str) -> bool {
    token.starts_with("ey") && token.contains('.') && token.len() <= FOREIGN_TOKEN_BYTES_MAX
}

impl Accounts {
    /// Says who knows the tokens of issuers. The first call counts; until then they open nothing.
    pub fn set_foreign_tokens(&self, foreign: Arc<dyn ForeignTokens>) {
        let _first = self.0.foreign.set(foreign);
    }

    /// Sets the proofs of the configured rules, on which sessions of the console and tokens from issuers depend. The first
    /// call counts; before it no proof is valid.
    pub fn set_issuer_proofs(&self, proofs: impl Iterator<Item = TokenDigest>) {
        let _first = self.0.issuer_proofs.set(proofs.collect::<HashSet<_>>());
    }

    /// Whether this is the proof of a configured rule, by which a session or a token began at an issuer. What a person makes
    /// who signed in at an issuer counts only while it is.
    pub fn is_issuer_proof(&self, through: &TokenDigest) -> bool {
        self.0.issuer_proofs.get().is_some_and(|proofs| proofs.contains(through))
    }

    /// Issues a new token for a statement of an issuer. Returns the secret and the stored token.
    ///
    /// # Errors
    /// `NotFound` if there is no such agent; `Revoked` if a token for the same statement was revoked; `TooManyTokens`;
    /// `NoTokens`; the fault of the store.
    pub fn give_foreign(&self, admission: Admission) -> Sealed<'_, Result<(Token, IssuedToken), Failure>> {
        seal(async move {
            let token = Token::random(TokenKind::Scoped);
            let issued = self.issue_foreign(token.digest(), admission).await?;
            Ok((token, issued))
        })
    }

    async fn issue_foreign(&self, token: TokenDigest, admission: Admission) -> Result<IssuedToken, Failure> {
        let new = NewToken {
            token: Some(token),
            name: Some(admission.name()),
            scope: admission.scope,
            expires_at: Some(admission.ends),
            client: None,
            issuer: Some(admission.issuer),
            statement: Some(admission.statement),
            resource: admission.resource,
        };
        // The operator's configuration decides this.
        let authority = Authority { by: Actor::Operator, token: None };
        let edit = AgentEdit::IssueToken(new);
        let agent = self.edit_agent(EditAgent { authority, handle: admission.agent, edit }).await?;
        let issued_token = agent.state.issued().of(&token).map(|(_, issued_token)| issued_token.clone());
        issued_token.ok_or(Failure::Rejected(Rejection::NotFound))
    }

    /// A token below another one of the same agent: it does no more, lasts no longer, and ends with it.
    ///
    /// # Errors
    /// `ScopeExceeded`, `TooManyTokens`, `NotFound` where the bearer is no agent, what the store says.
    pub fn narrow<'a>(
        &'a self,
        principal: &'a Principal,
        scope: Scope,
        resource: Option<String>,
        lasts_ms: u64,
    ) -> Sealed<'a, Result<(Token, IssuedToken), Failure>> {
        seal(async move {
            let TokenOwner::Agent(handle) = &principal.who else { return Err(Rejection::NotFound.into()) };
            let agent = self.fresh_agent(handle).await?;
            let parent = agent
                .state
                .issued()
                .of(&principal.token)
                .and_then(|(_, issued_token)| issued_token.expires_at);
            let ends = TimestampMs(self.now().0.saturating_add(lasts_ms));
            let token = Token::random(TokenKind::Scoped);
            let new = NewToken {
                token: Some(token.digest()),
                scope,
                expires_at: Some(parent.map_or(ends, |parent| parent.min(ends))),
                name: None,
                client: None,
                issuer: None,
                statement: None,
                resource,
            };
            let authority = principal.clone().into();
            let edit = AgentEdit::IssueToken(new);
            let agent = self.edit_agent(EditAgent { authority, handle: handle.clone(), edit }).await?;
            let issued_token =
                agent.state.issued().of(&token.digest()).map(|(_, issued_token)| issued_token.clone());
            Ok((token, issued_token.ok_or(Rejection::NotFound)?))
        })
    }

    /// The bearer of an issuer's token, which becomes one of its agent's tokens when it first comes.
    pub(crate) async fn admit_foreign(&self, token: &str) -> Result<Option<Principal>, Fault> {
        let Some(foreign) = self.0.foreign.get().filter(|_| may_be_foreign(token)) else { return Ok(None) };
        let now = self.now();
        let Some(mut admission) = foreign.admitted(token).await?.filter(|admission| admission.ends > now)
        else {
            return Ok(None);
        };
        admission.ends = admission.ends.min(TimestampMs(now.0.saturating_add(FOREIGN_TOKEN_MS_MAX)));
        let (agent, digest) = (admission.agent.clone(), TokenDigest::of(token));
        let mut result = self.issue_foreign(digest, admission.clone()).await;
        if matches!(result, Err(Failure::Rejected(Rejection::TokenExists))) {
            // Another request with the same token was faster, or the stored token has expired and is not removed yet.
            if let Some(principal) = self.look_up(digest).await? {
                return Ok(Some(principal));
            }
            self.expire_tokens_of(&agent).await?;
            result = self.issue_foreign(digest, admission).await;
        }
        match result {
            Ok(_) => Ok(Some(Principal { who: TokenOwner::Agent(agent), token: digest })),
            Err(Failure::Rejected(rejection)) => {
                tracing::warn!(%agent, why = %rejection, "a token of an issuer was not admitted");
                Ok(None)
            }
            Err(Failure::OverQuota(_)) => {
                tracing::warn!(%agent, "a token of an issuer was not admitted: the owner's quota is used up");
                Ok(None)
            }
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_list_is_one_line_of_what_the_issuer_says() {
        let admission = Admission {
            agent: "@nick.bot".parse().unwrap(),
            scope: "read".parse().unwrap(),
            issuer: "github".into(),
            subject: format!("repo:a/b\n\u{202e}{}", "x".repeat(500)),
            statement: IssuerStatement {
                signed: TokenDigest::of("signed"),
                until: TimestampMs(1),
                rule: None,
            },
            resource: None,
            ends: TimestampMs(1),
        };
        let name = admission.name();
        assert!(name.starts_with("github: repo:a/bxxx") && name.chars().count() == TOKEN_NAME_CHARS_MAX);
        assert!(text::check_line(&name).is_ok());
    }

    #[test]
    fn only_what_looks_like_a_signed_token_is_asked_for() {
        assert!(may_be_foreign("eyJ.a.b"));
        assert!(!may_be_foreign("pla_00") && !may_be_foreign("eyJ") && !may_be_foreign(""));
        assert!(!may_be_foreign(&format!("ey.{}", "a".repeat(FOREIGN_TOKEN_BYTES_MAX))));
    }
}
