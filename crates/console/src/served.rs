//! How the server serves this room, and its checks of each request: the page at `/`, and writes of people that have an
//! entry in the audit.
//! Must not know: the other rooms.

use std::{collections::HashMap, future::ready, sync::Arc};

use axum::{
    Router,
    extract::{FromRequestParts as _, MatchedPath, RawPathParams, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, header, request::Parts};
use plenary_accounts::{
    AS_AGENT, AnsweredOnce, ConsoleRole, Credentials, Decider, Keyring, TokenOwner, identify, once, signed_in,
};
use plenary_edge::{OperationDoc, RegistryFault};
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, OwnerName, Refusal};
use plenary_log::{Charge, Fault, StoredEvent};
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, fault_refusal, house_error};
use serde_json::json;
use tracing::Instrument as _;

use crate::{
    Console,
    audit::{AuditRoom, Entries, Write, counts, is_decision},
    console::ConsoleState,
    page::front,
    routes,
};

/// A body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("console.link", || json!({"role": "viewer"})),
    ("console.sign_in", || json!({"link": "plk_0123456789abcdef.~nick"})),
    ("passkey.add", || json!({"name": "Phone", "client_data": "e30", "authenticator_data": "AA"})),
    ("person.create", || json!({"handle": "@nick.mara", "display_name": "Mara"})),
];

/// How a repeated request is answered.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // Each is for one use.
        (Method::POST, "/console/links"),
        (Method::POST, "/console/sessions"),
        (Method::POST, "/console/passkeys"),
        (Method::POST, "/console/passkeys/challenges"),
    ],
    secret: &[],
};

impl ServedRoom for Console {
    fn about() -> RoomDescription {
        let purpose = "The page for people, and their sign-in.";
        RoomDescription::new("console", purpose, &routes::all(), EXAMPLES)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let at = ConsoleState { console: self.clone(), origin: Arc::new(mount.origin.clone()) };
        let router = plenary_edge::routes(routes::all(), mount.metrics)?.with_state(at);
        Ok(once(router, self.accounts().clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn close(&self) {
        self.watchers().close();
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }
}

impl Console {
    /// The owner whose quota a stored event of this room counts towards, and its size.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        match event.stream.category() {
            AuditRoom::CATEGORY => recount::<AuditRoom>(&Entries, event),
            _ => Ok(None),
        }
    }
}

/// The ids of operations, by method and path.
type Ids = Arc<HashMap<(Method, &'static str), &'static str>>;

impl Console {
    /// The whole router with the page at `/` and an entry for each write of a person that has one. `docs` describe what the
    /// router serves.
    pub fn around(&self, router: Router, docs: &[OperationDoc]) -> Router {
        let ids: Ids =
            Arc::new(docs.iter().map(|doc| ((doc.method().clone(), doc.path()), doc.id())).collect());
        router.layer(from_fn_with_state((self.clone(), ids), looked_at))
    }
}

async fn looked_at(State((console, ids)): State<(Console, Ids)>, request: Request, next: Next) -> Response {
    if request.uri().path() == "/"
        && request.method().is_safe()
        && let Some(page) = front(request.headers())
    {
        return page;
    }
    if request.method().is_safe() || !may_be_of_a_person(request.headers()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
    let id = ids.iter().find(|((method, at), _)| *method == parts.method && *at == route);
    let operation = id.map_or("", |(_, id)| *id);
    let write = match write_of(&console, &mut parts, operation, &route).await {
        Ok(Some(write)) => write,
        Ok(None) => return next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => return house_error(refusal),
    };
    // A connection that ends does not end the write, nor what is noted of it.
    let writing = async move { noted(&console, write, next.run(Request::from_parts(parts, body))).await };
    match tokio::spawn(writing.in_current_span()).await {
        Ok(answer) => answer,
        Err(error) => house_error(fault_refusal(&Fault::OutcomeUnknown(error.to_string()))),
    }
}

/// Makes a write whose entry is on disk before it begins, and again before its outcome is told.
async fn noted(console: &Console, write: Write, made: impl Future<Output = Response>) -> Response {
    let begun = match console.note(&write).await {
        Ok(begun) => begun,
        Err(fault) => return house_error(fault_refusal(&fault)),
    };
    let answer = made.await;
    let done = Some((begun, answer.status().as_u16()));
    match console.note(&Write { done, ..write }).await {
        Ok(_) => answer,
        Err(fault) => house_error(fault_refusal(&fault)),
    }
}

/// Whether it is worth looking: most requests are not.
fn may_be_of_a_person(headers: &HeaderMap) -> bool {
    let has_token = headers.contains_key(header::AUTHORIZATION);
    if has_token { headers.contains_key(AS_AGENT) } else { headers.contains_key(header::COOKIE) }
}

/// The write of a person that has an entry. What else is wrong with a request is said by whoever answers it; where the
/// store fails, nobody knows who writes, and nothing is written.
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
    Ok(Some(Write { owner, person, session, agent, operation, path, done: None }))
}

/// Whose console or token, which person, in which session, in the name of which agent.
type Writer = (Keyring, Option<AgentHandle>, Option<String>, Option<AgentHandle>);

/// The person that writes with a session of the console: in the name of an agent that it is not, or what has an entry also in
/// its own.
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
    let Some(open) = signed_in(console.accounts(), parts).await? else { return Ok(None) };
    let person = open.session.person;
    let other = match named {
        None => None,
        Some(Some(agent)) if open.keyring.has(&agent) => {
            Some(agent).filter(|agent| person.as_ref() != Some(agent))
        }
        Some(_) => return Ok(None),
    };
    let has_entry = other.is_some() || counts(operation, route);
    let may_write = open.session.role != ConsoleRole::Viewer;
    Ok((has_entry && may_write).then_some((open.keyring, person, Some(open.id), other)))
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

/// The owner that the path names, itself or by an agent.
async fn owner_in(parts: &mut Parts) -> Option<OwnerName> {
    let named = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    named.iter().find_map(|(name, value)| match name {
        "handle" => value.parse::<AgentHandle>().ok().map(|agent| agent.owner_name()),
        "owner" => value.parse().ok(),
        _ => None,
    })
}
