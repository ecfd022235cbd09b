//! `GET /agent/{name}/attach`: who attaches, and to which agent. The token is that of the agent itself, `@owner.name`;
//! several instances hold the same one. An agent that nobody configured is one from its first attachment on.
//! Must not know: runs.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    extract::{
        FromRequestParts, Path, Query, State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use http::{Method, StatusCode, request::Parts};
use parking_lot::{Mutex, MutexGuard};
use plenary_accounts::{
    AccountEvent, Accounts, Authority, Credentials, Follower, Principal, Watchers, Who, identify, recheck,
};
use plenary_edge::{Auth, Metrics, Operation, OperationDoc, RegistryFault, with_method_refusals};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Class, ErrorCode, OwnerName, Refusal, Shares, SharesFull};
use plenary_log::{Signals, StoredEvent, StreamName};
use plenary_room::{CannotWatch, fault_refusal};
use plenary_runs::{Introduction, Refused, Runner, Runs, handle_of, refused_response, wire::ErrorBody};
use schemars::JsonSchema;

use super::{
    Connected, FRAME_OCTETS_MAX, INSTANCES_MAX, INSTANCES_PER_OWNER_MAX, INSTANCES_TOTAL_MAX, desk::Desk,
    elsewhere::Elsewhere, pump,
};

/// How much longer than [`FRAME_OCTETS_MAX`] a frame may be and still be answered with a close; past it the connection
/// breaks.
const TOO_LONG_READ_OCTETS: usize = 1 << 20;

/// The agents of a server that attach themselves, and who is attached. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Attaching(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    desks: Mutex<HashMap<AgentHandle, Arc<Desk>>>,
    watchers: Watchers<AgentHandle>,
    /// How many each owner has attached.
    shares: Shares<OwnerName>,
    /// None where this process is alone on its store.
    elsewhere: OnceLock<Elsewhere>,
}

impl Default for Attaching {
    fn default() -> Self {
        Self::new(INSTANCES_PER_OWNER_MAX)
    }
}

impl Attaching {
    /// Nobody yet, and at most so many instances of one owner's agents.
    #[must_use]
    pub fn new(per_owner_max: usize) -> Self {
        let (desks, watchers) = (Mutex::default(), Watchers::new(INSTANCES_MAX));
        let shares = Shares::new(INSTANCES_TOTAL_MAX, per_owner_max);
        Self(Arc::new(Inner { desks, watchers, shares, elsewhere: OnceLock::new() }))
    }

    /// Where the instances of an agent attach.
    pub(super) fn desk(&self, handle: &AgentHandle) -> Arc<Desk> {
        self.desks().entry(handle.clone()).or_insert_with(|| Arc::new(Desk::new(handle.clone()))).clone()
    }

    /// The same, if there is such a place.
    fn known(&self, handle: &AgentHandle) -> Option<Arc<Desk>> {
        self.desks().get(handle).cloned()
    }

    fn desks(&self) -> MutexGuard<'_, HashMap<AgentHandle, Arc<Desk>>> {
        self.0.desks.lock()
    }

    /// What carries out the runs of an agent that came by itself.
    #[must_use]
    pub fn runner(&self, handle: &AgentHandle, introduction: Introduction) -> Arc<dyn Runner> {
        Arc::new(Connected::of_its_own(introduction, handle, self))
    }

    /// Tells other processes on the same store what is attached to this one, until the log is closed; and from now on
    /// a run that finds no instance here says where there are some. `address` is where this process listens.
    pub fn answering(&self, signals: Signals, address: String) -> impl Future<Output = ()> + Send + 'static {
        let elsewhere = self.0.elsewhere.get_or_init(|| Elsewhere { signals, address }).clone();
        let attaching = self.clone();
        async move {
            let has = |agent: &AgentHandle| attaching.known(agent).is_some_and(|desk| desk.instances() > 0);
            elsewhere.answering(has).await;
        }
    }

    /// At which other processes instances of an agent are attached; `None` where there are no others.
    pub(super) async fn elsewhere(&self, agent: &AgentHandle) -> Option<(&str, Vec<String>)> {
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
        for event in events {
            match event.stream.category() {
                Runs::ENLISTED if &*event.kind == Runs::WENT => {
                    let desk = event.stream.id().parse().ok().and_then(|handle| self.desks().remove(&handle));
                    desk.inspect(|desk| desk.close());
                }
                _ => AccountEvent::of(event).iter().for_each(|change| recheck(&self.0.watchers, change)),
            }
        }
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
    /// Which agents there are, and who lets one in that comes by itself.
    pub runs: Runs,
}

/// The route.
///
/// # Errors
/// When the operations contradict each other.
pub fn routes(door: Door, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let router = plenary_edge::routes(operations(), metrics)?;
    Ok(with_method_refusals(router, metrics, refused_response).with_state(door))
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
        "With the token of the agent itself. An agent that the configuration does not name attaches under its whole \
         name, `owner.agent`, and is one of this server's from then on. Each text frame is one JSON object: requests \
         come in, and events with their `run_id` go out.",
    )
    .auth(Auth::Agent)
    .path_parameter::<String>("name", "The agent's name.")
    .query::<AttachQuery>()
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .error_body::<ErrorBody<'static>>()
    .errors(Class::Unauthenticated, &[ErrorCode::MissingAuthorization, ErrorCode::InvalidAuthorization])
    .errors(Class::NotFound, &[ErrorCode::AgentNotFound])
    .errors(Class::Forbidden, &[ErrorCode::Forbidden])
    .errors(Class::Malformed, &[ErrorCode::WebsocketRequired])
    .errors(Class::TooMany, &[ErrorCode::TooManyInstances, ErrorCode::TooManyInstancesOfOwner, ErrorCode::TooManyAgents])
    .errors(Class::Unprocessable, &[ErrorCode::IntroductionTooLong, ErrorCode::InvalidIntroduction])
    .errors(Class::Unavailable, &[ErrorCode::Stopping]);
    vec![Operation::new(doc, attach)]
}

