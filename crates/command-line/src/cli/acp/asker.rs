//! The caller and the agent, and calls that survive a restart of the server.
//! Must not know: the editor.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use plenary_client::{Backoff, Client, Error, Result};
use plenary_kernel::AgentHandle;
use tokio::{sync::OnceCell, time::Instant};

use super::fault::Fault;

/// How long calls are retried when a server that was reachable before does not answer.
const AWAY_MAX: Duration = Duration::from_secs(60);
/// The pause before the first retry.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest pause between retries.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The caller and the agent that it talks to.
pub(super) struct AgentCaller {
    pub(super) client: Client,
    pub(super) agent: AgentHandle,
    /// The caller's handle; `None` if the server does not say.
    me: OnceCell<Option<AgentHandle>>,
    has_reached: AtomicBool,
}

impl AgentCaller {
    pub(super) fn new(client: Client, agent: AgentHandle, me: Option<AgentHandle>) -> Self {
        let me = me.map_or_else(OnceCell::new, |me| OnceCell::new_with(Some(Some(me))));
        Self { client, agent, me, has_reached: AtomicBool::new(false) }
    }

    /// The agent's name in the paths of runs.
    pub(super) fn name(&self) -> &str {
        self.agent.as_str().trim_start_matches('@')
    }

    /// The caller's handle, from a saved identity or else from the server.
    async fn me(&self) -> Option<&AgentHandle> {
        let ask = || async { Some(self.call(|| self.client.me()).await.ok()?.value.handle) };
        self.me.get_or_init(ask).await.as_ref()
    }

    /// Whether a handle is the caller's. False if the caller is unknown: text of others never shows as the user's.
    pub(super) async fn is_me(&self, handle: &AgentHandle) -> bool {
        self.me().await == Some(handle)
    }

    /// Whether the agent and the caller have the same owner.
    pub(super) async fn is_of_same_owner(&self) -> bool {
        self.me().await.is_some_and(|me| me.owner() == self.agent.owner())
    }

    /// Makes a call, and repeats it while a server that was reachable before does not answer. The call must be safe to repeat.
    pub(super) async fn call<T, F>(&self, mut call: impl FnMut() -> F + Send) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send,
    {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let end = Instant::now() + AWAY_MAX;
        loop {
            let outcome = call().await;
            match &outcome {
                Err(error) if error.is_transient() => {
                    if !self.has_reached.load(Ordering::Relaxed) || Instant::now() >= end {
                        return outcome;
                    }
                    tokio::time::sleep(backoff.next_wait()).await;
                }
                _ => {
                    self.has_reached.store(true, Ordering::Relaxed);
                    return outcome;
                }
            }
        }
    }

    /// Whether the server runs the agent.
    pub(super) async fn is_hosted(&self) -> std::result::Result<bool, Fault> {
        match self.call(|| self.client.describe_agent(self.name())).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the error is the server's "not found".
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Refused(refused) if refused.status == 404)
}
