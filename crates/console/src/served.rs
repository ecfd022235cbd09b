//! How the server serves this room, and its checks of each request: the page at `/`, and writes of people in the
//! names of agents.
//! Must not know: the other rooms.

use std::{collections::HashMap, future::ready, sync::Arc};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, header};
use plenary_accounts::{AS_AGENT, AnsweredOnce, ConsoleRole, OpenSession, once, signed_in};
use plenary_edge::{OperationDoc, RegistryFault};
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Refusal};
use plenary_log::{Charge, Fault, StoredEvent};
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, fault_refusal, house_error};
use serde_json::json;
use tracing::Instrument as _;

use crate::{
    Console,
    audit::{AuditRoom, Entries, Write},
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
    /// The whole router with the page at `/` and an entry for each write in an agent's name. `docs` describe what the
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
    let (parts, body) = request.into_parts();
    let (open, agent) = match writer(&console, &parts).await {
        Ok(Some(found)) => found,
        Ok(None) => return next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => return house_error(refusal),
    };
    let path = parts.uri.path().to_owned();
    let matched = parts.extensions.get::<MatchedPath>();
    let id = matched.and_then(|matched| {
        ids.iter().find(|((method, at), _)| *method == parts.method && *at == matched.as_str())
    });
    let operation = id.map_or("", |(_, id)| *id);
    let write = Write { open, agent, operation, path, done: None };
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
    headers.contains_key(header::COOKIE)
        && headers.contains_key(AS_AGENT)
        && !headers.contains_key(header::AUTHORIZATION)
}

/// The person that writes in the name of an agent that it is not. What else is wrong with a request is said by whoever
/// answers it; where the store fails, nobody knows who writes, and nothing is written.
async fn writer(
    console: &Console,
    parts: &http::request::Parts,
) -> Result<Option<(OpenSession, AgentHandle)>, Refusal> {
    let open = match signed_in(console.accounts(), parts).await {
        Ok(Some(open)) => open,
        Err(refusal) if refusal.class.status() >= 500 => return Err(refusal),
        Ok(None) | Err(_) => return Ok(None),
    };
    let named = parts.headers.get(AS_AGENT).and_then(|name| name.to_str().ok()?.parse::<AgentHandle>().ok());
    let Some(agent) = named else { return Ok(None) };
    let is_other = open.session.person.as_ref() != Some(&agent);
    let may_write = open.session.role != ConsoleRole::Viewer && open.keyring.has(&agent);
    Ok((is_other && may_write).then_some((open, agent)))
}
