//! The Model Context Protocol over HTTP, both generations at one path: requests without a session (2026-07-28), and
//! sessions that begin with `initialize` (before). Only this module names `rmcp`.
//! Must not know: the list of tools.

mod calls;
mod changes;
mod completion;
mod entry;
mod envelope;
mod fixture;
mod handler;
mod leased;
mod limits;
mod listed;
mod local;
mod metadata;
mod person;
mod prompts;
mod registry;
mod resources;
mod scope_challenge;

use std::{future::Future, sync::Arc, time::Instant};

use axum::Router;
use http::Method;
use plenary_accounts::Accounts;
use plenary_edge::{Auth, Metrics, Operation, OperationDoc, Origin, RegistryFault};
use plenary_kernel::Class;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::{SessionManager as _, local::LocalSessionManager},
};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{fixture::Fixture, handler::Handler, listed::Lists, registry::Registry};
use crate::{operations::Operations, tool::Tools};

pub use limits::*;
pub use local::LocalAnswers;

/// The dependencies of the server.
pub struct Parts {
    /// The operations that answer resources.
    pub operations: Operations,
    /// The tools to offer.
    pub tools: Tools,
    /// The accounts whose tokens are accepted.
    pub accounts: Accounts,
    /// The server's own names.
    pub origin: Origin,
    /// Canceled when the server stops: pending requests are answered, then every session and stream ends.
    pub stop: CancellationToken,
    /// Maximum number of open sessions of one owner; see [`SESSIONS_PER_OWNER_MAX`].
    pub sessions_per_owner_max: usize,
    /// The URL of the issuer that gives access tokens in place of this server.
    pub authorization_server: Option<String>,
    /// Whether to offer also what the conformance suite expects of servers.
    pub fixture: bool,
}

/// The server. Cheap to clone.
#[derive(Clone)]
pub struct Mcp(Arc<Inner>);

struct Inner {
    operations: Operations,
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    registry: Registry,
    lists: Lists,
    accounts: Accounts,
    origin: Origin,
    authorization_server: Option<String>,
    stop: CancellationToken,
    /// Ends every session and stream, after the pending answers are sent.
    end: CancellationToken,
    /// The pending answers.
    answers: TaskTracker,
}

/// The query of `/mcp`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what the entry reads")]
struct McpQuery {
    /// The toolsets to list, separated by commas: `core`, `frames`, `channels`, `context`, `sessions`, `runs`,
    /// `requests`, `assistant`, or `all`; `core` when absent. A tool of any set may be called.
    toolsets: Option<String>,
}

impl Mcp {
    /// A server over these operations and tools.
    pub fn new(parts: Parts) -> Self {
        let Parts {
            operations,
            tools,
            accounts,
            origin,
            stop,
            sessions_per_owner_max,
            authorization_server,
            fixture,
        } = parts;
        let (sessions, end) = (Arc::new(sessions()), CancellationToken::new());
        let fixture = fixture.then(|| Arc::new(Fixture::default()));
        let lists = Lists::new(tools.clone(), fixture.clone());
        let shared = operations.clone();
        let make = move || Ok(Handler::new(shared.clone(), tools.clone(), fixture.clone()));
        let service = StreamableHttpService::new(make, sessions.clone(), config(&end));
        let (registry, answers) = (Registry::new(sessions_per_owner_max), TaskTracker::new());
        let inner = Inner {
            operations,
            service,
            sessions,
            registry,
            lists,
            accounts,
            origin,
            authorization_server,
            stop,
            end,
            answers,
        };
        Self(Arc::new(inner))
    }

