//! Sign-in and sign-out: links, the session of the cookie, and the list of all sessions.
//! Must not know: how links and sessions are stored.

use axum::{
    Json,
    body::Body,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_accounts::{
    Accounts, AgentKind, Caller, ConsoleCookie, ConsoleRole, Keyring, client_of, cookie_of, csrf_of,
    limits::{CONSOLE_LINK_MS_MAX, CONSOLE_SESSION_MS_MAX},
    signed_in,
};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc, OwnPage, Peer};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConsoleRefusal, FOR_PEOPLE, caller_and_session, is_viewer, keyring, passkeys};
use crate::{
    console::ConsoleState,
    limits::SIGN_IN_BYTES_MAX,
    wire::{LinkMade, NewLink, NewSession, OwnSession, SessionList, SessionView},
};

/// The query of operations on an owner's sessions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfOwner {
    /// The owner; for the operator, the operator's own when absent.
    owner: Option<OwnerName>,
}

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = |id, method, path, summary| OperationDoc::new(id, method, path, summary).no_tool(FOR_PEOPLE);
    let link_doc =
        doc("console.link", Method::POST, "/console/links", "Create a link that signs a browser in once")
            .success(StatusCode::CREATED)
            .optional_request::<NewLink>()
            .reply::<LinkMade>()
            .without_key()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_role", "invalid_person"])
            .needs_token(Auth::Owner)
            .errors(Class::Forbidden, &["forbidden", "read_only", "csrf"])
            .errors(Class::NotFound, &["not_found"]);
    let sign_in_doc = doc("console.sign_in", Method::POST, "/console/sessions", "Sign in with a link or a passkey")
        .auth(Auth::None)
        .description("The cookie in the response replaces a token at every operation. A link that was used, has expired or \
                      never existed gets the same response; so does whatever is wrong with a passkey.")
        .success(StatusCode::CREATED)
        .sets_cookie()
        .request::<NewSession>()
        .reply::<OwnSession>()
        .without_key()
        .errors(Class::Malformed, &["invalid_json", "invalid_body"])
        .errors(Class::Unauthenticated, &["link_invalid", "passkey_invalid"])
        .errors(Class::Forbidden, &["csrf"])
        .errors(Class::Conflict, &["passkeys_unavailable"])
        .errors(Class::TooMany, &["too_many_attempts"]);
    let own_doc = doc("console.session", Method::GET, "/console/session", "Show the session of this cookie")
        .needs_token(Auth::Any)
        .reply::<OwnSession>();
    let list_doc =
        doc("console.sessions", Method::GET, "/console/sessions", "List the open console sessions")
            .query::<OfOwner>()
            .reply::<SessionList>()
            .errors(Class::Malformed, &["invalid_query"])
            .needs_token(Auth::Owner)
            .errors(Class::NotFound, &["not_found"]);
    let ends = "End a console session and its streams";
    let sign_out_doc =
        removing(doc("console.sign_out", Method::DELETE, "/console/sessions/{id}", ends), "The session")
            .sets_cookie()
            .needs_token(Auth::Owner);
    vec![
        link_doc.handled_by(make_link),
        sign_in_doc.handled_by(sign_in),
        own_doc.handled_by(own),
        list_doc.handled_by(list),
        sign_out_doc.handled_by(sign_out),
    ]
}

/// The description of an operation that removes one session or passkey of an owner.
pub(super) fn removing(doc: OperationDoc, description: &'static str) -> OperationDoc {
    doc.success(StatusCode::NO_CONTENT)
        .path_parameter::<String>("id", description)
        .query::<OfOwner>()
        .errors(Class::Malformed, &["invalid_query"])
        .errors(Class::Forbidden, &["read_only", "csrf"])
        .errors(Class::NotFound, &["not_found"])
}

async fn make_link(
    State(state): State<ConsoleState>,
    Peer(peer): Peer,
    headers: http::HeaderMap,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<LinkMade>), ConsoleRefusal> {
    let request: NewLink = body?.parse_or_empty()?;
    let accounts = state.console.accounts();
    let keyring = keyring(accounts, &principal, request.owner).await?;
    let role = role(&principal.who, &keyring, request.role)?;
    let person = person(accounts, &keyring, request.person).await?;
    let secret = accounts.make_console_link(&principal, &keyring, role, person).await?;
    let base = state.origin.base_url(peer, &headers);
    let expires_in = CONSOLE_LINK_MS_MAX / 1_000;
    Ok((StatusCode::CREATED, Json(LinkMade { url: format!("{base}/#link={secret}"), expires_in, role })))
}

/// The role of a link's session.
fn role(
    requester: &plenary_accounts::TokenOwner,
    keyring: &Keyring,
    requested: Option<ConsoleRole>,
) -> Result<ConsoleRole, Refusal> {
    let (all, is_operator) = match keyring {
        Keyring::Operator => (ConsoleRole::Operator, true),
        Keyring::Owner(_) => (ConsoleRole::Owner, false),
    };
    match requested {
        None => Ok(all),
        Some(ConsoleRole::Viewer) => Ok(ConsoleRole::Viewer),
        Some(role) if role == all => Ok(role),
        Some(ConsoleRole::Operator) if *requester != plenary_accounts::TokenOwner::Operator => {
            Err(Refusal::new(
                Class::Forbidden,
                "forbidden",
                "A link with the role operator needs the operator's token.",
            ))
        }
        Some(_) => {
            let text = if is_operator {
                "The role owner needs `owner`: name the owner."
            } else {
                "With `owner`, the role must be owner or viewer."
            };
            Err(Refusal::malformed("invalid_role", text))
        }
    }
}

