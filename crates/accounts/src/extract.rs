//! The caller: from the headers of a request to the bearer of its token or cookie.
//! Must not know: the operation.

use axum::{
    extract::{FromRef, FromRequestParts, Query},
    response::Response,
};
use http::{HeaderMap, header, request::Parts};
use plenary_edge::{Allowance, BudgetCaller, OwnPage};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Refusal};
use plenary_room::{fault_refusal, house_error};
use plenary_telemetry::{
    conventions::{AGENT_ID, USER_ID},
    note,
};
use serde::Deserialize;

use crate::{
    Accounts, Actor, AgentKind, Authority, Failure, GuestIdentity, HostedIdentity, KnownAgent, Principal,
    TokenDigest, TokenOwner,
    answer::{csrf, foreign_agent, invalid_authorization, missing_authorization, read_only, token_required},
    console::{ConsoleRole, OpenSession, cookie::cookie_of, csrf_of},
    person::person_of,
};

/// The header that names the agent in whose name a person acts.
pub const AS_AGENT: &str = "x-asp-agent";
/// The header with which a page of the console shows that a write is its own.
pub const CSRF: &str = "x-plenary-csrf";

/// Where a request may carry its credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// In the `Authorization` header.
    Header,
    /// There, or as `?ticket=`: for browsers, which can't set headers on an event stream.
    HeaderOrTicket,
    /// There, or as `?ticket=` or `?token=`.
    HeaderTicketOrToken,
}

/// Who asks, with a token that is valid now at every process on the store: for rooms that answer a refusal in a form
/// of their own. The extractors below answer in the form of the account surface.
///
/// # Errors
/// `Class::Unauthenticated`, so also for an `X-ASP-Agent` that names somebody else; what a fault is answered with.
pub fn identify<'a>(
    parts: &'a Parts,
    accounts: &'a Accounts,
    credentials: Credentials,
) -> Sealed<'a, Result<Principal, Refusal>> {
    seal(async move {
        let principal = identify_bearer(accounts, parts, credentials).await?;
        checked(parts, accounts, principal).await
    })
}

/// The same for whoever was found otherwise, such as by a capability that stands for a token.
///
/// # Errors
/// As of [`identify`].
pub fn identified<'a>(
    parts: &'a Parts,
    accounts: &'a Accounts,
    principal: Principal,
) -> Sealed<'a, Result<Principal, Refusal>> {
    seal(checked(parts, accounts, principal))
}

async fn checked(parts: &Parts, accounts: &Accounts, principal: Principal) -> Result<Principal, Refusal> {
    check_agent_header(&principal, &parts.headers)?;
    still_valid(accounts, &principal).await?;
    accounts.is_within_scope(parts, &principal).await?;
    admitted(parts, Some(&principal)).await?;
    Ok(principal)
}

/// Puts the answer on the share of whoever asks, and waits for room where it may be large. [`identify`] does so by
/// itself; this is for rooms that also answer whoever has no token.
///
/// # Errors
/// 429 or 503 `overloaded`.
pub fn admit<'a>(parts: &'a Parts, principal: Option<&'a Principal>) -> Sealed<'a, Result<(), Refusal>> {
    seal(admitted(parts, principal))
}

async fn admitted(parts: &Parts, principal: Option<&Principal>) -> Result<(), Refusal> {
    if let Some(principal) = principal {
        note_caller(&principal.who);
    }
    let Some(allowance) = parts.extensions.get::<Allowance>() else { return Ok(()) };
    let asker = match principal.map(|principal| &principal.who) {
        Some(TokenOwner::Operator) => BudgetCaller::Operator,
        Some(TokenOwner::Owner(owner)) => BudgetCaller::Owner(owner.as_str()),
        Some(TokenOwner::Agent(agent)) => BudgetCaller::Owner(agent.owner()),
        None => BudgetCaller::Nobody,
    };
    allowance.admit(asker).await
}

/// The span of a request says who asks.
fn note_caller(caller: &TokenOwner) {
    match caller {
        TokenOwner::Operator => {}
        TokenOwner::Owner(owner) => note(USER_ID, || owner.to_string()),
        TokenOwner::Agent(agent) => {
            note(AGENT_ID, || agent.to_string());
            note(USER_ID, || agent.owner().to_owned());
        }
    }
}

/// The bearer of the request's token, whoever it is. Rejects with 401; so also an `X-ASP-Agent` that names somebody
/// else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller(pub Principal);

/// The agent whose token the request bears. Owner and operator tokens, and an `X-ASP-Agent` that names somebody
/// else, are rejected with 401 (wire.md D.1, D.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCaller {
    /// Who asks; every act is in this name (ASP-4).
    pub handle: AgentHandle,
    /// The token it asks with.
    pub token: TokenDigest,
}

