//! The speaker and the agent, at a server that may restart meanwhile.
//! Must not know: the editor.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use plenary_client::{Backoff, Client, Error, Result};
use plenary_kernel::AgentHandle;
use tokio::{sync::OnceCell, time::Instant};

use super::fault::Fault;

/// How long a server is waited for that was there before.
const AWAY_MAX: Duration = Duration::from_secs(60);
/// The first wait before a call is repeated.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Who asks which agent.
pub(super) struct Asker {
    pub(super) client: Client,
    pub(super) agent: AgentHandle,
    /// Whoever speaks; nobody where the server does not say.
    me: OnceCell<Option<AgentHandle>>,
    has_reached: AtomicBool,
}

impl Asker {
    pub(super) fn new(client: Client, agent: AgentHandle, me: Option<AgentHandle>) -> Self {
        let me = me.map_or_else(OnceCell::new, |me| OnceCell::new_with(Some(Some(me))));
        Self { client, agent, me, has_reached: AtomicBool::new(false) }
    }

    /// The agent's name in the paths of runs.
    pub(super) fn name(&self) -> &str {
        self.agent.as_str().trim_start_matches('@')
    }

    /// Whoever speaks: as a saved identity says, else as the server does.
    async fn me(&self) -> Option<&AgentHandle> {
        let ask = || async { Some(self.call(|| self.client.me()).await.ok()?.value.handle) };
        self.me.get_or_init(ask).await.as_ref()
    }

    /// Whether somebody is whoever speaks. Who is not known to be is not: the words of others are not shown as the user's.
    pub(super) async fn is_me(&self, who: &AgentHandle) -> bool {
        self.me().await == Some(who)
    }

    /// Whether the agent is of the same owner as whoever speaks.
    pub(super) async fn is_of_same_owner(&self) -> bool {
        self.me().await.is_some_and(|me| me.owner() == self.agent.owner())
    }

    /// Makes a call, and again while a server that was there before is away. It must be one that may be repeated.
    pub(super) async fn call<T, F>(&self, mut call: impl FnMut() -> F + Send) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send,
    {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let end = Instant::now() + AWAY_MAX;
        loop {
            let done = call().await;
            match &done {
                Err(error) if error.is_transient() => {
                    if !self.has_reached.load(Ordering::Relaxed) || Instant::now() >= end {
                        return done;
                    }
                    tokio::time::sleep(backoff.next_wait()).await;
                }
                _ => {
                    self.has_reached.store(true, Ordering::Relaxed);
                    return done;
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

/// Whether the server says that there is no such thing.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Refused(refused) if refused.status == 404)
}
