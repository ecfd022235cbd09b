//! The authorization page: the person signs in if necessary, chooses the agent, the scope and the duration, and
//! returns to the client. A form is accepted only from this page and with the session's CSRF token.
//! Must not know: the effect of a grant.

use std::net::SocketAddr;

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use plenary_accounts::{
    Access, AgentKind, ConsoleRole, Failure, OpenSession, Rejection, SCOPED_ROOMS, Scope, Token, TokenDigest,
    TokenKind, TokenOwner,
    agent::{command::RegisterAgent, tokens::GrantClient},
    client_of, cookie_of, csrf_of,
    limits::CONSOLE_SESSION_MS_MAX,
};
use plenary_edge::{Operation, OwnPage, Peer, see_other};
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::Fault;

use super::{FORM, HTML, OAuthError, doc, form};
use crate::{
    client::Client,
    code::{Code, make},
    consent::{AuthorizationRequest, Back, Denial},
    forms,
    limits::{AGENTS_SHOWN_MAX, CODE_MS_MAX, GRANT_DAYS_MAX},
    oauth::At,
    page::{Page, Question, answer},
    parameters::Parameters,
};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const ANOTHER_PAGE: &str =
    "This form was not sent by the page that asked. Go back to the application and begin again.";

pub(super) fn operations() -> Vec<Operation<At>> {
    let page = |doc: plenary_edge::OperationDoc| {
        doc.reply_type(HTML)
            .or_status(StatusCode::BAD_REQUEST)
            .or_status(StatusCode::FORBIDDEN)
            .or_status(StatusCode::NOT_FOUND)
            .or_status(StatusCode::SERVICE_UNAVAILABLE)
            .or_empty(StatusCode::SEE_OTHER)
    };
    let show = doc(
        "oauth.authorize",
        Method::GET,
        "/oauth/authorize",
        "The page on which a person lets a client in",
    );
    let show = page(show).description(
        "With the parameters of RFC 6749 (4.1.1), RFC 7636 and RFC 8707: response_type=code, client_id, redirect_uri, \
         code_challenge, code_challenge_method=S256, state, scope, resource.",
    );
    let decide = page(doc("oauth.decide", Method::POST, "/oauth/authorize", "The form of that page"))
        .request::<forms::Decision>()
        .request_type(FORM)
        .or_status(StatusCode::PAYLOAD_TOO_LARGE)
        .or_status(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let sign_in =
        doc("oauth.sign_in", Method::POST, "/oauth/sign-in", "Sign in with a link of `plenary console`");
    let sign_in = page(sign_in)
        .sets_cookie()
        .request::<forms::SignIn>()
        .request_type(FORM)
        .or_status(StatusCode::PAYLOAD_TOO_LARGE)
        .or_status(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    vec![show.handled_by(authorize), decide.handled_by(decided), sign_in.handled_by(signed_in)]
}

/// An early end: a page with the reason, or one that leads back to the client.
enum Halt {
    Page(StatusCode, String),
    /// Anybody registers a client with any address, so the server takes nobody there who has decided nothing (RFC 9700, 4.11.2).
    Client(Box<Back>, Denial),
}

impl Halt {
    fn page(why: &str) -> Self {
        Self::Page(StatusCode::BAD_REQUEST, why.to_owned())
    }
    fn answer(self) -> Response {
        match self {
            Self::Page(status, why) => answer(status, &Page::Stop(&why)),
            Self::Client(back, denial) => answer(StatusCode::BAD_REQUEST, &Page::Denied(&back, &denial)),
        }
    }
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        tracing::warn!(%fault, "a person could not be asked");
        Self::Page(StatusCode::SERVICE_UNAVAILABLE, "The server cannot do this now; try again.".to_owned())
    }
}

impl From<OAuthError> for Halt {
    fn from(no: OAuthError) -> Self {
        Self::Page(no.status, no.why)
    }
}

/// A request whose person and client are known.
struct Inquiry {
    open: OpenSession,
    csrf: String,
    client: Client,
    back: Back,
    request: AuthorizationRequest,
}

async fn authorize(State(at): State<At>, Peer(peer): Peer, parts: Parts) -> Response {
    if let Some(issuer) = at.oauth.issuers().authorization() {
        return Halt::from(OAuthError::elsewhere(issuer)).answer();
    }
    let query = parts.uri.query().unwrap_or_default().replace("&again=1", "");
    let is_again = parts.uri.query().is_some_and(|query| query.ends_with("&again=1"));
    match session(&at, &parts.headers).await {
        Ok(None) => answer(StatusCode::OK, &signing_in(&at, &query, !is_again, false)),
        Ok(Some((open, csrf))) => {
            consent_page(&at, peer, &parts.headers, open, csrf, &query).await.unwrap_or_else(Halt::answer)
        }
        Err(stopped) => stopped.answer(),
    }
}

fn signing_in<'a>(at: &'a At, query: &'a str, at_once: bool, failed: bool) -> Page<'a> {
    let issuers = at.oauth.issuers().iter().filter(|issuer| issuer.signs_in());
    let issuers = issuers.map(|issuer| (issuer.name(), issuer.title())).collect();
    Page::SignIn { query, at_once, failed, issuers }
}

/// The open session of the request's cookie, and its CSRF token.
async fn session(at: &At, headers: &HeaderMap) -> Result<Option<(OpenSession, String)>, Halt> {
    let Some(cookie) = cookie_of(headers) else { return Ok(None) };
    let open = at.oauth.accounts().console_session(cookie).await?;
    Ok(open.map(|open| (open, csrf_of(cookie))))
}

async fn before(
    at: &At,
    peer: SocketAddr,
    headers: &HeaderMap,
    (open, csrf): (OpenSession, String),
    query: &str,
) -> Result<Inquiry, Halt> {
    if open.session.rights.role == ConsoleRole::Viewer {
        let why = "You are signed in as a viewer, who changes nothing. Sign in with a link of an owner.";
        return Err(Halt::Page(StatusCode::FORBIDDEN, why.to_owned()));
    }
    let sent = Parameters::read(query.as_bytes())
        .ok_or_else(|| Halt::page("The application's request has a parameter twice."))?;
    let id = sent.get("client_id").ok_or_else(|| Halt::page("The application did not say who it is."))?;
    let client = match Client::registered(id) {
        Some(client) => client,
        None => {
            let known =
                at.oauth.documents().client(id, open.keyring.owner(), at.oauth.accounts().now()).await;
            known.map_err(|why| Halt::page(&why))?
        }
    };
    let base = at.origin.named_url(peer, headers);
    let back = Back::of(&client, &sent, &base).map_err(Halt::page)?;
    match AuthorizationRequest::of(&sent, &base) {
        Ok(request) => Ok(Inquiry { open, csrf, client, back, request }),
        Err(denial) => Err(Halt::Client(Box::new(back), denial)),
    }
}

async fn consent_page(
    at: &At,
    peer: SocketAddr,
    headers: &HeaderMap,
    open: OpenSession,
    csrf: String,
    query: &str,
) -> Result<Response, Halt> {
    let before = before(at, peer, headers, (open, csrf), query).await?;
    let known = at.oauth.accounts().agents_of(before.open.keyring.owner(), AGENTS_SHOWN_MAX).await?;
    let agents = known.into_iter().filter(|known| known.state.kind() == AgentKind::Agent);
    let agents: Vec<_> = agents.map(|known| known.handle).collect();
    let question = Question {
        client: &before.client,
        back: &before.back,
        query,
        csrf: &before.csrf,
        agents: &agents,
        owner: before.open.keyring.owner().map(plenary_kernel::OwnerName::as_str),
        scopes: &offered(&before.request.scope),
    };
    Ok(answer(StatusCode::OK, &Page::Consent(&question)))
}

/// The scopes that a person can grant: the requested one, and the narrower ones.
fn offered(requested: &Scope) -> Vec<String> {
    let accesses = [Access::Write, Access::Read];
    let everywhere = accesses.into_iter().map(Scope::everywhere);
    let of_room = |room| accesses.map(|access| Scope::of_room(room, access));
    let words = everywhere.chain(SCOPED_ROOMS.into_iter().flat_map(of_room));
    let less = words.filter(|word| word != requested && requested.covers(word));
    [requested.clone()].into_iter().chain(less).map(|scope| scope.to_string()).collect()
}

async fn decided(State(at): State<At>, Peer(peer): Peer, parts: Parts, body: Body) -> Response {
    decide(&at, peer, &parts, body).await.unwrap_or_else(Halt::answer)
}

async fn decide(at: &At, peer: SocketAddr, parts: &Parts, body: Body) -> Result<Response, Halt> {
    if let Some(issuer) = at.oauth.issuers().authorization() {
        return Err(OAuthError::elsewhere(issuer).into());
    }
    let sent = form(parts, body).await?;
    let forged = || Halt::Page(StatusCode::FORBIDDEN, ANOTHER_PAGE.to_owned());
    if parts.extensions.get::<OwnPage>().is_none() {
        return Err(forged());
    }
    let query = sent.get("request").unwrap_or_default();
    let Some((open, csrf)) = session(at, &parts.headers).await? else {
        return Ok(answer(StatusCode::FORBIDDEN, &signing_in(at, query, false, false)));
    };
    let mark = TokenDigest::of(sent.get("csrf").unwrap_or_default());
    if !mark.matches(&TokenDigest::of(&csrf)) {
        return Err(forged());
    }
    let before = before(at, peer, &parts.headers, (open, csrf), query).await?;
    if sent.get("decision") != Some("allow") {
        let denied = Denial("access_denied", "the person said no");
        return Ok(redirect(&before.back.with_error(&denied)));
    }
    let scope: Scope = sent.get("scope").and_then(|scope| scope.parse::<Scope>().ok()).unwrap_or_default();
    if !offered(&before.request.scope).contains(&scope.to_string()) {
        return Err(Halt::page("Choose what the application may do."));
    }
    let days = sent.get("days").and_then(|days| days.parse::<u64>().ok());
    let days = days.filter(|days| (1..=GRANT_DAYS_MAX).contains(days));
    let days = days.ok_or_else(|| Halt::page("Choose for how long."))?;
    let agent = agent(at, &before.open, &sent).await?;
    Ok(redirect(&granted(at, before, agent, scope, days).await?))
}

/// The chosen agent, or a new one.
async fn agent(at: &At, open: &OpenSession, sent: &Parameters) -> Result<AgentHandle, Halt> {
    let (accounts, principal) = (at.oauth.accounts(), open.principal(None));
    if let (Some(name), TokenOwner::Owner(owner)) = (sent.get("new_agent"), &principal.who) {
        let handle = format!("@{owner}.{}", name.trim()).parse::<AgentHandle>();
        let handle = handle.map_err(|_| Halt::page("An agent's name has letters a-z, digits, - and _."))?;
        let token = Token::random(TokenKind::Agent).digest();
        let command = RegisterAgent::new(principal.into(), handle, token);
        return Ok(accounts.register_agent(command).await.map_err(not_done)?.handle);
    }
    let named = sent.get("agent").and_then(|agent| agent.parse::<AgentHandle>().ok());
    // Agents of other owners are refused here; the accounts check whether the agent exists.
    named.filter(|agent| open.keyring.has(agent)).ok_or_else(|| Halt::page("Choose an agent."))
}

async fn granted(
    at: &At,
    before: Inquiry,
    agent: AgentHandle,
    scope: Scope,
    days: u64,
) -> Result<String, Halt> {
    let accounts = at.oauth.accounts();
    let now = accounts.now();
    let until = TimestampMs(now.0.saturating_add(CODE_MS_MAX));
    let Inquiry { open, client, back, request, .. } = before;
    let to = GrantClient {
        client_id: client.id.clone(),
        name: client.name,
        resource: request.resource.clone(),
        until: TimestampMs(now.0.saturating_add(days * DAY_MS)),
    };
    let authority = open.principal(None).into();
    let grant = accounts.grant(authority, &agent, scope, to, until).await.map_err(not_done)?;
    let code = Code {
        grant,
        agent,
        client_id: client.id,
        redirect_uri: back.sent.clone(),
        challenge: request.challenge,
        resource: request.resource,
        until,
        used: false,
    };
    Ok(back.with_code(&make(at.oauth.log(), &code).await?))
}

fn not_done(failure: Failure) -> Halt {
    match failure {
        Failure::Rejected(Rejection::NotFound) => Halt::page("Choose an agent."),
        Failure::Rejected(rejection) => Halt::page(&plenary_kernel::Refusal::from(rejection).message),
        Failure::OverQuota(_) => Halt::page("The owner has stored as much as it may."),
        Failure::Fault(fault) => fault.into(),
    }
}

async fn signed_in(State(at): State<At>, Peer(peer): Peer, parts: Parts, body: Body) -> Response {
    sign_in(&at, peer, &parts, body).await.unwrap_or_else(Halt::answer)
}

async fn sign_in(at: &At, peer: SocketAddr, parts: &Parts, body: Body) -> Result<Response, Halt> {
    let sent = form(parts, body).await?;
    // A page of another site must not sign a browser in to another account.
    if parts.extensions.get::<OwnPage>().is_none() {
        return Err(Halt::Page(StatusCode::FORBIDDEN, ANOTHER_PAGE.to_owned()));
    }
    let query = sent.get("request").unwrap_or_default();
    let link = sent.get("link").unwrap_or_default().trim();
    let link = link.rsplit_once("link=").map_or(link, |(_, secret)| secret);
    let address = at.origin.client_address(peer, &parts.headers).unwrap_or(peer.ip()).to_string();
    let client = client_of(address, &parts.headers);
    let cookie = match at.oauth.accounts().sign_in(link, client).await {
        Ok((_, cookie)) => cookie,
        Err(Failure::Fault(fault)) => return Err(fault.into()),
        Err(Failure::Rejected(_) | Failure::OverQuota(_)) => {
            return Ok(answer(StatusCode::FORBIDDEN, &signing_in(at, query, false, true)));
        }
    };
    let is_tls = at.origin.base_url(peer, &parts.headers).starts_with("https://");
    let mut answer = redirect(&format!("/oauth/authorize?{query}"));
    let set = cookie.set_header(CONSOLE_SESSION_MS_MAX / 1_000, is_tls);
    answer.headers_mut().insert(header::SET_COOKIE, set);
    Ok(answer)
}

fn redirect(url: &str) -> Response {
    let nowhere =
        || answer(StatusCode::BAD_REQUEST, &Page::Stop("The application is called back at no URL."));
    see_other(url).unwrap_or_else(nowhere)
}
