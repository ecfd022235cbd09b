//! `GET /agent/{name}/attach`: authenticates an attaching instance and finds its agent. The token is the agent's own,
//! `@owner.name`; several instances share it. An agent without a configuration is enlisted at its first attachment.
//! Must not know: runs.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    extract::{FromRequestParts, Path, Query, State},
    response::Response,
};
use http::{Method, StatusCode, request::Parts};
use parking_lot::{Mutex, MutexGuard};
use plenary_accounts::{
    AccountEvent, Accounts, Authority, Credentials, Follower, Principal, TokenOwner, Watchers, identify,
    recheck, token_required,
};
use plenary_edge::{Auth, Handshake, Metrics, Operation, OperationDoc, RegistryFault, with_method_refusals};
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal, Shares, SharesFull};
use plenary_log::{Signals, StoredEvent, StreamName};
use plenary_room::{CannotWatch, async_trait, fault_refusal};
use plenary_runs::{Introduction, RunRefusal, Runner, Runs, handle_of, refused_response, wire::ErrorBody};
use schemars::JsonSchema;

use super::{
    ConnectedRunner, FRAME_BYTES_MAX, INSTANCES_MAX, INSTANCES_PER_OWNER_MAX, INSTANCES_TOTAL_MAX,
    other_processes::OtherProcesses, pool::InstancePool, pump,
};

/// How much longer than [`FRAME_BYTES_MAX`] a frame may be to be answered with a close; a longer one breaks the
/// connection.
const TOO_LONG_READ_BYTES: usize = 1 << 20;

/// The attachable agents of a server and their attached instances. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AttachPoint(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: Mutex<HashMap<AgentHandle, Arc<InstancePool>>>,
    watchers: Watchers<AgentHandle>,
    /// The number of attached instances per owner.
    shares: Shares<OwnerName>,
    /// `None` if the store has no other processes.
    other_processes: OnceLock<OtherProcesses>,
}

impl Default for AttachPoint {
    fn default() -> Self {
        Self::new(INSTANCES_PER_OWNER_MAX)
    }
}

impl AttachPoint {
    /// An attach point without instances, with a limit per owner.
    pub fn new(per_owner_max: usize) -> Self {
        let (pools, watchers) = (Mutex::default(), Watchers::new(INSTANCES_MAX));
        let shares = Shares::new(INSTANCES_TOTAL_MAX, per_owner_max);
        Self(Arc::new(Inner { pools, watchers, shares, other_processes: OnceLock::new() }))
    }

    /// The pool of an agent, created if it does not exist.
    pub(super) fn pool(&self, handle: &AgentHandle) -> Arc<InstancePool> {
        self.pools()
            .entry(handle.clone())
            .or_insert_with(|| Arc::new(InstancePool::new(handle.clone())))
            .clone()
    }

    /// The pool of an agent, if it exists.
    fn pool_if_any(&self, handle: &AgentHandle) -> Option<Arc<InstancePool>> {
        self.pools().get(handle).cloned()
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<AgentHandle, Arc<InstancePool>>> {
        self.0.pools.lock()
    }

    /// The runner of an enlisted agent.
    pub fn runner(&self, handle: &AgentHandle, introduction: Introduction) -> Arc<dyn Runner> {
        Arc::new(ConnectedRunner::enlisted(introduction, handle, self))
    }

    /// Answers other processes of the store that ask for attached instances, until the log is closed. From now on the
    /// error of a run that finds no instance names the other processes that have one. `address` is the address of
    /// this process.
    pub fn answering(&self, signals: Signals, address: String) -> impl Future<Output = ()> + Send + 'static {
        let other_processes =
            self.0.other_processes.get_or_init(|| OtherProcesses { signals, address }).clone();
        let attaching = self.clone();
        async move {
            let has =
                |agent: &AgentHandle| attaching.pool_if_any(agent).is_some_and(|pool| pool.instances() > 0);
            other_processes.answering(has).await;
        }
    }

