//! The processes on a store, and which of them are alive. Each has a row `node/<node>` from its start to its orderly
//! end, and sends a signal every few seconds. Silence is counted in a process's own signals, which reach it the same
//! way as those of the others. So no two clocks are compared, and a process that was paused or that receives nothing
//! does not take the others for dead.
//! Must not know: agents, or what follows from a death.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_kernel::{Clock, limits::READ_ROWS_MAX};
use plenary_log::{
    Batch, Fault, Log, RowOp,
    signals::{Publication, PublishError, Subscription},
};

/// How often a process says that it is alive.
pub const BEAT_EVERY: Duration = Duration::from_secs(2);
/// A process is dead once this many signals of the reader have arrived after its last one: after 10 to 12 s.
pub const SILENT_BEATS: u64 = 6;

/// The topic of the signals; their body is the node.
const TOPIC: &str = "nodes";
/// The prefix of the rows.
const ROWS: &str = "node/";
/// Earlier releases compare a row with their own clock, and renew it. To them this process is alive for a day, which is
/// longer than an upgrade takes.
const EARLIER_RELEASES_MS: u64 = 86_400_000;

/// One process on the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node(String);

impl Node {
    /// The process with this name.
    pub(crate) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Its name on the store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The processes, as one of them knows them.
pub(crate) struct Nodes {
    log: Log,
    clock: Arc<dyn Clock>,
    own: Node,
    /// Whether the row of this process is written.
    has_row: AtomicBool,
    received: Mutex<ReceivedBeats>,
}

/// The signals that have arrived at this process, from itself and from the others.
struct ReceivedBeats {
    signals: Subscription,
    /// The number of its own signals that have arrived.
    own_beats: u64,
    others: HashMap<Node, LastSign>,
}

/// The last sign of life of a process.
struct LastSign {
    /// The number of own signals at that time.
    own_beats: u64,
    /// The revision of its row, which a process of an earlier release changes with each sign.
    revision: u64,
}

impl ReceivedBeats {
    /// Takes the signals that have arrived, in their order.
    fn listen(&mut self, own: &Node) {
        while let Some(signal) = self.signals.try_next() {
            if signal.own {
                self.own_beats += 1;
                continue;
            }
            let Ok(name) = std::str::from_utf8(&signal.body) else { continue };
            let node = Node::named(name);
            if node != *own {
                let sign = self.others.entry(node).or_insert(LastSign { own_beats: 0, revision: 0 });
                sign.own_beats = self.own_beats;
            }
        }
    }

    /// Whether a process with a row is alive. One that this process sees for the first time is.
    fn is_alive(&mut self, node: &Node, revision: u64) -> bool {
        let own_beats = self.own_beats;
        let sign = self.others.entry(node.clone()).or_insert(LastSign { own_beats, revision });
        if sign.revision < revision {
            *sign = LastSign { own_beats, revision };
        }
        own_beats - sign.own_beats < SILENT_BEATS
    }
}

impl Nodes {
    pub(crate) fn new(log: Log, clock: Arc<dyn Clock>, own: Node) -> Self {
        let signals = log.signals().subscribe(TOPIC);
        let received = Mutex::new(ReceivedBeats { signals, own_beats: 0, others: HashMap::new() });
        Self { log, clock, own, has_row: AtomicBool::new(false), received }
    }

    pub(crate) fn own(&self) -> &Node {
        &self.own
    }

    /// Writes the row of this process, once.
    pub(crate) async fn begin_lease(&self) -> Result<(), Fault> {
        if self.has_row.load(Ordering::Acquire) {
            return Ok(());
        }
        let until = self.clock.now().0.saturating_add(EARLIER_RELEASES_MS);
        self.write(Some(until.to_string().into())).await?;
        self.has_row.store(true, Ordering::Release);
        Ok(())
    }

    /// Tells the others that this process is alive. Writes nothing after the first call.
    pub(crate) async fn beat(&self) -> Result<(), Fault> {
        self.begin_lease().await?;
        let body = Bytes::copy_from_slice(self.own.0.as_bytes());
        let beat = Publication { topic: TOPIC, counters: Vec::new(), at: self.clock.now(), body };
        match self.log.signals().publish(beat).await {
            Ok(_) => Ok(()),
            Err(PublishError::Fault(fault)) => Err(fault),
            Err(
                error @ (PublishError::BodyTooLarge(_)
                | PublishError::TooManyCounters(_)
                | PublishError::BadCounter(_)),
            ) => Err(Fault::Corrupt(error.to_string())),
        }
    }

    /// Removes the row of this process, so that no other one waits for its signals.
    pub(crate) async fn end_lease(&self) -> Result<(), Fault> {
        self.write(None).await
    }

    /// The living processes; always includes this one.
    pub(crate) async fn alive(&self) -> Result<HashSet<Node>, Fault> {
        let stored = self.stored().await?;
        let mut received = self.received.lock();
        received.listen(&self.own);
        let mut alive = HashSet::from([self.own.clone()]);
        for (node, revision) in &stored {
            if *node != self.own && received.is_alive(node, *revision) {
                alive.insert(node.clone());
            }
        }
        // Whoever has ended in order sends nothing again.
        received.others.retain(|node, _| stored.contains_key(node));
        Ok(alive)
    }

    /// The processes that have a row, with its revision.
    async fn stored(&self) -> Result<HashMap<Node, u64>, Fault> {
        let (mut stored, mut after) = (HashMap::new(), None::<String>);
        loop {
            let rows = self.log.read_rows(ROWS, after.as_deref(), READ_ROWS_MAX).await?;
            let is_last = rows.len() < READ_ROWS_MAX;
            after = rows.last().map(|(name, _)| name.clone());
            let nodes = rows.into_iter();
            stored
                .extend(nodes.map(|(name, row)| {
                    (Node::named(name.strip_prefix(ROWS).unwrap_or(&name)), row.revision)
                }));
            if is_last {
                return Ok(stored);
            }
        }
    }

    async fn write(&self, value: Option<Bytes>) -> Result<(), Fault> {
        let row = RowOp { name: format!("{ROWS}{}", self.own.0), expected: None, value };
        self.log.append(Batch { rows: vec![row], ..Batch::default() }).await?;
        Ok(())
    }
}
