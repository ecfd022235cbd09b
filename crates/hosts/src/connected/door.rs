//! `GET /agent/{name}/attach`: who attaches, and to which agent. The token is that of the configured agent itself,
//! `@owner.name`; several instances hold the same one.
//! Must not know: runs.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use axum::{
    Router,
    extract::{
        FromRequestParts, Path, State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_accounts::{Accounts, CannotWatch, Credentials, Principal, Watchers, Who, identify};
use plenary_edge::{Auth, Metrics, Operation, OperationDoc, RegistryFault, refused, with_method_refusals};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Class, Refusal};
use plenary_log::{Signals, StoredEvent, StreamName};
use plenary_runs::wire::ErrorBody;

use super::{FRAME_OCTETS_MAX, INSTANCES_MAX, desk::Desk, elsewhere::Elsewhere, pump};

/// How much longer than [`FRAME_OCTETS_MAX`] a frame may be and still be answered with a close; past it the connection
/// breaks.
const TOO_LONG_READ_OCTETS: usize = 1 << 20;

/// The agents of a server that attach themselves, and who is attached. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Attaching(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// By the agent's name.
    desks: Mutex<HashMap<String, Arc<Desk>>>,
    watchers: Watchers<AgentHandle>,
    /// None where this process is alone on its store.
    elsewhere: OnceLock<Elsewhere>,
}

impl Default for Attaching {
    fn default() -> Self {
        let (desks, watchers) = (Mutex::default(), Watchers::new(INSTANCES_MAX));
        Self(Arc::new(Inner { desks, watchers, elsewhere: OnceLock::new() }))
    }
}

impl Attaching {
    /// Where the instances of an agent attach.
    pub(super) fn desk(&self, handle: &AgentHandle) -> Arc<Desk> {
        let desk = Arc::new(Desk::new(handle.clone()));
        let mut desks = self.0.desks.lock().unwrap_or_else(PoisonError::into_inner);
        desks.insert(handle.name().to_owned(), desk.clone());
        desk
    }

    fn named(&self, name: &str) -> Option<Arc<Desk>> {
        self.0.desks.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Tells other processes on the same store what is attached to this one, until the log is closed; and from now on
    /// a run that finds no instance here says where there are some. `address` is where this process listens.
    pub fn answering(&self, signals: Signals, address: String) -> impl Future<Output = ()> + Send + 'static {
        let elsewhere = self.0.elsewhere.get_or_init(|| Elsewhere { signals, address }).clone();
        let attaching = self.clone();
        async move {
            let has = |agent: &str| attaching.named(agent).is_some_and(|desk| desk.has_any());
            elsewhere.answering(has).await;
        }
    }

    /// At which other processes instances of an agent are attached; `None` where there are no others.
    pub(super) async fn elsewhere(&self, agent: &str) -> Option<(&str, Vec<String>)> {
        let elsewhere = self.0.elsewhere.get()?;
        Some((&elsewhere.address, elsewhere.attached(agent).await))
    }

    /// Closes every connection; nobody attaches any more.
    pub fn close(&self) {
        self.0.watchers.close();
    }
}

impl Observer for Attaching {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        events
            .iter()
            .filter(|event| event.stream.category().starts_with("accounts."))
            .for_each(|event| self.0.watchers.observe(event));
        Box::pin(std::future::ready(()))
    }
}

/// What the route needs.
#[derive(Clone)]
pub struct Door {
    /// Who may be attached to.
    pub attaching: Attaching,
    /// Who asks.
    pub accounts: Accounts,
}

/// The route.
///
/// # Errors
/// When the operations contradict each other.
pub fn routes(door: Door, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let router = plenary_edge::routes(operations(), metrics)?;
    Ok(with_method_refusals(router, metrics, |refusal| Refused(refusal).into_response()).with_state(door))
}

/// The operation.
#[must_use]
pub fn operations() -> Vec<Operation<Door>> {
    let doc = OperationDoc::new(
        "run.attach",
        Method::GET,
        "/agent/{name}/attach",
        "Attach as an instance of an agent, and get its runs over a WebSocket",
    )
    .no_tool("for agents, which speak for themselves")
    .description(
        "For agents of kind `connected`, with the token of the agent itself. Each text frame is one JSON object: \
         requests come in, and events with their `run_id` go out.",
    )
    .auth(Auth::Agent)
    .path_parameter::<String>("name", "The agent's name.")
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .error_body::<ErrorBody<'static>>()
    .errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
    .errors(Class::NotFound, &["agent_not_found"])
    .errors(Class::Forbidden, &["forbidden"])
    .errors(Class::Malformed, &["websocket_required"])
    .errors(Class::TooMany, &["too_many_instances"])
    .errors(Class::Unavailable, &["stopping"]);
    vec![Operation::new(doc, attach)]
}

/// A refusal on its way out.
#[derive(Debug)]
struct Refused(Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<CannotWatch> for Refused {
    fn from(why: CannotWatch) -> Self {
        let (class, code, text) = match why {
            CannotWatch::TooMany => {
                (Class::TooMany, "too_many_instances", "The agent has as many instances attached as it may.")
            }
            CannotWatch::Stopping => (Class::Unavailable, "stopping", "The server stops; try again later."),
        };
        Self(Refusal::new(class, code, text))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Refusal { class, code, message } = &self.0;
        let json =
            serde_json::to_vec(&ErrorBody { detail: message, code }).expect("two strings can be written");
        let mut response = refused(*class, json);
        if matches!(class, Class::TooMany | Class::Unavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Who asks.
struct Asking(Principal);

impl FromRequestParts<Door> for Asking {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Refused> {
        Ok(Self(identify(parts, &door.accounts, Credentials::Header).await?))
    }
}

async fn attach(
    State(door): State<Door>,
    Asking(principal): Asking,
    Path(name): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refused> {
    let desk = door.attaching.named(&name).ok_or_else(|| {
        Refusal::new(Class::NotFound, "agent_not_found", "There is no such agent that attaches itself.")
    })?;
    if principal.who != Who::Agent(desk.handle.clone()) {
        let text = "Only the agent itself attaches, with its own token.";
        return Err(Refusal::new(Class::Forbidden, "forbidden", text).into());
    }
    let upgrade = upgrade.map_err(|_| {
        Refusal::malformed("websocket_required", "This path speaks WebSocket; send an upgrade request.")
    })?;
    let stream = StreamName::new("hosts.attached", &name);
    let watch = door.attaching.0.watchers.watch(&stream, Some(&principal), desk.handle.clone())?;
    let octets_max = FRAME_OCTETS_MAX + TOO_LONG_READ_OCTETS;
    Ok(upgrade.max_message_size(octets_max).max_frame_size(octets_max).on_upgrade(move |socket| async move {
        pump::attached(&desk, &door.accounts, &principal, &watch, socket).await;
    }))
}