    /// This process's address and the other processes with instances of an agent; `None` if there are no other
    /// processes.
    pub(super) async fn addresses_elsewhere(&self, agent: &AgentHandle) -> Option<(&str, Vec<String>)> {
        let other_processes = self.0.other_processes.get()?;
        Some((&other_processes.address, other_processes.addresses(agent).await))
    }

    /// Closes every connection and refuses new ones.
    pub fn close(&self) {
        self.0.watchers.close();
    }
}

#[async_trait]
impl Observer for AttachPoint {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events {
            match event.stream.category() {
                Runs::ENLISTED if &*event.kind == Runs::DISMISSED_KIND => {
                    let pool = event.stream.id().parse().ok().and_then(|handle| self.pools().remove(&handle));
                    pool.inspect(|pool| pool.close());
                }
                _ => AccountEvent::of(event).iter().for_each(|change| recheck(&self.0.watchers, change)),
            }
        }
    }
}

/// The state of the route.
#[derive(Clone)]
pub struct AttachState {
    /// The attachable agents.
    pub attaching: AttachPoint,
    /// Authenticates the callers.
    pub accounts: Accounts,
    /// The registry of agents; enlists new ones.
    pub runs: Runs,
}

/// The route.
///
/// # Errors
/// If the operations contradict each other.
pub fn routes(state: AttachState, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let router = plenary_edge::routes(operations(), metrics)?;
    Ok(with_method_refusals(router, metrics, refused_response).with_state(state))
}

/// The operations.
pub fn operations() -> Vec<Operation<AttachState>> {
    let doc = OperationDoc::new(
        "run.attach",
        Method::GET,
        "/agent/{name}/attach",
        "Attach as an instance of an agent and receive its runs over a WebSocket",
    )
    .no_tool("programs of agents attach, not models")
    .acts()
    .description(
        "With the agent's own token. An agent that is not in the configuration attaches under its full \
         name, `owner.agent`, and is registered with this server from then on. Each text frame is one JSON object: requests \
         come in, and events with their `run_id` go out.",
    )
    .needs_token(Auth::Agent)
    .path_parameter::<String>("name", "The agent's name.")
    .query::<AttachQuery>()
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .or_refusal(StatusCode::UPGRADE_REQUIRED)
    .error_body::<ErrorBody<'static>>()
    .errors(Class::NotFound, &["agent_not_found"])
    .errors(Class::Forbidden, &["forbidden", "token_required"])
    .errors(Class::Malformed, &["websocket_required"])
    .errors(Class::TooMany, &["too_many_instances", "too_many_instances_of_owner", "too_many_agents"])
    .errors(Class::Unprocessable, &["introduction_too_long", "invalid_introduction"])
    .errors(Class::Unavailable, &["stopping"]);
    vec![doc.handled_by(attach)]
}

/// Why an instance is not attached.
fn not_attached(reason: CannotWatch) -> RunRefusal {
    let (class, code, text) = match reason {
        CannotWatch::TooMany => {
            (Class::TooMany, "too_many_instances", "The agent has the maximum number of attached instances.")
        }
        CannotWatch::Stopping => (Class::Unavailable, "stopping", "The server is stopping; try again later."),
    };
    RunRefusal::new(Refusal::new(class, code, text))
}

/// The refusal when a limit of instances is reached.
fn limit_refusal(full: SharesFull) -> RunRefusal {
    let (code, text) = match full {
        SharesFull::Key => (
            "too_many_instances_of_owner",
            "Your owner's agents have the maximum number of attached instances; detach one.",
        ),
        SharesFull::Total => (
            "too_many_instances",
            "The server has the maximum number of attached instances; try again later.",
        ),
    };
    RunRefusal::new(Refusal::new(Class::TooMany, code, text))
}

struct AttachCaller(Principal);

impl FromRequestParts<AttachState> for AttachCaller {
    type Rejection = RunRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &AttachState) -> Result<Self, RunRefusal> {
        let principal = identify(parts, &state.accounts, Credentials::Header).await?;
        // Whoever attaches answers as the agent, so a person in the console may not.
        if principal.token.is_person() {
            return Err(token_required().into());
        }
        Ok(Self(principal))
    }
}

