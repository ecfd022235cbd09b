//! The task for the other nodes of the journal: it sends this node's heartbeats, receives those of
//! others, and releases acknowledgements once another node has their records. It continues while the
//! node waits for the journal.
//! Must not know: how records are decided or applied.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::peers::{Address, Messages, NodeId, Peers};
use plenary_log::{Fault, PlanResult, Reply};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    keepers::{AckTracker, Keep, May},
    messages::{self, Beat, PeerMessage},
    node::SETTLE_MAX,
};

/// How often a node sends a heartbeat.
const BEAT_EVERY: Duration = Duration::from_millis(400);
/// How often waiting acknowledgements are checked, without a message.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Most groups whose acknowledgements wait; beyond it the node waits before the next group.
const WAITING_MAX: usize = 256;
/// Most groups and messages in the channels between this task and the node's.
pub(crate) const PASSED_MAX: usize = 1_024;

/// The current standing of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// The last record in its file.
    pub(crate) applied: u64,
    /// The number of the record with which it last took the pen.
    pub(crate) epoch: u64,
    /// Whether it still has the pen.
    pub(crate) has_pen: bool,
    /// Whether its disk was full when it last wrote a record to its file.
    pub(crate) is_full: bool,
}

/// Appends that are in the journal and in this node's file, but not acknowledged.
pub(crate) struct PendingAcks {
    /// Their record.
    pub(crate) sequence: u64,
    pub(crate) since: Instant,
    pub(crate) replies: Vec<Reply>,
    pub(crate) outcomes: Vec<PlanResult>,
}

/// The state of the task.
pub(crate) struct Others {
    pub(crate) me: NodeId,
    pub(crate) name: String,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) messages: Option<Messages>,
    pub(crate) keepers: AckTracker,
    pub(crate) to_node: mpsc::Sender<PeerMessage>,
    pub(crate) pending_acks: mpsc::Receiver<PendingAcks>,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) waiting: VecDeque<PendingAcks>,
    /// The last record that was acknowledged without another node.
    pub(crate) alone_at: Option<u64>,
    /// The epoch of this node's pen, and whether it has it, as last announced to the others.
    pub(crate) announced: (u64, bool),
}

/// The node's ends of the task's channels.
pub(crate) struct Lines {
    pub(crate) peer_messages: mpsc::Receiver<PeerMessage>,
    pub(crate) pending_acks: mpsc::Sender<PendingAcks>,
    pub(crate) standing: watch::Sender<Standing>,
}

impl Others {
    /// The task's state, and the node's ends of its channels.
    pub(crate) fn new(
        me: NodeId,
        name: String,
        peers: Arc<dyn Peers>,
        messages: Messages,
        keep: Keep,
        standing: Standing,
    ) -> (Self, Lines) {
        let (to_node, peer_messages) = mpsc::channel(PASSED_MAX);
        let (to_keep, pending_acks) = mpsc::channel(1);
        let (standing, seen) = watch::channel(standing);
        let others = Self {
            me,
            name,
            peers,
            messages: Some(messages),
            keepers: AckTracker::new(keep),
            to_node,
            pending_acks,
            standing: seen,
            waiting: VecDeque::new(),
            alone_at: None,
            announced: (0, false),
        };
        (others, Lines { peer_messages, pending_acks: to_keep, standing })
    }

    /// Runs until the node has ended and no acknowledgement waits.
    pub(crate) async fn run(mut self) {
        let mut beat = interval(BEAT_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.announce(Address::All, true, false).await;
        let mut is_open = true;
        while is_open || !self.waiting.is_empty() {
            tokio::select! {
                biased;
                message = next(&mut self.messages) => match message {
                    Some(body) => self.handle_message(body).await,
                    None => self.messages = None,
                },
                pending_acks = self.pending_acks.recv(), if is_open && self.waiting.len() < WAITING_MAX => match pending_acks {
                    Some(pending_acks) => self.waiting.push_back(pending_acks),
                    None => is_open = false,
                },
                () = pen_changed(&mut self.standing, self.announced), if is_open => {
                    self.announce(Address::All, false, false).await;
                }
                _ = beat.tick() => self.announce(Address::All, false, false).await,
                _ = look.tick(), if !self.waiting.is_empty() => {}
            }
            self.release();
        }
        self.announce(Address::All, false, true).await;
    }

    async fn announce(&mut self, to: Address, is_query: bool, leaves: bool) {
        let Standing { applied, epoch, has_pen, is_full } = *self.standing.borrow();
        if to == Address::All {
            self.announced = (epoch, has_pen);
        }
        let beat = Beat {
            node: self.me.0,
            name: self.name.clone(),
            applied,
            epoch,
            has_pen: has_pen && !leaves,
            is_query,
            leaves,
            is_alone: has_pen && self.is_alone(),
            is_full,
        };
        self.peers.send(to, beat.bytes()).await;
    }

    /// Whether it acknowledges records that no other node has, because no node is alive or none keeps
    /// up.
    fn is_alone(&self) -> bool {
        let is_pending = |sequence| !self.keepers.is_stored(sequence);
        self.alone_at.is_some_and(is_pending) || self.keepers.acknowledges_alone(Instant::now())
    }

    async fn handle_message(&mut self, body: Bytes) {
        let Some(message) = messages::read(body) else {
            tracing::warn!("a message of another node can't be read");
            return;
        };
        if let PeerMessage::Beat(beat) = &message {
            if beat.node() == self.me {
                return;
            }
            if beat.leaves {
                self.keepers.remove(beat.node());
            } else {
                self.keepers.note_applied(beat.node(), beat.applied, Instant::now());
            }
            if beat.is_query && self.standing.borrow().has_pen {
                self.announce(Address::One(beat.node()), false, false).await;
            }
            // The node needs only heartbeats about the pen.
            if beat.epoch == 0 && !beat.leaves {
                return;
            }
        }
        // If the node is too busy, the message is lost, as it might be in transit.
        let _ = self.to_node.try_send(message);
    }

    /// Acknowledges the appends that another node has by now.
    fn release(&mut self) {
        while let Some(first) = self.waiting.front() {
            let may = self.keepers.may(first.sequence, first.since, SETTLE_MAX, Instant::now());
            if may == May::Wait {
                return;
            }
            if may == May::Alone && self.alone_at.is_none() {
                tracing::warn!("no other node keeps the log: this one acknowledges alone");
            }
            if may == May::Now && self.alone_at.is_some() {
                tracing::info!("another node keeps the log again");
            }
            self.alone_at = (may == May::Alone).then_some(first.sequence);
            let Some(PendingAcks { replies, outcomes, .. }) = self.waiting.pop_front() else { return };
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let unknown = || Fault::OutcomeUnknown("no other node keeps it".into());
                let _ = reply.send(if may == May::Never { Err(unknown()) } else { outcome });
            }
        }
    }
}

/// The next message; waits for ever without a channel.
async fn next(messages: &mut Option<Messages>) -> Option<Bytes> {
    match messages {
        Some(messages) => messages.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until the announced state of the pen is outdated; for ever once the node has ended.
async fn pen_changed(standing: &mut watch::Receiver<Standing>, announced: (u64, bool)) {
    if standing.wait_for(|now| (now.epoch, now.has_pen) != announced).await.is_err() {
        std::future::pending::<()>().await;
    }
}
