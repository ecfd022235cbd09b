//! The server: a store is opened, the rooms are built on it, a listener serves them, and background work keeps
//! them going. Only this part names concrete backends.

mod background;
mod operator;
mod settings;
mod store;
mod surface;

use std::sync::Arc;

use anyhow::Context as _;
use plenary_accounts::{Accounts, Seed, Seeded, TokenDigest};
use plenary_edge::{Listener, Metrics};
use plenary_engine::{Clock, SystemClock};
use plenary_hub::{Closing, Cursors, Presence};
use plenary_log::{Fault, Log};
use plenary_sessions::Sessions;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use operator::OperatorToken;
pub(crate) use settings::Settings;

/// A server that is running.
pub(crate) struct Server {
    url: String,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<plenary_edge::Stopped>,
    tasks: TaskTracker,
    parts: Parts,
    closing: store::Closing,
}

/// What the rooms share.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) log: Log,
    pub(crate) accounts: Accounts,
    pub(crate) sessions: Sessions,
    pub(crate) presence: Arc<Presence>,
    pub(crate) cursors: Arc<Cursors>,
}

impl Server {
    /// Opens the store, finishes what a crash left, applies the seed, and listens.
    pub(crate) async fn start(settings: Settings, operator: &OperatorToken) -> anyhow::Result<Self> {
        let (opened, closing) = store::open(&settings).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let log = opened.log;
        let digest = TokenDigest::of(operator.secret());
        let accounts = Accounts::new(log.clone(), clock.clone(), digest);
        let presence = Arc::new(Presence::default());
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let sessions = Sessions::new(
            log.clone(),
            clock,
            accounts.clone(),
            presence.clone(),
            cursors.clone(),
            plenary_sessions::Config { grace: settings.grace },
        );
        accounts.set_consequences(Arc::new(sessions.clone()));
        let parts = Parts { log, accounts, sessions, presence, cursors };

        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        background::dispatch(&tasks, opened.feed, &parts);
        parts.accounts.sweep().await.context("finishing what was left of blocks and deletions")?;
        if let Some(seed) = &settings.seed {
            let bytes =
                std::fs::read(seed).with_context(|| format!("reading the seed file {}", seed.display()))?;
            let seed = Seed::parse(&bytes)?;
            let Seeded { made, known } = parts.accounts.apply_seed(&seed).await?;
            tracing::info!(made, known, "the seed file was applied");
        }
        parts.sessions.resume_grace().await.context("taking up grace windows")?;

        let metrics = Metrics::new();
        let listener = Listener::bind(settings.listen, settings.edge()?)?;
        let url = settings.url(listener.address());
        let router = surface::router(&parts, &metrics, &stop)?;
        background::keep_going(&tasks, &parts, &stop);
        let serve_stop = stop.clone();
        let serving = tokio::spawn(async move { listener.serve(router, &metrics, serve_stop).await });
        Ok(Self { url, stop, serving, tasks, parts, closing })
    }

    /// How clients reach it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the store can't go on; the process must then end.
    pub(crate) async fn failed(&self) -> Fault {
        self.parts.log.failed().await
    }

    /// Stops: nothing more is accepted, commits under way finish, connections are closed with 1012, the store is
    /// closed. Takes at most ten seconds.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.parts.presence.close_all(Closing::Shutdown);
        self.stop.cancel();
        let stopped = self.serving.await.context("the listener")?;
        if stopped.cut > 0 {
            tracing::warn!(connections = stopped.cut, "connections did not end in time and were cut");
        }
        self.tasks.close();
        background::last_words(&self.parts).await;
        self.parts.log.close().await;
        self.closing.wait().await;
        Ok(())
    }
}