    /// Closes idle sessions, and every session or stream whose token is no longer valid, until the server stops.
    pub fn running(&self) -> impl Future<Output = ()> + Send + use<> {
        let mcp = self.clone();
        async move {
            let mut ticks = interval(SWEEP_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while mcp.0.stop.run_until_cancelled(ticks.tick()).await.is_some() {
                mcp.sweep().await;
            }
            // A call that waits is woken by the stop, and tells its caller.
            mcp.0.answers.close();
            let _late = timeout(ANSWERS_WITHIN, mcp.0.answers.wait()).await;
            mcp.0.end.cancel();
        }
    }

    async fn sweep(&self) {
        for id in self.0.registry.idle(Instant::now()) {
            self.close(&id).await;
        }
        for caller in self.0.registry.callers() {
            match self.0.accounts.is_valid(&caller).await {
                Ok(true) => {}
                Ok(false) => {
                    for id in self.0.registry.end(&caller.token) {
                        self.close(&id).await;
                    }
                }
                Err(fault) => tracing::warn!(%fault, "a token could not be read"),
            }
        }
    }

    /// Closes one session.
    async fn close(&self, id: &Arc<str>) {
        self.0.registry.closed(id);
        if let Err(error) = self.0.sessions.close_session(id).await {
            tracing::debug!(%error, "a session was not closed");
        }
    }
}

/// The sessions of the `initialize` generation.
fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    // Whether a session is idle depends on its pending requests, which only the registry knows.
    sessions.session_config.keep_alive = None;
    sessions
}

/// The configuration for answering messages, until `end`. The entry has checked Host, Origin and the size.
fn config(end: &CancellationToken) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_sse_keep_alive(Some(KEEPALIVE))
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
        .with_cancellation_token(end.clone())
}

/// The routes of the server.
///
/// # Errors
/// When the operations conflict with each other.
pub fn routes(mcp: Mcp, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(mcp))
}

/// The operations of the server.
pub fn operations() -> Vec<Operation<Mcp>> {
    let doc = |id, method, summary| {
        OperationDoc::new(id, method, "/mcp", summary)
            .no_tool("this is the endpoint of all tools")
            .without_key()
            .auth(Auth::Any)
            .query::<McpQuery>()
            .reads_header("Mcp-Session-Id", "The session, as the answer to `initialize` has it.")
            .errors(Class::Unauthenticated, &["-32000"])
            .errors(Class::Forbidden, &["-32000"])
            .errors(Class::TooMany, &["-32000"])
            .errors(Class::Malformed, &["-32600", "-32602"])
            .errors(Class::NotFound, &["-32000"])
            .error_body::<envelope::ErrorBody>()
    };
    let metadata = |id, path| {
        OperationDoc::new(id, Method::GET, path, "Show the protected resource metadata of /mcp (RFC 9728)")
            .no_tool("for clients that look for an authorization server")
            .auth(Auth::None)
            .for_pages()
            .reply::<metadata::ProtectedResource>()
    };
    vec![
        doc("mcp.post", Method::POST, "Send one message of the Model Context Protocol")
            .description(
                "Revision 2026-07-28 in single requests, and the revisions from 2024-11-05 on in sessions that \
                 begin with `initialize`. The answer is one JSON-RPC message, or a stream of them as Server-Sent \
                 Events.",
            )
            .request::<Map<String, Value>>()
            .reply::<Map<String, Value>>()
            .or_reply_type("text/event-stream")
            .or_empty(http::StatusCode::ACCEPTED)
            .sends_header("Mcp-Session-Id", "The session that `initialize` has begun.")
            .errors(Class::Malformed, &["-32700", "-32000"])
            .errors(Class::TooLarge, &["-32000"])
            .handled_by(entry::enter),
        doc("mcp.listen", Method::GET, "Receive the server's own messages in a session")
            .reply_type("text/event-stream")
            .continues()
            .handled_by(entry::enter),
        doc("mcp.close", Method::DELETE, "Close a session")
            .success(http::StatusCode::NO_CONTENT)
            .handled_by(entry::enter),
        metadata("mcp.metadata", "/.well-known/oauth-protected-resource").handled_by(metadata::protected),
        metadata("mcp.metadata_of_path", "/.well-known/oauth-protected-resource/mcp")
            .handled_by(metadata::protected),
    ]
}
