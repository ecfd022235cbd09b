//! The other nodes, with the last record that each has on disk: an acknowledgement waits for them.
//! Must not know: the source of these reports.

use std::{collections::HashMap, time::Duration};

use plenary_journal::peers::NodeId;
use tokio::time::Instant;

/// How long a node counts as alive after its last message.
const ALIVE: Duration = Duration::from_secs(3);
/// How long an acknowledgement waits for a node that is alive but does not keep up.
pub(crate) const KEPT_MAX: Duration = Duration::from_secs(2);
/// Most nodes that are remembered; beyond it those that are silent are forgotten, then no more are taken in.
pub(crate) const NODES_MAX: usize = 256;

/// The nodes that must have a record on disk, besides the journal, before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// The acknowledging node only.
    One,
    /// Another node too; without another living node, the writing node acknowledges alone.
    #[default]
    Two,
    /// Another node too, always.
    TwoAlways,
}

/// Whether a record may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum May {
    /// Yes.
    Now,
    /// Yes, although no other node has it.
    Alone,
    /// Not yet.
    Wait,
    /// No: it has waited too long.
    Never,
}

/// The other nodes.
#[derive(Debug)]
pub(crate) struct AckTracker {
    keep: Keep,
    nodes: HashMap<NodeId, (Instant, u64)>,
}

impl AckTracker {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, nodes: HashMap::new() }
    }

    /// Records the last record that a node has on disk.
    pub(crate) fn note_applied(&mut self, node: NodeId, applied: u64, now: Instant) {
        if !self.nodes.contains_key(&node) && self.nodes.len() >= NODES_MAX {
            self.nodes.retain(|_, (at, _)| now.duration_since(*at) < ALIVE);
            if self.nodes.len() >= NODES_MAX {
                return;
            }
        }
        let (at, stored) = self.nodes.entry(node).or_insert((now, applied));
        (*at, *stored) = (now, applied.max(*stored));
    }

    /// Records that a node shuts down.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Whether no other node is alive.
    pub(crate) fn is_alone(&self, now: Instant) -> bool {
        !self.nodes.values().any(|(at, _)| now.duration_since(*at) < ALIVE)
    }

    /// Whether another node has a record on disk.
    pub(crate) fn is_stored(&self, sequence: u64) -> bool {
        self.nodes.values().any(|(_, stored)| *stored >= sequence)
    }

    /// Whether this node acknowledges records alone that two nodes should have.
    pub(crate) fn acknowledges_alone(&self, now: Instant) -> bool {
        self.keep == Keep::Two && self.is_alone(now)
    }

    /// Whether a record that was written at `since` may be acknowledged. `longest` is the time after
    /// which its outcome counts as unknown.
    pub(crate) fn may(&self, sequence: u64, since: Instant, longest: Duration, now: Instant) -> May {
        match self.keep {
            Keep::One => May::Now,
            Keep::Two | Keep::TwoAlways if self.is_stored(sequence) => May::Now,
            Keep::Two if self.is_alone(now) || now.duration_since(since) >= KEPT_MAX => May::Alone,
            Keep::TwoAlways if now.duration_since(since) >= longest => May::Never,
            Keep::Two | Keep::TwoAlways => May::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(12);

    #[tokio::test(start_paused = true)]
    async fn a_record_waits_for_another_node_that_is_there() {
        let now = Instant::now();
        let mut keepers = AckTracker::new(Keep::Two);
        assert_eq!(keepers.may(5, now, LONGEST, now), May::Alone);
        keepers.note_applied(NodeId(2), 4, now);
        assert_eq!(keepers.may(5, now, LONGEST, now), May::Wait);
        assert_eq!(keepers.may(4, now, LONGEST, now), May::Now);
        assert_eq!(keepers.may(5, now, LONGEST, now + KEPT_MAX), May::Alone, "it does not keep up");
        keepers.note_applied(NodeId(2), 5, now);
        assert_eq!(keepers.may(5, now, LONGEST, now), May::Now);
        assert_eq!(keepers.may(6, now + ALIVE, LONGEST, now + ALIVE), May::Alone, "it is silent");
        keepers.note_applied(NodeId(3), 1, now);
        keepers.remove(NodeId(3));
        keepers.remove(NodeId(2));
        assert!(keepers.is_alone(now));
    }

    #[tokio::test(start_paused = true)]
    async fn the_setting_decides_what_a_node_alone_may() {
        let now = Instant::now();
        let (one, always) = (AckTracker::new(Keep::One), AckTracker::new(Keep::TwoAlways));
        assert_eq!(one.may(5, now, LONGEST, now), May::Now);
        assert_eq!(always.may(5, now, LONGEST, now + KEPT_MAX), May::Wait);
        assert_eq!(always.may(5, now, LONGEST, now + LONGEST), May::Never);
    }

    #[tokio::test(start_paused = true)]
    async fn past_their_limit_silent_nodes_are_forgotten() {
        let now = Instant::now();
        let mut keepers = AckTracker::new(Keep::Two);
        for nth in 0..2 * NODES_MAX as u64 {
            keepers.note_applied(NodeId(nth), nth, now);
        }
        assert_eq!(keepers.nodes.len(), NODES_MAX);
        keepers.note_applied(NodeId(9_999), 1, now + ALIVE);
        assert_eq!(keepers.nodes.len(), 1);
    }
}
