//! The log on PostgreSQL. Several processes may write to one store: every append holds a lock on the head row until
//! its commit, so position order is commit order.
//! Must not know: any protocol.

mod audit;
mod backoff;
mod copying;
mod last;
mod lead;
mod migrate;
mod pool;
mod reads;
mod signals;
pub mod tables;
mod tail;
mod target;
mod text;
mod tls;
mod trouble;
mod write;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use plenary_kernel::Position;
use plenary_log::{HighWater, OpenedLog};
use tokio::sync::mpsc;

pub use self::{
    audit::{audit, audit_with, recount},
    copying::{Destination, Source, others_run},
    target::OpenError,
};
use self::{
    last::LastEvent,
    pool::Pool,
    reads::Postgres,
    tail::Tail,
    target::{Purpose, Target},
    write::{WriteSession, Writer},
};

/// Most own commits in memory for the feed; beyond it the feed reads them from the store.
const COMMITS_AT_HAND_MAX: usize = 256;

/// The number of connections for reads, which share them.
const READ_CONNECTIONS: usize = 3;
/// The default time that opening waits for a server that starts. A server that was killed under load
/// replays its log for about a minute.
const START_WAIT: Duration = Duration::from_secs(120);

/// How a store on PostgreSQL is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The schema that holds the tables: 1 to 48 of a-z, 0-9 and `_`.
    pub schema: String,
    /// How often the feed looks for commits without a notification.
    pub poll: Duration,
    /// How long opening waits for a server that starts: one that refuses connections, or recovers from a
    /// crash.
    pub start_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { schema: "plenary".into(), poll: Duration::from_millis(500), start_wait: START_WAIT }
    }
}

/// Opens the store at `url` (`postgres://…`), creating or migrating its tables. Needs a tokio runtime.
///
/// If the server fails later, appends and reads return `Fault::Unavailable`, or `Fault::OutcomeUnknown`
/// for a commit in progress, until it is back.
pub async fn open(url: &str, options: Options) -> Result<OpenedLog, OpenError> {
    let target = Arc::new(Target::new(url, &options)?);
    let client = ready(&target, options.start_wait).await?;
    target.check_sessions(&client).await?;
    target.set_epoch(migrate::migrate(&client, &target).await?);
    drop(client);
    let (session, head) = WriteSession::connect(&target).await?;
    let reads = Arc::new(Postgres::new(Pool::new(target.clone(), READ_CONNECTIONS)));
    let hint = HighWater::at(head);
    let hint_rx = hint.subscribe();
    let shared = Arc::new(StoreState { target, hint, writer: AtomicI32::new(0), last: Arc::default() });
    let (committed, committed_rx) = mpsc::channel(COMMITS_AT_HAND_MAX);
    let (channel, jobs, feeder) = plenary_log::channel();
    let source = (reads.clone(), shared.last.clone());
    let tail = Tail::new(source, feeder.clone(), committed_rx, hint_rx, options.poll);
    tokio::spawn(tail.run());
    let signals = signals::signals(shared.clone()).await;
    tokio::spawn(Writer::new(shared, feeder, committed, session, head).run(jobs));
    Ok(channel.open_with(reads, signals, true))
}

/// The first connection, as soon as the server accepts one.
async fn ready(target: &Target, wait: Duration) -> Result<tokio_postgres::Client, OpenError> {
    let until = tokio::time::Instant::now() + wait;
    let (mut backoff, mut is_reported) = (backoff::Backoff::default(), false);
    loop {
        let starting = match target.connect(Purpose::Migrating).await {
            Err(starting @ OpenError::Starting(_)) => starting,
            answer => return answer,
        };
        let next = tokio::time::Instant::now() + backoff.pause();
        if next > until {
            return Err(starting);
        }
        if !std::mem::replace(&mut is_reported, true) {
            tracing::warn!(reason = %starting, seconds_max = wait.as_secs(), "waiting for PostgreSQL");
        }
        tokio::time::sleep_until(next).await;
    }
}

/// The state that the tasks of one open store share.
struct StoreState {
    target: Arc<Target>,
    hint: HighWater,
    /// The id of the writer's process on the server.
    writer: AtomicI32,
    last: Arc<LastEvent>,
}

impl StoreState {
    fn target(&self) -> &Target {
        &self.target
    }
    fn channel(&self) -> &str {
        self.target.channel()
    }
    fn writer(&self) -> i32 {
        self.writer.load(Ordering::Relaxed)
    }
    fn set_writer(&self, pid: i32) {
        self.writer.store(pid, Ordering::Relaxed);
    }
    /// Makes the feed read up to this position.
    fn committed_until(&self, position: Position) {
        self.hint.raise(position);
    }
}