/// The query of the operation.
#[derive(Debug, Default, JsonSchema)]
#[allow(
    dead_code,
    reason = "it describes what is read pair by pair, since `tool` may stand there several times"
)]
struct AttachQuery {
    /// The purpose of the agent, one line; for an agent that is not in the configuration.
    purpose: Option<String>,
    /// A tool of the agent, for information; may be repeated.
    tool: Option<String>,
}

/// The introduction in a query; `None` if it has none.
fn introduction(parameters: Vec<(String, String)>) -> Option<Introduction> {
    let mut introduction = None::<Introduction>;
    for (name, value) in parameters {
        match &*name {
            "purpose" => introduction.get_or_insert_default().purpose = value,
            "tool" => introduction.get_or_insert_default().tools.push(value),
            _ => {}
        }
    }
    introduction
}

impl AttachState {
    /// The agent that the caller may attach as under this name: only the agent itself, with its own token. To callers
    /// that may not run it, the agent looks absent.
    async fn attached_agent(&self, principal: &Principal, name: &str) -> Result<AgentHandle, Refusal> {
        let not_found = || {
            Refusal::new(
                Class::NotFound,
                "agent_not_found",
                "There is no such agent, or it is not one that attaches itself.",
            )
        };
        let agent = self.runs.agents().get(name);
        let handle = match &agent {
            Some(agent) if !agent.is_enlisted() && self.attaching.pool_if_any(&agent.handle).is_none() => {
                return Err(not_found());
            }
            Some(agent) => agent.handle.clone(),
            None => handle_of(name).ok_or_else(not_found)?,
        };
        if principal.who == TokenOwner::Agent(handle.clone()) {
            return Ok(handle);
        }
        let principal_id = Authority::from(principal.clone()).by;
        if let Some(agent) = agent
            && self.runs.may_run(&principal_id, &agent).await.map_err(|fault| fault_refusal(&fault))?
        {
            let text = "Only the agent itself may attach, with its own token.";
            return Err(Refusal::new(Class::Forbidden, "forbidden", text));
        }
        Err(not_found())
    }

    /// The pool to attach to. A new agent is enlisted first; a new introduction replaces the earlier one.
    async fn pool(
        &self,
        principal: &Principal,
        handle: &AgentHandle,
        introduction: Option<Introduction>,
    ) -> Result<Arc<InstancePool>, Refusal> {
        let introduction = match self.runs.agents().of(handle) {
            None => Some(introduction.unwrap_or_default()),
            Some(agent) => introduction.filter(|_| agent.is_enlisted()),
        };
        if let Some(introduction) = introduction {
            self.runs.enlist(handle, principal.clone().into(), introduction).await?;
        }
        Ok(self.attaching.pool(handle))
    }
}

async fn attach(
    State(state): State<AttachState>,
    AttachCaller(principal): AttachCaller,
    Path(name): Path<String>,
    Query(parameters): Query<Vec<(String, String)>>,
    Handshake(upgrade): Handshake,
) -> Result<Response, RunRefusal> {
    let handle = state.attached_agent(&principal, &name).await?;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(reason) => return Ok(reason.response(refused_response)),
    };
    let share = state.attaching.0.shares.take(handle.owner_name(), 1).map_err(limit_refusal)?;
    let pool = state.pool(&principal, &handle, introduction(parameters)).await?;
    let stream = StreamName::new("hosts.attached", pool.handle.as_str());
    let watch = state
        .attaching
        .0
        .watchers
        .watch(&stream, Follower::new(Some(&principal)), pool.handle.clone())
        .map_err(not_attached)?;
    let bytes_max = FRAME_BYTES_MAX + TOO_LONG_READ_BYTES;
    Ok(upgrade.max_message_size(bytes_max).max_frame_size(bytes_max).on_upgrade(move |socket| async move {
        let _attached = share;
        pump::attached(&pool, &state.accounts, &principal, &watch, socket).await;
    }))
}