/// The person that a link signs in.
async fn person(
    accounts: &Accounts,
    keyring: &Keyring,
    requested: Option<AgentHandle>,
) -> Result<Option<AgentHandle>, ConsoleRefusal> {
    let Some(handle) = requested else {
        return match keyring.owner() {
            Some(owner) => Ok(accounts.default_person(owner).await?.map(|known| known.handle)),
            None => Ok(None),
        };
    };
    let known = accounts.fresh_agent(&handle).await?;
    let is_person = known.state.is_live() && known.state.kind() == AgentKind::Person && keyring.has(&handle);
    if is_person {
        return Ok(Some(handle));
    }
    Err(Refusal::malformed(
        "invalid_person",
        "person: it must be a person of the owner; POST /_admin/people, or the page Access, adds one.",
    )
    .into())
}

async fn sign_in(
    State(state): State<ConsoleState>,
    Peer(peer): Peer,
    parts: Parts,
    body: Body,
) -> Result<Response, ConsoleRefusal> {
    let body = JsonBody::read_up_to(SIGN_IN_BYTES_MAX, &parts, body).await?;
    let NewSession { link, passkey } = body.parse()?;
    // Another site's page must not sign a browser in to a session of its choice (login CSRF).
    if parts.headers.contains_key(header::ORIGIN) && parts.extensions.get::<OwnPage>().is_none() {
        return Err(Refusal::new(Class::Forbidden, "csrf", "Sign in from the console's own page.").into());
    }
    let budget = state.origin.client_address(peer, &parts.headers);
    let client = client_of(budget.unwrap_or(peer.ip()).to_string(), &parts.headers);
    let (open, cookie) = match (link, passkey) {
        (Some(link), None) => state.console.accounts().sign_in(&link, client).await?,
        (None, Some(passkey)) => passkeys::sign_in(&state, passkey, budget, client).await?,
        (None, None) | (Some(_), Some(_)) => {
            let text = "Send either `link` or `passkey`.";
            return Err(Refusal::malformed("invalid_body", text).into());
        }
    };
    let set = cookie.set_header(CONSOLE_SESSION_MS_MAX / 1_000, is_tls(&state, &parts, peer));
    let body = OwnSession::new(open, cookie.csrf());
    let mut answer = (StatusCode::CREATED, Json(body)).into_response();
    answer.headers_mut().insert(header::SET_COOKIE, set);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

fn is_tls(state: &ConsoleState, parts: &Parts, peer: std::net::SocketAddr) -> bool {
    state.origin.base_url(peer, &parts.headers).starts_with("https://")
}

async fn own(State(state): State<ConsoleState>, parts: Parts) -> Result<Response, ConsoleRefusal> {
    let open = signed_in(state.console.accounts(), &parts).await?;
    let (Some(open), Some(cookie)) = (open, cookie_of(&parts.headers)) else {
        let text = "There is no session; sign in with the link that `plenary console` prints.";
        return Err(Refusal::new(Class::Unauthenticated, "missing_authorization", text).into());
    };
    let mut answer = Json(OwnSession::new(open, csrf_of(cookie))).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

async fn list(
    State(state): State<ConsoleState>,
    parts: Parts,
    query: Result<Query<OfOwner>, QueryRejection>,
) -> Result<Json<SessionList>, ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, open) = caller_and_session(accounts, &parts).await?;
    let keyring = keyring(accounts, &principal, owner(query)?).await?;
    let current = open.as_ref().map(|open| open.id.as_str());
    let sessions = accounts.console_sessions(&keyring).await?;
    Ok(Json(SessionList {
        sessions: sessions.into_iter().map(|open| SessionView::new(open, current)).collect(),
    }))
}

async fn sign_out(
    State(state): State<ConsoleState>,
    Peer(peer): Peer,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<OfOwner>, QueryRejection>,
    parts: Parts,
) -> Result<Response, ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, open) = caller_and_session(accounts, &parts).await?;
    let Path(id) = path.map_err(|_| Refusal::not_found())?;
    let is_own = open.as_ref().is_some_and(|open| open.id == id);
    if is_viewer(open.as_ref()) && !is_own {
        return Err(Refusal::new(Class::Forbidden, "read_only", "This session may only end itself.").into());
    }
    let keyring = keyring(accounts, &principal, owner(query)?).await?;
    accounts.sign_out(&principal, &keyring, &id).await?;
    let mut answer = StatusCode::NO_CONTENT.into_response();
    if is_own {
        let removal = ConsoleCookie::removal_header(is_tls(&state, &parts, peer));
        answer.headers_mut().insert(header::SET_COOKIE, removal);
    }
    Ok(answer)
}

pub(super) fn owner(query: Result<Query<OfOwner>, QueryRejection>) -> Result<Option<OwnerName>, Refusal> {
    let Query(OfOwner { owner }) =
        query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    Ok(owner)
}