impl AgentCaller {
    /// The authority with which it acts.
    pub fn authority(&self) -> Authority {
        Authority { by: Actor::Agent(self.handle.clone()), token: Some(self.token) }
    }
}

/// The same for `/connect`, where `?ticket=` and `?token=` stand in for a header that a browser can't send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectCaller(pub AgentCaller);

#[derive(Deserialize)]
struct QueryCredentials {
    ticket: Option<String>,
    token: Option<String>,
}

impl<S> FromRequestParts<S> for Caller
where
    Accounts: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        caller(parts, Accounts::from_ref(state)).await.map(Self).map_err(house_error)
    }
}

/// The caller of every operation, in one place for all rooms.
fn caller(parts: &Parts, accounts: Accounts) -> Sealed<'_, Result<Principal, Refusal>> {
    seal(async move {
        let principal = identify_bearer(&accounts, parts, Credentials::Header).await?;
        check_agent_header(&principal, &parts.headers)?;
        // What writes is checked again inside its append; what only reads has no append.
        if parts.method.is_safe() {
            still_valid(&accounts, &principal).await?;
        }
        accounts.is_within_scope(parts, &principal).await?;
        admitted(parts, Some(&principal)).await?;
        Ok(principal)
    })
}

impl<S> FromRequestParts<S> for AgentCaller
where
    Accounts: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let Caller(principal) = Caller::from_request_parts(parts, state).await?;
        as_agent(principal).map_err(house_error)
    }
}

impl<S> FromRequestParts<S> for ConnectCaller
where
    Accounts: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let accounts = Accounts::from_ref(state);
        let principal =
            identify(parts, &accounts, Credentials::HeaderTicketOrToken).await.map_err(house_error)?;
        if principal.token.is_person() {
            return Err(house_error(token_required()));
        }
        as_agent(principal).map(Self).map_err(house_error)
    }
}

/// The bearer of the credentials of a request.
async fn identify_bearer(
    accounts: &Accounts,
    parts: &Parts,
    credentials: Credentials,
) -> Result<Principal, Refusal> {
    // Only this process adds these two extensions; a request cannot contain them.
    if let Some(identity) = parts.extensions.get::<HostedIdentity>() {
        return Ok(identity.principal());
    }
    if let Some(guest) = parts.extensions.get::<GuestIdentity>() {
        return Ok(guest.principal());
    }
    if let Some(token) = bearer(&parts.headers)? {
        let principal = by_token(accounts, token).await?;
        return as_person(accounts, parts, principal).await;
    }
    if let Some(open_session) = signed_in(accounts, parts).await? {
        return by_session(accounts, parts, &open_session).await;
    }
    if credentials == Credentials::Header {
        return Err(missing_authorization());
    }
    let Ok(Query(query_credentials)) = Query::<QueryCredentials>::try_from_uri(&parts.uri) else {
        return Err(invalid_authorization());
    };
    let token = query_credentials.token.filter(|_| credentials == Credentials::HeaderTicketOrToken);
    match (query_credentials.ticket, token) {
        (Some(ticket), None) => match accounts.redeem(&ticket).await {
            Ok(Some(principal)) => Ok(principal),
            Ok(None) => Err(invalid_authorization()),
            Err(fault) => Err(fault_refusal(&fault)),
        },
        (None, Some(token)) => by_token(accounts, &token).await,
        (Some(_), Some(_)) => Err(invalid_authorization()),
        (None, None) => Err(missing_authorization()),
    }
}

/// The token of the one `Authorization: Bearer` header; the scheme's case does not matter.
///
/// # Errors
/// 401 for another scheme or a second header.
pub fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| invalid_authorization())?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && values.next().is_none() => {
            Ok(Some(token.trim()))
        }
        _ => Err(invalid_authorization()),
    }
}

/// The session of the console that the request's cookie stands for; `None` without a cookie. What a token opens a person
/// opens with it, as long as the page is ours: of what is not safe the page must say so (`Origin`, `X-Plenary-CSRF`).
///
/// # Errors
/// 401 for a cookie that opens nothing, 403 `csrf`, what a fault is answered with.
pub fn signed_in<'a>(
    accounts: &'a Accounts,
    parts: &'a Parts,
) -> Sealed<'a, Result<Option<OpenSession>, Refusal>> {
    seal(async move {
        let Some(cookie) = cookie_of(&parts.headers) else { return Ok(None) };
        let open_session = accounts.console_session(cookie).await.map_err(|fault| fault_refusal(&fault))?;
        let open_session = open_session.ok_or_else(invalid_authorization)?;
        if !parts.method.is_safe() {
            let csrf_token =
                parts.headers.get(CSRF).map(|csrf_token| TokenDigest::of_bytes(csrf_token.as_bytes()));
            let is_own_page = parts.extensions.get::<OwnPage>().is_some();
            let expected = TokenDigest::of_bytes(csrf_of(cookie).as_bytes());
            if !(is_own_page && csrf_token.is_some_and(|csrf_token| csrf_token.matches(&expected))) {
                return Err(csrf());
            }
        }
        Ok(Some(open_session))
    })
}

