//! Offers the agents of this server to clients of other protocols: Agent2Agent (A2A) 1.0, and the APIs of OpenAI and of
//! LangGraph.
//! Must not know: how another room carries out an operation; calls go through the HTTP router.

mod access;
mod calls;
mod card;
mod failure;
mod grpc;
mod keys;
mod langgraph;
mod limits;
mod openai;
mod push;
mod repeats;
mod rest;
mod rooms;
mod routes;
mod rpc;
mod run_tasks;
mod served;
mod session_tasks;
mod signature;
mod stream;
mod task;
mod wakeups;

use std::sync::Arc;

use parking_lot::RwLock;
use plenary_accounts::Accounts;
use plenary_edge::operations::Operations;
use plenary_kernel::Clock;
use plenary_log::Log;
use plenary_notify::Notify;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// The room. Cheap to clone.
#[derive(Clone)]
pub struct A2a(Arc<Inner>);

struct Inner {
    log: Log,
    accounts: Accounts,
    pub(crate) push: push::PushBoard,
    /// The key that signs cards, after its first use.
    card_key: OnceCell<signature::CardKey>,
    /// The operations of the rooms, once all are mounted.
    operations: RwLock<Option<Operations>>,
    wakeups: Arc<wakeups::SessionWakeups>,
    settings: Settings,
    /// Cancelled when the server is about to stop.
    stop: CancellationToken,
}

/// The operator's settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The agent whose card is at the server's own well-known path.
    pub agent: Option<plenary_kernel::AgentHandle>,
}

impl A2a {
    /// The room; it answers no request before [`A2a::begin`].
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        accounts: Accounts,
        notify: Notify,
        settings: Settings,
    ) -> Self {
        let push = push::PushBoard::new(log.clone(), clock, accounts.clone(), notify);
        Self(Arc::new(Inner {
            log,
            accounts,
            push,
            card_key: OnceCell::new(),
            operations: RwLock::default(),
            wakeups: Arc::default(),
            settings,
            stop: CancellationToken::new(),
        }))
    }

    /// Sets the operations of the rooms; from now on requests are answered.
    pub fn begin(&self, operations: Operations) {
        *self.0.operations.write() = Some(operations);
    }

    /// Drops the operations of the rooms when the server stops.
    fn end(&self) {
        self.0.operations.write().take();
    }
}
