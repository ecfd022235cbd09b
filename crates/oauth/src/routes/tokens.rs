//! Tokens for a code or a refresh token, and their revocation (RFC 6749, RFC 7009).
//! Must not know: pages.

use axum::{
    Json,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_accounts::{
    Failure, Rejection, Scope, Token, TokenKind, TokenOwner,
    agent::tokens::{GrantEdit, GrantOutcome, Renewal},
};
use plenary_edge::{Operation, Peer};
use plenary_kernel::{AgentHandle, Class};

use super::{FORM, OAuthError, doc, exchange, form};
use crate::{
    client::{Client, document_url},
    code::{find, take, verifies},
    consent::{Denial, is_within, requested_scope, resource_of},
    forms,
    limits::ACCESS_MS_MAX,
    oauth::At,
    parameters::Parameters,
    token::Refresh,
    wire::Tokens,
};

const INVALID: &str =
    "The code or the refresh token is not valid, or was used already; send the person to sign in again.";
const CODES: &[&str] =
    &["invalid_request", "invalid_grant", "invalid_scope", "invalid_target", "unsupported_grant_type"];

pub(super) fn operations() -> Vec<Operation<At>> {
    let token = doc("oauth.token", Method::POST, "/oauth/token", "Get tokens for a code or a refresh token")
        .description(
            "A refresh token is good for once. One that comes twice ends the grant, and every token that was got with it. With \
             grant_type=urn:ietf:params:oauth:grant-type:token-exchange (RFC 8693) a token of an issuer that is configured, or \
             one of an agent, is exchanged for a narrowing one; whatever is wrong with it is `invalid_request`, and the \
             description begins with a code.",
        )
        .for_pages()
        .request::<forms::TokenRequest>()
        .request_type(FORM)
        .reply::<Tokens>()
        .errors(Class::Malformed, CODES)
        .errors(Class::Unauthenticated, &["invalid_client"])
        .errors(Class::TooLarge, &["invalid_request"]);
    let revoke = doc("oauth.revoke", Method::POST, "/oauth/revoke", "Give a token back")
        .description("A refresh token ends its grant. An unknown token gets the same answer.")
        .for_pages()
        .request::<forms::Revocation>()
        .request_type(FORM)
        .errors(Class::Malformed, &["invalid_request"])
        .errors(Class::TooLarge, &["invalid_request"]);
    vec![token.handled_by(got), revoke.handled_by(given_back)]
}

async fn got(State(at): State<At>, Peer(peer): Peer, parts: Parts, body: Body) -> Response {
    let base = at.origin.named_url(peer, &parts.headers);
    match get(&at, &base, &parts, body).await {
        Ok(tokens) => {
            let mut answer = Json(tokens).into_response();
            answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            answer
        }
        Err(no) => no.into_response(),
    }
}

async fn get(at: &At, base: &str, parts: &Parts, body: Body) -> Result<Tokens, OAuthError> {
    let sent = form(parts, body).await?;
    match sent.get("grant_type") {
        Some(exchange::GRANT) => return exchange::exchanged(at, &sent, base).await,
        Some("authorization_code" | "refresh_token") if at.oauth.issuers().authorization().is_none() => {}
        Some(_) => {
            return Err(OAuthError::new("unsupported_grant_type", "grant_type: see grant_types_supported."));
        }
        None => return Err(OAuthError::new("invalid_request", "grant_type is missing.")),
    }
    let client_id =
        sent.get("client_id").ok_or_else(|| OAuthError::new("invalid_request", "client_id is missing."))?;
    if Client::registered(client_id).is_none() && document_url(client_id, true).is_none() {
        let why = "The client is not known here; register it.".to_owned();
        return Err(OAuthError { status: StatusCode::UNAUTHORIZED, error: "invalid_client", why });
    }
    let resource = sent.get("resource").map(|_| resource_of(&sent, base)).transpose().map_err(denied)?;
    match sent.get("grant_type") {
        Some("authorization_code") => for_code(at, &sent, client_id, resource).await,
        _ => for_refresh(at, &sent, client_id, resource).await,
    }
}

fn invalid() -> OAuthError {
    OAuthError::new("invalid_grant", INVALID)
}

pub(super) fn denied(Denial(error, why): Denial) -> OAuthError {
    OAuthError::new(error, why)
}

async fn for_code(
    at: &At,
    sent: &Parameters,
    client_id: &str,
    resource: Option<String>,
) -> Result<Tokens, OAuthError> {
    let sent_code = sent.get("code").ok_or_else(|| OAuthError::new("invalid_request", "code is missing."))?;
    let found = find(at.oauth.log(), sent_code).await?.ok_or_else(invalid)?;
    let code = &found.code;
    let is_redirect = sent.get("redirect_uri").is_none_or(|redirect| redirect == code.redirect_uri);
    let verifier = sent.get("code_verifier").unwrap_or_default();
    if code.client_id != client_id || !is_redirect || !verifies(&code.challenge, verifier) {
        return Err(invalid());
    }
    if resource.as_ref().is_some_and(|resource| !is_within(resource, &code.resource)) {
        return Err(OAuthError::new("invalid_target", "The person was asked for another resource."));
    }
    // Only the client of the code passes the checks above, so a second use means that the code was stolen.
    if code.used || !take(at.oauth.log(), &found).await? {
        let edit = GrantEdit::Distrust { grant: code.grant.clone() };
        at.oauth.accounts().edit_grant(&code.agent, &edit).await.map_err(failed)?;
        return Err(invalid());
    }
    if code.until <= at.oauth.accounts().now() {
        return Err(invalid());
    }
    let refresh = Refresh::make(&code.grant, &code.agent, None);
    let narrowing =
        Narrowing { scope: None, resource: resource.filter(|resource| *resource != code.resource) };
    renew(at, client_id, &code.agent, &refresh, narrowing, GrantEdit::TakeUp).await
}

async fn for_refresh(
    at: &At,
    sent: &Parameters,
    client_id: &str,
    resource: Option<String>,
) -> Result<Tokens, OAuthError> {
    let text = sent
        .get("refresh_token")
        .ok_or_else(|| OAuthError::new("invalid_request", "refresh_token is missing."))?;
    let used = Refresh::read(text).ok_or_else(invalid)?;
    let known = at.oauth.accounts().agent(&used.agent).await?;
    let granted = known.state.issued().get(&used.grant).and_then(|grant| grant.client.as_ref());
    if let (Some(granted), Some(resource)) = (granted, &resource)
        && !is_within(resource, &granted.resource)
    {
        return Err(OAuthError::new("invalid_target", "The person was asked for another resource."));
    }
    let resource = resource.filter(|resource| granted.is_some_and(|granted| *resource != granted.resource));
    let scope = sent.get("scope").map(requested_scope).transpose().map_err(denied)?.flatten();
    let (next, digest) = (used.next(), used.digest());
    let edit = |renewal| GrantEdit::Renew { used: digest, renewal };
    renew(at, client_id, &used.agent, &next, Narrowing { scope, resource }, edit).await
}

/// The restrictions of a new token within its grant.
struct Narrowing {
    scope: Option<Scope>,
    resource: Option<String>,
}

async fn renew(
    at: &At,
    client_id: &str,
    agent: &AgentHandle,
    refresh: &Refresh,
    narrowing: Narrowing,
    edit: impl FnOnce(Renewal) -> GrantEdit,
) -> Result<Tokens, OAuthError> {
    let access = Token::random(TokenKind::Scoped);
    let renewal = Renewal {
        grant: refresh.grant.clone(),
        client_id: client_id.to_owned(),
        key: refresh.key(),
        refresh: refresh.digest(),
        access: access.digest(),
        scope: narrowing.scope,
        resource: narrowing.resource,
        lasts_ms: ACCESS_MS_MAX,
    };
    let accounts = at.oauth.accounts();
    let (edited, known) = accounts.edit_grant(agent, &edit(renewal)).await.map_err(failed)?;
    if edited == GrantOutcome::Reused {
        tracing::warn!(%agent, grant = %refresh.grant, "a refresh token came twice; its grant has ended");
        return Err(invalid());
    }
    let (_, issued) = known.state.issued().of(&access.digest()).ok_or_else(invalid)?;
    let lasts_ms = issued.expires_at.map_or(0, |end| end.0.saturating_sub(accounts.now().0));
    Ok(Tokens {
        access_token: access.expose().to_owned(),
        issued_token_type: None,
        token_type: "Bearer",
        expires_in: lasts_ms / 1_000,
        refresh_token: Some(refresh.expose().to_owned()),
        scope: issued.scope.to_string(),
    })
}

fn failed(failure: Failure) -> OAuthError {
    match failure {
        Failure::Rejected(Rejection::ScopeExceeded) => {
            OAuthError::new("invalid_scope", "The person has not granted as much.")
        }
        Failure::Rejected(_) => invalid(),
        Failure::OverQuota(_) => {
            OAuthError::new("invalid_request", "The owner has stored as much as it may.")
        }
        Failure::Fault(fault) => fault.into(),
    }
}

async fn given_back(State(at): State<At>, parts: Parts, body: Body) -> Response {
    match give_back(&at, &parts, body).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(no) => no.into_response(),
    }
}

async fn give_back(at: &At, parts: &Parts, body: Body) -> Result<(), OAuthError> {
    let sent = form(parts, body).await?;
    let token = sent.get("token").ok_or_else(|| OAuthError::new("invalid_request", "token is missing."))?;
    let accounts = at.oauth.accounts();
    let (agent, edit) = if let Some(refresh) = Refresh::read(token) {
        (refresh.agent.clone(), GrantEdit::GiveBack { grant: refresh.grant.clone(), key: refresh.key() })
    } else {
        let Some(principal) = accounts.authenticate(token).await? else { return Ok(()) };
        let TokenOwner::Agent(agent) = principal.who else { return Ok(()) };
        (agent, GrantEdit::GiveBackToken(principal.token))
    };
    match accounts.edit_grant(&agent, &edit).await {
        Ok(_) | Err(Failure::Rejected(_)) => Ok(()),
        Err(failure) => Err(failed(failure)),
    }
}
