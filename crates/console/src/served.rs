//! The room as the server mounts it, and its layer around all requests: the page at `/`, and the audit of people's writes.
//! Must not know: the other rooms.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Router,
    extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use http::{Method, header, request::Parts};
use plenary_accounts::{
    AS_AGENT, AnsweredOnce, ConsoleRole, Credentials, Decider, Keyring, OpenSession, TokenOwner, cookie_of,
    identify, once, signed_in,
};
use plenary_edge::{OperationDoc, OwnPage, RegistryFault, layer_where};
use plenary_engine::recount_event;
use plenary_kernel::{AgentHandle, OwnerName, Refusal};
use plenary_log::Fault;
use plenary_room::{
    Example, Mount, RoomDescription, ServedRoom, Tally, Task, async_trait, fault_refusal, house_error,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Console,
    audit::{AuditRoom, CONSENT, Write, counts, is_decision},
    console::ConsoleState,
    page::front,
    routes,
};

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("console.link", || json!({"role": "viewer"})),
    ("console.sign_in", || json!({"link": "plk_0123456789abcdef.~nick"})),
    ("passkey.add", || json!({"name": "Phone", "client_data": "e30", "authenticator_data": "AA"})),
    ("person.create", || json!({"handle": "@nick.mara", "display_name": "Mara"})),
];

/// How repeated requests are answered.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // Each response is for a single use.
        (Method::POST, "/console/links"),
        (Method::POST, "/console/sessions"),
        (Method::POST, "/console/passkeys"),
        (Method::POST, "/console/passkeys/challenges"),
    ],
    secret: &[],
};

