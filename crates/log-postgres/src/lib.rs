//! The log on PostgreSQL. Several processes may write to one store: every append holds the head row locked until its
//! commit, so position order is commit order. Must not know: any protocol.

mod backoff;
mod lead;
mod listen;
mod migrate;
mod pool;
mod reads;
mod search;
mod signals;
mod tail;
mod target;
mod text;
mod trouble;
mod vectors;
mod write;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use plenary_kernel::Position;
use plenary_log::Opened;
use tokio::sync::{mpsc, watch};

use self::{
    pool::Pool,
    reads::Postgres,
    tail::Tail,
    target::{Purpose, Target},
    write::{WriteSession, Writer},
};
pub use self::{search::open_index, target::OpenError, vectors::open_archive};

/// Most own commits that wait for the feed at hand; past it the feed reads them back.
const COMMITS_AT_HAND_MAX: usize = 256;

/// How a store on PostgreSQL is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The schema that holds the tables: 1 to 48 of a-z, 0-9 and `_`.
    pub schema: String,
    /// How often the feed looks for commits that nobody told it of.
    pub poll: Duration,
    /// How many connections serve reads, at least 1. Reads share them.
    pub read_connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { schema: "plenary".into(), poll: Duration::from_millis(500), read_connections: 3 }
    }
}

/// Opens the store at `url` (`postgres://…`), making or migrating its tables. Needs a tokio runtime.
///
/// A server that goes away later is no end: appends and reads answer `Fault::Unavailable`, or
/// `Fault::OutcomeUnknown` for a commit that was under way, until it is back.
pub async fn open(url: &str, options: Options) -> Result<Opened, OpenError> {
    let target = Arc::new(Target::new(url, &options)?);
    let client = target.connect(Purpose::Migrating).await?;
    target.set_epoch(migrate::migrate(&client, &target).await?);
    drop(client);
    let (session, head) = WriteSession::connect(&target).await?;
    let reads = Arc::new(Postgres::new(Pool::new(target.clone(), options.read_connections)));
    let (hint, hint_rx) = watch::channel(head);
    let shared = Arc::new(Shared { target, hint, writer: AtomicI32::new(0) });
    let (committed, committed_rx) = mpsc::channel(COMMITS_AT_HAND_MAX);
    let (channel, jobs, feeder) = plenary_log::channel();
    let tail = Tail {
        reads: reads.clone(),
        feeder: feeder.clone(),
        committed: committed_rx,
        hint: hint_rx,
        poll: options.poll,
        published: head,
    };
    tokio::spawn(tail.run());
    tokio::spawn(listen::listen(shared.clone()));
    let signals = signals::signals(shared.target.clone()).await;
    tokio::spawn(Writer::new(shared, feeder, committed, session, head).run(jobs));
    Ok(channel.open_with(reads, signals, true))
}

/// What the tasks of one open store share.
struct Shared {
    target: Arc<Target>,
    hint: watch::Sender<Position>,
    /// The writer's process on the server.
    writer: AtomicI32,
}

impl Shared {
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
    /// Makes the tail look until there.
    fn committed_until(&self, position: Position) {
        self.hint.send_if_modified(|known| {
            let further = position > *known;
            *known = position.max(*known);
            further
        });
    }
    async fn tail_gone(&self) {
        self.hint.closed().await;
    }
}
