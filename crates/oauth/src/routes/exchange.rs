//! Token exchange (RFC 8693): a token of an issuer for a short-lived token of an agent, or a token of this server for
//! a narrower one.
//! Must not know: the rules of admission.

use plenary_accounts::{Failure, Rejection, Scope, Token, TokenOwner, agent::tokens::IssuedToken};
use plenary_issuers::{AgentRule, Flaw, TokenUse};
use plenary_kernel::TimestampMs;

use super::OAuthError;
use crate::{
    consent::{resource_of, scope_of},
    foreign::admission,
    limits::ACCESS_MS_MAX,
    oauth::At,
    parameters::Parameters,
    wire::Tokens,
};

pub(super) const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

fn invalid(why: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_request", why)
}

/// The request without the token.
struct ExchangeRequest {
    /// A narrower scope.
    scope: Option<Scope>,
    /// This server's `/mcp`, if the token is requested for it alone.
    resource: Option<String>,
}

impl ExchangeRequest {
    fn of(sent: &Parameters, base: &str) -> Result<Self, OAuthError> {
        if sent.get("requested_token_type").is_some_and(|kind| kind != ACCESS_TOKEN) {
            return Err(invalid(format!("requested_token_type must be {ACCESS_TOKEN}.")));
        }
        if sent.get("actor_token").is_some() || sent.get("actor_token_type").is_some() {
            return Err(invalid("actor_token is not supported: the token speaks for its own bearer."));
        }
        let own = format!("{base}/mcp");
        let is_own = |named: &str| [base, own.as_str()].contains(&named.trim_end_matches('/'));
        if !sent.all("audience").all(is_own) {
            return Err(OAuthError::new("invalid_target", "audience must be this server's URL."));
        }
        let resource = resource_of(sent, base).map_err(super::tokens::denied)?;
        let is_for_mcp =
            resource == own || sent.all("audience").any(|named| named.trim_end_matches('/') == own);
        let scope = sent.get("scope").map(scope_of).transpose().map_err(super::tokens::denied)?;
        Ok(Self { scope, resource: is_for_mcp.then_some(own) })
    }
}

pub(super) async fn exchanged(at: &At, sent: &Parameters, base: &str) -> Result<Tokens, OAuthError> {
    let token = sent.get("subject_token").ok_or_else(|| invalid("subject_token is missing."))?;
    let kind = sent.get("subject_token_type").ok_or_else(|| invalid("subject_token_type is missing."))?;
    let request = ExchangeRequest::of(sent, base)?;
    let (token, issued) = match kind {
        JWT | ID_TOKEN => of_issuer(at, token, request).await?,
        // Access tokens of issuers are JWTs; those of this server are not.
        ACCESS_TOKEN if token.starts_with("ey") && token.contains('.') => {
            of_issuer(at, token, request).await?
        }
        ACCESS_TOKEN => narrowed(at, token, request).await?,
        _ => return Err(invalid(format!("subject_token_type must be {JWT}, {ID_TOKEN} or {ACCESS_TOKEN}."))),
    };
    let lasts_ms = issued.expires_at.map_or(0, |end| end.0.saturating_sub(at.oauth.accounts().now().0));
    Ok(Tokens {
        access_token: token.expose().to_owned(),
        issued_token_type: Some(ACCESS_TOKEN),
        token_type: "Bearer",
        expires_in: lasts_ms / 1_000,
        refresh_token: None,
        scope: issued.scope.to_string(),
    })
}

async fn of_issuer(
    at: &At,
    token: &str,
    request: ExchangeRequest,
) -> Result<(Token, IssuedToken), OAuthError> {
    let accounts = at.oauth.accounts();
    let now = accounts.now();
    let (issuer, proven) = at.oauth.issuers().verify(token, now).await.map_err(refused)?;
    let until = |lasts_ms: u64| TimestampMs(now.0.saturating_add(lasts_ms));
    let ends = |rule: &AgentRule| until(rule.lasts_ms);
    let mut admission = admission(issuer, &proven, TokenUse::Exchange, ends).map_err(refused)?;
    if let Some(scope) = request.scope {
        if !admission.scope.covers(&scope) {
            return Err(OAuthError::new("invalid_scope", format!("The token admits {}.", admission.scope)));
        }
        admission.scope = scope;
    }
    admission.resource = request.resource;
    let (agent, issuer) = (admission.agent.clone(), admission.issuer.clone());
    tracing::info!(%agent, %issuer, subject = %proven.subject, "a token of an issuer was exchanged");
    accounts.give_foreign(admission).await.map_err(failed)
}

async fn narrowed(
    at: &At,
    token: &str,
    request: ExchangeRequest,
) -> Result<(Token, IssuedToken), OAuthError> {
    let accounts = at.oauth.accounts();
    let unknown = || invalid("subject_token: it is unknown or has ended.");
    let principal = accounts.authenticate(token).await?.ok_or_else(unknown)?;
    if !matches!(principal.who, TokenOwner::Agent(_)) || !accounts.is_valid_everywhere(&principal).await? {
        return Err(unknown());
    }
    let scope = request
        .scope
        .ok_or_else(|| OAuthError::new("invalid_scope", "scope is missing: name what is enough."))?;
    accounts.narrow(&principal, scope, request.resource, ACCESS_MS_MAX).await.map_err(failed)
}

/// Every flaw of the token is `invalid_request` (RFC 8693, 2.2.2); the description has this server's code.
fn refused(flaw: Flaw) -> OAuthError {
    let text = format!("{}: {flaw}.", flaw.code());
    if matches!(flaw, Flaw::Unavailable) { OAuthError::unavailable(text) } else { invalid(text) }
}

fn failed(failure: Failure) -> OAuthError {
    match failure {
        Failure::Rejected(Rejection::TooManyTokens | Rejection::TooManyTokensBelow) => {
            OAuthError::unavailable("The agent has as many such tokens as it may; one ends soon.".to_owned())
        }
        Failure::Rejected(Rejection::NotFound | Rejection::NoTokens) => {
            invalid("not_admitted: the agent that the rule names is not there.")
        }
        Failure::Rejected(Rejection::ScopeExceeded) => {
            OAuthError::new("invalid_scope", "The token itself does not admit as much.")
        }
        Failure::Rejected(_) => invalid("subject_token: it is unknown or has ended."),
        Failure::OverQuota(_) => invalid("The owner has stored as much as it may."),
        Failure::Fault(fault) => fault.into(),
    }
}