#[async_trait]
impl ServedRoom for Console {
    fn about() -> RoomDescription {
        let purpose = "The page for people, and their sign-in.";
        RoomDescription::new("console", purpose, &routes::all(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        Some(Box::new(recount_event::<AuditRoom>))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let state = ConsoleState { console: self.clone(), origin: Arc::new(mount.origin.clone()) };
        let router = plenary_edge::routes(routes::all(), mount.metrics)?.with_state(state);
        Ok(once(router, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer);

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        Some(Box::pin(self.clone().mark_watchers(stop)))
    }

    fn close(&self) {
        self.watchers().close();
    }
}

/// The ids of operations, by method and path.
type Ids = Arc<HashMap<(Method, &'static str), &'static str>>;

impl Console {
    /// Wraps the whole router: serves the page at `/`, and records each audited write of a person. `docs` describe the
    /// operations of the router.
    pub fn around(&self, router: Router, docs: &[OperationDoc]) -> Router {
        let ids: Ids =
            Arc::new(docs.iter().map(|doc| ((doc.method().clone(), doc.path()), doc.id())).collect());
        layer_where(router, concerns_console, from_fn_with_state((self.clone(), ids), serve_or_audit))
    }
}

/// A cheap check that rules out most requests: the page, and writes of a person.
fn concerns_console(request: &Request) -> bool {
    if request.method().is_safe() {
        return request.uri().path() == "/";
    }
    let headers = request.headers();
    let has_token = headers.contains_key(header::AUTHORIZATION);
    if has_token { headers.contains_key(AS_AGENT) } else { headers.contains_key(header::COOKIE) }
}

/// Serves the page at `/`, and records audited writes.
async fn serve_or_audit(
    State((console, ids)): State<(Console, Ids)>,
    request: Request,
    next: Next,
) -> Response {
    if request.method().is_safe() {
        return match front(request.headers()) {
            Some(page) => page,
            None => next.run(request).await,
        };
    }
    let (mut parts, body) = request.into_parts();
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let id = ids.iter().find(|((method, path), _)| *method == parts.method && *path == route);
    let operation = id.map_or("", |(_, id)| *id);
    let write = match write_of(&console, &mut parts, operation, &route).await {
        Ok(Some(write)) => write,
        Ok(None) => return next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => return house_error(refusal),
    };
    // If the client disconnects, the write and its entry still complete.
    let writing =
        async move { run_audited(&console, write, next.run(Request::from_parts(parts, body))).await };
    match tokio::spawn(writing).await {
        Ok(answer) => answer,
        Err(error) => house_error(fault_refusal(&Fault::OutcomeUnknown(error.to_string()))),
    }
}

/// Executes a write. Its entry is on disk before it begins, and the outcome before the response is sent.
async fn run_audited(console: &Console, write: Write, response: impl Future<Output = Response>) -> Response {
    let entry = match console.note(&write).await {
        Ok(entry) => entry,
        Err(fault) => return house_error(fault_refusal(&fault)),
    };
    let answer = response.await;
    let outcome = Some((entry, answer.status().as_u16()));
    match console.note(&Write { outcome, ..write }).await {
        Ok(_) => answer,
        Err(fault) => house_error(fault_refusal(&fault)),
    }
}

/// The audited write of a request, if it is one. Other errors of the request are left to its handler. If the store fails, the
/// writer is unknown, so the write is refused.
async fn write_of(
    console: &Console,
    parts: &mut Parts,
    operation: &'static str,
    route: &str,
) -> Result<Option<Write>, Refusal> {
    let found = if parts.headers.contains_key(header::AUTHORIZATION) {
        if is_decision(operation) { decider(console, parts).await } else { Ok(None) }
    } else {
        writer(console, parts, operation, route).await
    };
    let (keyring, person, session, agent) = match found {
        Ok(Some(found)) => found,
        Err(refusal) if refusal.class.status() >= 500 => return Err(refusal),
        Ok(None) | Err(_) => return Ok(None),
    };
    let owner = match (keyring.owner(), &agent) {
        (Some(owner), _) => Some(owner.clone()),
        (None, Some(agent)) => Some(agent.owner_name()),
        (None, None) => owner_in(parts).await.or_else(|| person.as_ref().map(AgentHandle::owner_name)),
    };
    let person = person.map_or_else(|| keyring.to_string(), |person| person.to_string());
    let path = parts.uri.path().to_owned();
    Ok(Some(Write { owner, person, session, agent, operation, path, outcome: None }))
}

/// The owner or operator, the person, the console session, and the agent in whose name the write is made.
type Writer = (Keyring, Option<AgentHandle>, Option<String>, Option<AgentHandle>);

/// The writer with a console session, if its write is audited: in the name of another agent, or a kind that is audited in the
/// person's own name.
async fn writer(
    console: &Console,
    parts: &Parts,
    operation: &str,
    route: &str,
) -> Result<Option<Writer>, Refusal> {
    let named = parts.headers.get(AS_AGENT).map(|name| name.to_str().ok()?.parse::<AgentHandle>().ok());
    if named.is_none() && !counts(operation, route) {
        return Ok(None);
    }
    let open = if operation == CONSENT {
        consenting(console, parts).await?
    } else {
        signed_in(console.accounts(), parts).await?
    };
    let Some(open) = open else { return Ok(None) };
    let person = open.session.rights.person;
    let other = match named {
        None => None,
        Some(Some(agent)) if open.keyring.has(&agent) => {
            Some(agent).filter(|agent| person.as_ref() != Some(agent))
        }
        Some(_) => return Ok(None),
    };
    let has_entry = other.is_some() || counts(operation, route);
    let may_write = open.session.rights.role != ConsoleRole::Viewer;
    Ok((has_entry && may_write).then_some((open.keyring, person, Some(open.id), other)))
}

/// The session of a person on the page of a consent. The CSRF token is in the form's body, which the handler checks.
async fn consenting(console: &Console, parts: &Parts) -> Result<Option<OpenSession>, Refusal> {
    let is_own_page = parts.extensions.get::<OwnPage>().is_some();
    let Some(cookie) = cookie_of(&parts.headers).filter(|_| is_own_page) else { return Ok(None) };
    console.accounts().console_session(cookie).await.map_err(|fault| fault_refusal(&fault))
}

/// The person that decides with the token of its owner or of the operator.
async fn decider(console: &Console, parts: &Parts) -> Result<Option<Writer>, Refusal> {
    let principal = identify(parts, console.accounts(), Credentials::Header).await?;
    let Decider { principal, person } =
        console.accounts().decider(principal).await.map_err(|fault| fault_refusal(&fault))?;
    let keyring = match principal.who {
        TokenOwner::Operator => Keyring::Operator,
        TokenOwner::Owner(owner) => Keyring::Owner(owner),
        TokenOwner::Agent(_) => return Ok(None),
    };
    Ok(person.map(|person| (keyring, Some(person), None, None)))
}

/// The owner in the path, given directly or by an agent's handle.
async fn owner_in(parts: &mut Parts) -> Option<OwnerName> {
    let named = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    named.iter().find_map(|(name, value)| match name {
        "handle" => value.parse::<AgentHandle>().ok().map(|agent| agent.owner_name()),
        "owner" => value.parse().ok(),
        _ => None,
    })
}
