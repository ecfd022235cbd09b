//! One node's task: it applies the records of all nodes in order. While it has the pen, it decides
//! groups of appends on its own file, from itself and other nodes, and publishes each group as the next
//! record; otherwise it sends its appends to the node that has the pen.
//! Must not know: the rules of an append, which are `plenary_log::plan`.

mod pen;
mod replica;
mod requests;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use plenary_journal::{
    Hints, Journal,
    peers::{NodeId, Peers},
};
use plenary_log::{Batch, Fault, Feeder, Job, Jobs, PlanResult, Reply};
use plenary_log_sqlite::{Link, Replica};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use self::requests::PendingRequest;
use crate::{
    fresh::Mark,
    messages::PeerMessage,
    others::{PendingAcks, Standing},
    pens::{PenHolder, PenState},
};

/// How long a record without an answer is published and looked up again; then the outcomes of its
/// appends are unknown. The journal elects a new leader within that time.
pub const SETTLE_MAX: Duration = Duration::from_secs(12);
/// How long a node waits for a failed journal to answer again, before it refuses an append.
const BACK_MAX: Duration = Duration::from_secs(1);
/// Most bytes of one group, except a single larger batch: one entry of the journal's consensus.
const GROUP_BYTES_MAX: usize = 256 << 10;
/// Most records that are applied in one transaction.
const APPLIED_AT_ONCE_MAX: usize = 64;
/// How often a node that waits for the pen checks it.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often another replica of the journal is asked to lead, until one returns the next record
/// unchanged; and the pause after each attempt.
pub(crate) const MISTRUSTED_MAX: usize = 6;
pub(crate) const MISTRUST_PAUSE: Duration = Duration::from_secs(1);
/// How long a node that ends waits for the acknowledgements of others.
const END_MAX: Duration = Duration::from_secs(3);

/// The state of the task.
pub(crate) struct Node {
    pub(crate) me: NodeId,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) replica: Replica,
    pub(crate) mark: Mark,
    pub(crate) feeder: Feeder,
    pub(crate) hints: Hints,
    /// The messages of other nodes.
    pub(crate) peer_messages: mpsc::Receiver<PeerMessage>,
    /// The queue of acknowledgements that wait for another node.
    pub(crate) pending_acks: mpsc::Sender<PendingAcks>,
    /// The standing of this node, for the other nodes.
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) others: JoinHandle<()>,
    /// The last applied record.
    pub(crate) last: Link,
    /// The number of the last applied record, for readers.
    pub(crate) applied: watch::Sender<u64>,
    /// The end of the journal as readers know it.
    pub(crate) target: watch::Receiver<u64>,
    pub(crate) poll: Duration,
    /// Whether the last publication had no answer.
    pub(crate) is_cut_off: bool,
    /// How often another replica of the journal was asked to lead, because one was damaged.
    pub(crate) mistrusted: usize,
    pub(crate) pens: PenState,
    pub(crate) waiting: Waiting,
}

/// The work that waits for the pen, here or at another node.
#[derive(Default)]
pub(crate) struct Waiting {
    /// The undecided units, in order.
    units: VecDeque<Unit>,
    /// The pending request to the node with the pen.
    request: Option<PendingRequest>,
    /// The number of its last request.
    serial: u64,
    /// The number of the last request from each node, while this node has the pen.
    last_requests: HashMap<NodeId, u64>,
}

/// Batches that are decided and answered together.
struct Unit {
    batches: Vec<Batch>,
    bytes: usize,
    /// When its outcome counts as unknown.
    until: Instant,
    owner: Owner,
}

/// The recipient of a unit's outcome.
enum Owner {
    /// Appenders of this process.
    Own(Vec<Reply>),
    /// Another node, with the number of its request.
    Node(NodeId, u64),
}

impl Unit {
    fn is_own(&self) -> bool {
        matches!(self.owner, Owner::Own(_))
    }
}

/// The fault that has ended the node.
struct NodeFault(Fault);

/// The failure of a step: a temporary fault, or the end of the node.
enum Trouble {
    Passing(Fault),
    Ending(NodeFault),
}

