//! The other nodes of the journal: a task says that this one is there, hears who else is, and lets acknowledgements go
//! once another node keeps what they acknowledge. It goes on while the node waits for the journal.
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
    keepers::{Keep, Keepers, May},
    messages::{self, Beat, PeerMessage},
    node::SETTLE_MAX,
};

/// How often a node says that it is there.
const BEAT_EVERY: Duration = Duration::from_millis(400);
/// How often waiting acknowledgements are looked at, when nothing is heard.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Most groups whose acknowledgements wait; past it the node waits with the next.
const WAITING_MAX: usize = 256;
/// Most groups and messages on their way between this task and the node's.
pub(crate) const PASSED_MAX: usize = 1_024;

/// What this node is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// The last record in its file.
    pub(crate) applied: u64,
    /// With which record it last took the pen.
    pub(crate) epoch: u64,
    /// Whether it has it still.
    pub(crate) has_pen: bool,
}

/// Appends that are in the journal and in this node's file.
pub(crate) struct HeldAppends {
    /// Their record.
    pub(crate) sequence: u64,
    pub(crate) since: Instant,
    pub(crate) replies: Vec<Reply>,
    pub(crate) outcomes: Vec<PlanResult>,
}

/// Everything that the task owns.
pub(crate) struct Others {
    pub(crate) me: NodeId,
    pub(crate) name: String,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) messages: Option<Messages>,
    pub(crate) keepers: Keepers,
    pub(crate) to_node: mpsc::Sender<PeerMessage>,
    pub(crate) held: mpsc::Receiver<HeldAppends>,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) waiting: VecDeque<HeldAppends>,
    /// The last record that was acknowledged, if no other node had it.
    pub(crate) alone_at: Option<u64>,
    /// With which record it last took the pen, and whether it has it, as the others were told.
    pub(crate) told: (u64, bool),
}

/// What the node's task needs of it.
pub(crate) struct Lines {
    pub(crate) said: mpsc::Receiver<PeerMessage>,
    pub(crate) held: mpsc::Sender<HeldAppends>,
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
        let (to_node, said) = mpsc::channel(PASSED_MAX);
        let (to_keep, held) = mpsc::channel(1);
        let (standing, seen) = watch::channel(standing);
        let others = Self {
            me,
            name,
            peers,
            messages: Some(messages),
            keepers: Keepers::new(keep),
            to_node,
            held,
            standing: seen,
            waiting: VecDeque::new(),
            alone_at: None,
            told: (0, false),
        };
        (others, Lines { said, held: to_keep, standing })
    }

    /// Until the node has ended and nothing waits any more.
    pub(crate) async fn run(mut self) {
        let mut beat = interval(BEAT_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.say(Address::All, true, false).await;
        let mut is_open = true;
        while is_open || !self.waiting.is_empty() {
            tokio::select! {
                biased;
                message = next(&mut self.messages) => match message {
                    Some(body) => self.heard(body).await,
                    None => self.messages = None,
                },
                held = self.held.recv(), if is_open && self.waiting.len() < WAITING_MAX => match held {
                    Some(held) => self.waiting.push_back(held),
                    None => is_open = false,
                },
                () = pen_changed(&mut self.standing, self.told), if is_open => {
                    self.say(Address::All, false, false).await;
                }
                _ = beat.tick() => self.say(Address::All, false, false).await,
                _ = look.tick(), if !self.waiting.is_empty() => {}
            }
            self.release();
        }
        self.say(Address::All, false, true).await;
    }

    async fn say(&mut self, to: Address, asks: bool, leaves: bool) {
        let Standing { applied, epoch, has_pen } = *self.standing.borrow();
        if to == Address::All {
            self.told = (epoch, has_pen);
        }
        let beat = Beat {
            node: self.me,
            name: self.name.clone(),
            applied,
            epoch,
            has_pen: has_pen && !leaves,
            asks,
            leaves,
            is_alone: has_pen && self.is_alone(),
        };
        self.peers.send(to, beat.written()).await;
    }

    /// Whether it acknowledges what no other node keeps, because none is there or none keeps up.
    fn is_alone(&self) -> bool {
        let is_behind = |sequence| !self.keepers.is_kept(sequence);
        self.alone_at.is_some_and(is_behind) || self.keepers.acknowledges_alone(Instant::now())
    }

    async fn heard(&mut self, body: Bytes) {
        let Some(said) = messages::read(body) else {
            tracing::warn!("a message of another node can't be read");
            return;
        };
        if let PeerMessage::Beat(beat) = &said {
            if beat.node == self.me {
                return;
            }
            if beat.leaves {
                self.keepers.gone(beat.node);
            } else {
                self.keepers.heard(beat.node, beat.applied, Instant::now());
            }
            if beat.asks && self.standing.borrow().has_pen {
                self.say(Address::One(beat.node), false, false).await;
            }
            // The node wants to know of the pen alone.
            if beat.epoch == 0 && !beat.leaves {
                return;
            }
        }
        // A node that has too much to do loses it, as on the way.
        let _ = self.to_node.try_send(said);
    }

    /// Answers the appends that another node keeps by now.
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
            let Some(HeldAppends { replies, outcomes, .. }) = self.waiting.pop_front() else { return };
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                let unknown = || Fault::OutcomeUnknown("no other node keeps it".into());
                let _ = reply.send(if may == May::Never { Err(unknown()) } else { outcome });
            }
        }
    }
}

/// The next message; waits for ever where there are none.
async fn next(messages: &mut Option<Messages>) -> Option<Bytes> {
    match messages {
        Some(messages) => messages.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until the others have not been told who has the pen; for ever once the node has ended.
async fn pen_changed(standing: &mut watch::Receiver<Standing>, told: (u64, bool)) {
    if standing.wait_for(|now| (now.epoch, now.has_pen) != told).await.is_err() {
        std::future::pending::<()>().await;
    }
}