/// Why an instance is not attached.
fn not_attached(why: CannotWatch) -> Refused {
    let (class, code, text) = match why {
        CannotWatch::TooMany => (
            Class::TooMany,
            ErrorCode::TooManyInstances,
            "The agent has as many instances attached as it may.",
        ),
        CannotWatch::Stopping => {
            (Class::Unavailable, ErrorCode::Stopping, "The server stops; try again later.")
        }
    };
    Refused::new(Refusal::new(class, code, text))
}

/// Whose share of the instances is used up.
fn used_up(full: SharesFull) -> Refused {
    let (code, text) = match full {
        SharesFull::Key => (
            ErrorCode::TooManyInstancesOfOwner,
            "As many instances of your owner's agents are attached as one owner may have; detach one.",
        ),
        SharesFull::Total => (
            ErrorCode::TooManyInstances,
            "As many instances are attached to the server as may be; try again later.",
        ),
    };
    Refused::new(Refusal::new(Class::TooMany, code, text))
}

/// Who asks.
struct Asking(Principal);

impl FromRequestParts<Door> for Asking {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Refused> {
        Ok(Self(identify(parts, &door.accounts, Credentials::Header).await?))
    }
}

/// The query of the operation.
#[derive(Debug, Default, JsonSchema)]
#[allow(
    dead_code,
    reason = "it describes what is read pair by pair, since `tool` may stand there several times"
)]
struct AttachQuery {
    /// What the agent is for, one line; for one that the configuration does not name.
    purpose: Option<String>,
    /// One of its tools, for information; as often as it has some.
    tool: Option<String>,
}

/// What an agent tells of itself; `None` when it tells nothing.
fn introduction(told: Vec<(String, String)>) -> Option<Introduction> {
    let mut introduction = None::<Introduction>;
    for (name, value) in told {
        match &*name {
            "purpose" => introduction.get_or_insert_default().purpose = value,
            "tool" => introduction.get_or_insert_default().tools.push(value),
            _ => {}
        }
    }
    introduction
}

impl Door {
    /// As which agent somebody attaches who asks for this name: the agent itself does, with its own token. For who may
    /// not run it, there is none.
    async fn asked_for(&self, principal: &Principal, name: &str) -> Result<AgentHandle, Refusal> {
        let not_found = || {
            Refusal::new(
                Class::NotFound,
                ErrorCode::AgentNotFound,
                "There is no such agent that attaches itself.",
            )
        };
        let agent = self.runs.agents().get(name);
        let handle = match &agent {
            Some(agent) if !agent.is_enlisted() && self.attaching.known(&agent.handle).is_none() => {
                return Err(not_found());
            }
            Some(agent) => agent.handle.clone(),
            None => handle_of(name).ok_or_else(not_found)?,
        };
        if principal.who == Who::Agent(handle.clone()) {
            return Ok(handle);
        }
        let by = Authority::from(principal.clone()).by;
        if let Some(agent) = agent
            && self.runs.may_run(&by, &agent).await.map_err(|fault| fault_refusal(&fault))?
        {
            let text = "Only the agent itself attaches, with its own token.";
            return Err(Refusal::new(Class::Forbidden, ErrorCode::Forbidden, text));
        }
        Err(not_found())
    }

    /// Where it attaches. One that is not there yet is let in, and one that tells something of itself is told of so.
    async fn desk(
        &self,
        principal: &Principal,
        handle: &AgentHandle,
        told: Option<Introduction>,
    ) -> Result<Arc<Desk>, Refusal> {
        let told = match self.runs.agents().of(handle) {
            None => Some(told.unwrap_or_default()),
            Some(agent) => told.filter(|_| agent.is_enlisted()),
        };
        if let Some(told) = told {
            self.runs.enlist(handle, principal.clone().into(), told).await?;
        }
        Ok(self.attaching.desk(handle))
    }
}

async fn attach(
    State(door): State<Door>,
    Asking(principal): Asking,
    Path(name): Path<String>,
    Query(told): Query<Vec<(String, String)>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refused> {
    let handle = door.asked_for(&principal, &name).await?;
    let upgrade = upgrade.map_err(|_| {
        Refusal::malformed(
            ErrorCode::WebsocketRequired,
            "This path speaks WebSocket; send an upgrade request.",
        )
    })?;
    let share = door.attaching.0.shares.take(handle.owner_name(), 1).map_err(used_up)?;
    let desk = door.desk(&principal, &handle, introduction(told)).await?;
    let stream = StreamName::new("hosts.attached", desk.handle.as_str());
    let watch = door
        .attaching
        .0
        .watchers
        .watch(&stream, Follower::new(Some(&principal)), desk.handle.clone())
        .map_err(not_attached)?;
    let octets_max = FRAME_OCTETS_MAX + TOO_LONG_READ_OCTETS;
    Ok(upgrade.max_message_size(octets_max).max_frame_size(octets_max).on_upgrade(move |socket| async move {
        let _attached = share;
        pump::attached(&desk, &door.accounts, &principal, &watch, socket).await;
    }))
}