impl Node {
    /// Runs until the last handle on the log is gone, or the node fails.
    pub(crate) async fn run(mut self, mut jobs: Jobs) {
        let mut poll = interval(self.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_well, mut is_open) = (true, true);
        while is_open || self.has_own() {
            let mut arrived = Vec::new();
            let handled = tokio::select! {
                biased;
                Some(hint) = self.hints.next() => self.hinted(hint).await,
                Some(message) = self.peer_messages.recv() => self.handle_message(message).await,
                Ok(()) = self.target.changed() => {
                    let target = *self.target.borrow_and_update();
                    if target > self.last.sequence { self.catch_up().await } else { Ok(()) }
                }
                () = jobs.take(&mut arrived), if is_open && !self.has_own() => {
                    is_open = !arrived.is_empty();
                    Ok(())
                }
                () = std::future::ready(()), if self.can_write() => Ok(()),
                _ = look.tick(), if self.has_own() => Ok(()),
                _ = poll.tick() => {
                    let caught_up = self.catch_up().await;
                    poll.reset();
                    caught_up
                }
            };
            let step = match handled {
                Ok(()) => self.gather(&mut jobs, &mut arrived, &mut is_open).await,
                trouble => trouble,
            };
            self.enqueue(arrived);
            let step = match step {
                Ok(()) => self.work().await,
                trouble => trouble,
            };
            match step {
                Ok(()) => is_well = true,
                Err(Trouble::Passing(fault)) => {
                    if std::mem::take(&mut is_well) {
                        tracing::warn!(%fault, "this node waits for the journal");
                    }
                }
                Err(Trouble::Ending(NodeFault(fault))) => return self.feeder.fail(fault),
            }
        }
        self.give_up();
        drop((self.pending_acks, self.standing));
        let _ = timeout(END_MAX, self.others).await;
    }

    /// Collects waiting requests of other nodes and own appends, so that they share a group.
    async fn gather(
        &mut self,
        jobs: &mut Jobs,
        arrived: &mut Vec<Job>,
        is_open: &mut bool,
    ) -> Result<(), Trouble> {
        while let Ok(message) = self.peer_messages.try_recv() {
            self.handle_message(message).await?;
        }
        if *is_open && arrived.is_empty() && !self.has_own() {
            tokio::select! {
                biased;
                () = jobs.take(arrived) => *is_open = !arrived.is_empty(),
                () = std::future::ready(()) => {}
            }
        }
        Ok(())
    }

    /// Whether appends of this process wait for an outcome.
    fn has_own(&self) -> bool {
        self.waiting.request.is_some() || self.waiting.units.iter().any(Unit::is_own)
    }

    /// Whether this node can decide a group now.
    fn can_write(&self) -> bool {
        self.pens.own_epoch().is_some() && !self.waiting.units.is_empty()
    }

    /// Queues jobs, in units of a group's size. They may have waited for an earlier group already.
    fn enqueue(&mut self, jobs: Vec<Job>) {
        let mut jobs = jobs.into_iter().peekable();
        while let Some(first) = jobs.peek() {
            let until = Instant::from_std(first.reply.since()) + SETTLE_MAX;
            let (mut batches, mut replies, mut bytes) = (Vec::new(), Vec::new(), 0);
            while let Some(Job { batch, reply }) =
                jobs.next_if(|job| batches.is_empty() || bytes + job.batch.bytes() <= GROUP_BYTES_MAX)
            {
                bytes += batch.bytes();
                batches.push(batch);
                replies.push(reply);
            }
            self.waiting.units.push_back(Unit { batches, bytes, until, owner: Owner::Own(replies) });
        }
    }

    /// Processes the waiting units as far as possible now.
    async fn work(&mut self) -> Result<(), Trouble> {
        let now = Instant::now();
        self.expire(now);
        if let PenHolder::Ours(epoch) = self.pens.holder(now) {
            return if self.waiting.units.is_empty() { Ok(()) } else { self.group(epoch).await };
        }
        // Other nodes ask the new holder of the pen, as soon as they know it.
        self.waiting.units.retain(Unit::is_own);
        self.waiting.last_requests.clear();
        if !self.has_own() {
            return Ok(());
        }
        match self.pens.holder(now) {
            PenHolder::Theirs(pen) => self.send_request(pen, now).await,
            PenHolder::Nobody => self.take_pen().await,
            PenHolder::Ours(_) | PenHolder::Unsure => Ok(()),
        }
    }

    /// Processes a message of another node.
    async fn handle_message(&mut self, message: PeerMessage) -> Result<(), Trouble> {
        match message {
            PeerMessage::Beat(beat) => {
                match beat.pen() {
                    Some(pen) if !beat.leaves => self.pens.note_holder(pen, Instant::now()),
                    _ => self.pens.note_released(beat.node(), (!beat.leaves).then_some(beat.epoch)),
                }
                Ok(())
            }
            PeerMessage::Request(request) => {
                self.requested(request);
                Ok(())
            }
            PeerMessage::Answer(answer) => self.answered(answer).await,
            PeerMessage::Take if self.pens.own_epoch().is_none() => self.take_pen().await,
            PeerMessage::Take => Ok(()),
        }
    }
}

/// Sends each reply its outcome.
fn reply(replies: Vec<Reply>, answer: Result<Vec<PlanResult>, Fault>) {
    match answer {
        Ok(outcomes) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let _ = reply.send(outcome);
            }
        }
        Err(fault) => {
            for reply in replies {
                let _ = reply.send(Err(fault.clone()));
            }
        }
    }
}