/// The bearer of a session: its owner or the operator, or the agent that `X-ASP-Agent` names among its own.
async fn by_session(
    accounts: &Accounts,
    parts: &Parts,
    open_session: &OpenSession,
) -> Result<Principal, Refusal> {
    if open_session.session.rights.role == ConsoleRole::Viewer && !parts.method.is_safe() {
        return Err(read_only());
    }
    let mut names = parts.headers.get_all(AS_AGENT).iter();
    let Some(name) = names.next() else { return Ok(open_session.principal(None)) };
    let handle = name.to_str().ok().and_then(|name| name.parse::<AgentHandle>().ok());
    let handle = handle.filter(|handle| names.next().is_none() && open_session.keyring.has(handle));
    let Some(handle) = handle else { return Err(foreign_agent()) };
    let agent = accounts.fresh_agent(&handle).await.map_err(|fault| fault_refusal(&fault))?;
    if agent.state.is_live() { Ok(open_session.principal(Some(handle))) } else { Err(foreign_agent()) }
}

/// The person that `X-ASP-Agent` names beside the token of its owner or of the operator. Whoever else it names is judged by
/// [`check_agent_header`]: a token of an owner speaks as no agent.
async fn as_person(accounts: &Accounts, parts: &Parts, principal: Principal) -> Result<Principal, Refusal> {
    let mut names = parts.headers.get_all(AS_AGENT).iter();
    let (Some(name), None) = (names.next(), names.next()) else { return Ok(principal) };
    let handle = name.to_str().ok().and_then(|name| name.parse::<AgentHandle>().ok());
    let Some(handle) = handle else { return Ok(principal) };
    let of_operator = principal.who == TokenOwner::Operator;
    let is_own = matches!(&principal.who, TokenOwner::Owner(owner) if owner.as_str() == handle.owner());
    let Some(token) = principal.token.lent(of_operator).filter(|_| of_operator || is_own) else {
        return Ok(principal);
    };
    let person = if handle == person_of(&handle.owner_name()) {
        // The default person is created when it is first needed. If it can't be created, it counts as absent.
        match accounts.default_person(&handle.owner_name()).await {
            Ok(person) => person,
            Err(Failure::Fault(fault)) => return Err(fault_refusal(&fault)),
            Err(_) => None,
        }
    } else {
        Some(accounts.fresh_agent(&handle).await.map_err(|fault| fault_refusal(&fault))?)
    };
    let is_person = |person: KnownAgent| person.state.is_live() && person.state.kind() == AgentKind::Person;
    Ok(if person.is_some_and(is_person) {
        Principal { who: TokenOwner::Agent(handle), token }
    } else {
        principal
    })
}

async fn by_token(accounts: &Accounts, token: &str) -> Result<Principal, Refusal> {
    match accounts.authenticated(token).await {
        Ok(Some(principal)) => Ok(principal),
        Ok(None) => Err(invalid_authorization()),
        Err(fault) => Err(fault_refusal(&fault)),
    }
}

/// The token may have been revoked by another process.
async fn still_valid(accounts: &Accounts, principal: &Principal) -> Result<(), Refusal> {
    match accounts.is_valid_everywhere(principal).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(invalid_authorization()),
        Err(fault) => Err(fault_refusal(&fault)),
    }
}

/// `X-ASP-Agent`, where it is sent, names the token's own agent.
fn check_agent_header(principal: &Principal, headers: &HeaderMap) -> Result<(), Refusal> {
    let handle = match &principal.who {
        TokenOwner::Agent(handle) => handle.as_str(),
        TokenOwner::Operator | TokenOwner::Owner(_) => "",
    };
    match headers.get_all(AS_AGENT).iter().all(|name| name.as_bytes() == handle.as_bytes()) {
        true => Ok(()),
        false => Err(invalid_authorization()),
    }
}

fn as_agent(principal: Principal) -> Result<AgentCaller, Refusal> {
    match principal.who {
        TokenOwner::Agent(handle) => Ok(AgentCaller { handle, token: principal.token }),
        TokenOwner::Operator | TokenOwner::Owner(_) => Err(invalid_authorization()),
    }
}
