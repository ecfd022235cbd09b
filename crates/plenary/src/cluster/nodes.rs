//! The nodes of a cluster, from the heartbeats that they send.
//! Must not know: the servers.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use plenary_journal::{
    jetstream::Nats,
    peers::{Address, NodeId, Peers as _},
};
use plenary_log_cluster::Beat;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::{out::clean, server::LOG};

/// How long to listen: a node sends more than one heartbeat in that time.
const LISTEN: Duration = Duration::from_millis(1_300);
/// How often to check whether another node has taken the pen.
const TRIES: usize = 8;
/// Maximum number of nodes shown.
const NODES_MAX: usize = 256;

/// The last heartbeat of each node.
pub(super) struct Nodes(BTreeMap<NodeId, Beat>);

/// Listens for heartbeats for a while.
pub(super) async fn listen(nats: &Nats) -> anyhow::Result<Nodes> {
    // Node 0 does not exist, so it gets no messages of its own.
    let mut messages = nats.peers(LOG).listen(NodeId(0)).await?;
    let mut nodes = BTreeMap::new();
    let until = Instant::now() + LISTEN;
    while let Ok(Some(body)) = timeout_at(until, messages.next()).await {
        let Some(beat) = Beat::read(body) else { continue };
        if beat.leaves {
            nodes.remove(&beat.node());
        } else if nodes.len() < NODES_MAX {
            nodes.insert(beat.node(), beat);
        }
    }
    Ok(Nodes(nodes))
}

/// Makes another node take the pen from the named one; returns the new holder. `None` if the named one did not hold it.
pub(super) async fn drain(nats: &Nats, name: &str) -> anyhow::Result<Option<String>> {
    let Nodes(before) = listen(nats).await?;
    let mut named = before.values().filter(|beat| beat.name == name);
    let one = named.next().context("no node of that name runs")?;
    anyhow::ensure!(
        named.next().is_none(),
        "several nodes have that name; name each of them with --cluster-node"
    );
    if !one.has_pen {
        return Ok(None);
    }
    let others = before.values().filter(|beat| beat.node != one.node);
    let next =
        others.max_by_key(|beat| beat.applied).context("no other node runs that could take the pen")?;
    nats.peers(LOG).send(Address::One(next.node()), plenary_log_cluster::take_the_pen()).await;
    for _ in 0..TRIES {
        let Nodes(now) = listen(nats).await?;
        if let Some(holder) = now.values().find(|beat| beat.has_pen && beat.node != one.node) {
            return Ok(Some(holder.name.clone()));
        }
    }
    anyhow::bail!("no other node has taken the pen")
}

impl Nodes {
    /// Whether no node runs.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a node acknowledges appends that no other node keeps.
    pub(super) fn is_alone(&self) -> bool {
        self.0.values().any(|beat| beat.is_alone)
    }

    /// Whether the disk of a node is full.
    pub(super) fn has_a_full_one(&self) -> bool {
        self.0.values().any(|beat| beat.is_full)
    }

    pub(super) fn as_json(&self) -> Value {
        let node = |beat: &Beat| {
            json!({
                "node": beat.name,
                "id": beat.node().to_string(),
                "applied": beat.applied,
                "pen": beat.has_pen,
                "alone": beat.is_alone,
                "full": beat.is_full,
            })
        };
        self.0.values().map(node).collect()
    }

    pub(super) fn text(&self) -> String {
        let node = |beat: &Beat| {
            let (name, applied) = (clean(&beat.name), beat.applied);
            let pen = if beat.has_pen { ", has the pen" } else { "" };
            let alone = if beat.is_alone { ", ACKNOWLEDGES ALONE: no other node keeps the log" } else { "" };
            let full = if beat.is_full { ", ITS DISK IS FULL: it goes on when there is space" } else { "" };
            format!("; node {name} is at {applied}{pen}{alone}{full}")
        };
        if self.0.is_empty() { "; no node runs".to_owned() } else { self.0.values().map(node).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_with_a_full_disk_is_shown() {
        let beat =
            |node, is_full| Beat { node, name: format!("n{node}"), applied: 9, is_full, ..Beat::default() };
        let nodes =
            |full: bool| Nodes(BTreeMap::from([(NodeId(1), beat(1, false)), (NodeId(2), beat(2, full))]));
        assert!(!nodes(false).has_a_full_one() && nodes(true).has_a_full_one());
        assert_eq!(
            nodes(true).text(),
            "; node n1 is at 9; node n2 is at 9, ITS DISK IS FULL: it goes on when there is space"
        );
        assert_eq!(nodes(true).as_json()[1]["full"], true);
    }
}
