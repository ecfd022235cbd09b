//! The holder of the pen, as far as this node knows: the one node that writes records. It matters only
//! for speed. A node that is wrong about it is refused by the journal, which accepts a record only as
//! the next one.
//! Must not know: the source of this knowledge, or the records.

use std::time::Duration;

use plenary_journal::peers::NodeId;
use tokio::time::Instant;

/// How long a node counts as the holder of the pen after its last message.
pub(crate) const SILENT_MAX: Duration = Duration::from_secs(2);

/// A node, and the number of the record with which it took the pen: this epoch is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pen {
    pub(crate) node: NodeId,
    pub(crate) epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PenHolder {
    /// This node, in that epoch.
    Ours(u64),
    /// Another node.
    Theirs(Pen),
    /// Not known yet: the question was just asked.
    Unsure,
    /// No living node.
    Nobody,
}

/// This node's knowledge of the pen.
#[derive(Debug)]
pub(crate) struct PenState {
    me: NodeId,
    /// The highest known epoch.
    epoch: u64,
    /// The holder, and the time of its last message.
    holder: Option<(NodeId, Instant)>,
    unsure_until: Instant,
}

impl PenState {
    /// For a node that knows nothing; other nodes may answer until `unsure_until`.
    pub(crate) fn new(me: NodeId, unsure_until: Instant) -> Self {
        Self { me, epoch: 0, holder: None, unsure_until }
    }

    /// Notes that another node has the pen, by a record or a heartbeat.
    pub(crate) fn note_holder(&mut self, pen: Pen, now: Instant) {
        // A record of this node itself may come late, after this node gave up the pen.
        if pen.node != self.me && pen.epoch >= self.epoch {
            (self.epoch, self.holder) = (pen.epoch, Some((pen.node, now)));
        }
    }

    /// Notes that a node no longer has the pen of that epoch, or shuts down.
    pub(crate) fn note_released(&mut self, node: NodeId, epoch: Option<u64>) {
        let is_it = epoch.is_none_or(|epoch| epoch == self.epoch);
        self.holder = self.holder.filter(|(holder, _)| *holder != node || !is_it);
    }

    /// Notes that this node has taken the pen.
    pub(crate) fn note_taken(&mut self, epoch: u64, now: Instant) {
        if epoch > self.epoch {
            (self.epoch, self.holder) = (epoch, Some((self.me, now)));
        }
    }

    /// Notes that this node no longer has the pen, or can't tell: it needs a new epoch before it writes
    /// again.
    pub(crate) fn note_given_up(&mut self) {
        self.note_released(self.me, None);
    }

    /// The epoch in which this node has the pen.
    pub(crate) fn own_epoch(&self) -> Option<u64> {
        let (holder, _) = self.holder?;
        (holder == self.me).then_some(self.epoch)
    }

    /// The current holder.
    pub(crate) fn holder(&self, now: Instant) -> PenHolder {
        match self.holder {
            Some((node, _)) if node == self.me => PenHolder::Ours(self.epoch),
            Some((node, at)) if now.duration_since(at) < SILENT_MAX => {
                PenHolder::Theirs(Pen { node, epoch: self.epoch })
            }
            None if now < self.unsure_until => PenHolder::Unsure,
            Some(_) | None => PenHolder::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId(1);
    const YOU: NodeId = NodeId(2);

    fn pen(node: NodeId, epoch: u64) -> Pen {
        Pen { node, epoch }
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_is_silent_has_no_pen() {
        let now = Instant::now();
        let mut pens = PenState::new(ME, now + Duration::from_millis(5));
        assert_eq!(pens.holder(now), PenHolder::Unsure);
        assert_eq!(pens.holder(now + Duration::from_millis(5)), PenHolder::Nobody);
        pens.note_holder(pen(YOU, 4), now);
        assert_eq!(pens.holder(now), PenHolder::Theirs(pen(YOU, 4)));
        assert_eq!(pens.holder(now + SILENT_MAX), PenHolder::Nobody);
        pens.note_holder(pen(YOU, 4), now + SILENT_MAX);
        assert_eq!(pens.holder(now + SILENT_MAX), PenHolder::Theirs(pen(YOU, 4)));
        pens.note_released(YOU, Some(3));
        assert_eq!(pens.holder(now + SILENT_MAX), PenHolder::Theirs(pen(YOU, 4)), "it gave up an older one");
        pens.note_released(YOU, Some(4));
        assert_eq!(pens.holder(now + SILENT_MAX), PenHolder::Nobody);
    }

    #[tokio::test(start_paused = true)]
    async fn the_higher_epoch_wins_and_a_pen_that_was_given_up_does_not_come_back() {
        let now = Instant::now();
        let mut pens = PenState::new(ME, now);
        pens.note_taken(5, now);
        pens.note_holder(pen(YOU, 4), now);
        assert_eq!((pens.holder(now), pens.own_epoch()), (PenHolder::Ours(5), Some(5)));
        pens.note_given_up();
        pens.note_holder(pen(ME, 5), now);
        assert_eq!((pens.holder(now), pens.own_epoch()), (PenHolder::Nobody, None));
        pens.note_holder(pen(YOU, 4), now);
        assert_eq!(pens.holder(now), PenHolder::Nobody, "its time is over");
        pens.note_taken(6, now);
        pens.note_holder(pen(YOU, 7), now);
        assert_eq!((pens.holder(now), pens.own_epoch()), (PenHolder::Theirs(pen(YOU, 7)), None));
    }
}
