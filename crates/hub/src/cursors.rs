//! The store of agents' cursors and of their online processes. One row for each agent and node,
//! `cursor/<handle>/<node>` = `{position, live}`: written lazily and in batches if the store belongs to one process,
//! and at once if several processes share it, because there the row also states that the agent is online here.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_kernel::{AgentHandle, Clock, Position, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Log, RowOp};
use serde::{Deserialize, Serialize};

use crate::nodes::{Node, Nodes};

/// An agent that was connected to a node that is no longer alive.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// The agent.
    pub handle: AgentHandle,
    row: String,
    revision: u64,
    state: CursorState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CursorState {
    position: Position,
    live: bool,
}

/// The stored cursors, as one node sees them.
pub struct Cursors {
    log: Log,
    nodes: Nodes,
    /// Cursors that moved and are not written yet.
    moved: Mutex<HashMap<AgentHandle, CursorState>>,
    /// Held while moved cursors are written, so that no earlier state overwrites a later one.
    flushing: tokio::sync::Mutex<()>,
}

fn row(handle: &AgentHandle, node: &Node) -> String {
    format!("cursor/{handle}/{}", node.as_str())
}

impl Cursors {
    /// A store with a single process has one node, "0", the same after every start.
    pub fn new(log: Log, clock: Arc<dyn Clock>) -> Self {
        let name = if log.shared() { clock.stamp().ulid(0).to_string() } else { "0".into() };
        Self {
            nodes: Nodes::new(log.clone(), clock, Node::named(&name)),
            log,
            moved: Mutex::default(),
            flushing: tokio::sync::Mutex::default(),
        }
    }

    /// This node.
    pub fn node(&self) -> &Node {
        self.nodes.own()
    }

    /// Loads an agent's cursor: the lowest that any node has stored for it. On a shared store this also
    /// records that the agent is online here. It takes over the rows of nodes that have no connection
    /// of it; on a store of a single process, which may have been a shared one before, these are all others.
    pub async fn take_up(&self, handle: &AgentHandle) -> Result<Position, Fault> {
        let pending = self.pending(handle);
        let stored = self.stored_states(handle).await?;
        let positions = stored.iter().map(|(node, state)| match pending {
            Some(newer) if node == self.node() => newer.position,
            _ => state.position,
        });
        let start = positions.chain(pending.filter(|_| stored.is_empty()).map(|state| state.position)).min();
        let start = start.unwrap_or_default();
        let is_shared = self.log.shared();
        if is_shared || stored.iter().any(|(node, _)| node != self.node()) {
            let alive = if is_shared { self.alive().await? } else { HashSet::new() };
            let unused = stored.iter().filter(|(node, state)| !state.live || !alive.contains(node));
            let mut rows: Vec<_> = unused
                .filter(|(node, _)| node != self.node())
                .map(|(node, _)| RowOp { name: row(handle, node), expected: None, value: None })
                .collect();
            rows.push(self.op(handle, CursorState { position: start, live: is_shared })?);
            // The pending note that an earlier connection closed must not overwrite this.
            let is_closed = pending.is_some_and(|state| !state.live);
            let _flushing = if is_closed { Some(self.flushing.lock().await) } else { None };
            if is_closed {
                self.moved.lock().remove(handle);
            }
            self.log.append(Batch { rows, ..Batch::default() }).await?;
        }
        Ok(start)
    }

    /// The position up to which the agent's connections on all nodes have confirmed everything: the
    /// lowest stored cursor.
    pub async fn confirmed(&self, handle: &AgentHandle) -> Result<Position, Fault> {
        let pending = self.pending(handle);
        let stored = self.stored_states(handle).await?;
        let elsewhere = stored.iter().filter(|(node, _)| node != self.node() || pending.is_none());
        let positions = elsewhere.map(|(_, state)| state.position).chain(pending.map(|state| state.position));
        Ok(positions.min().unwrap_or_default())
    }

    /// Records that the agent's last connection here closed. Returns whether the agent is offline
    /// everywhere.
    pub async fn release_cursor(&self, handle: &AgentHandle, position: Position) -> Result<bool, Fault> {
        self.moved(handle, position, false);
        if !self.log.shared() {
            return Ok(true);
        }
        self.flush().await?;
        Ok(!self.is_online_elsewhere(handle).await?)
    }

    /// Whether another living node has a connection of the agent.
    pub async fn is_online_elsewhere(&self, handle: &AgentHandle) -> Result<bool, Fault> {
        if !self.log.shared() {
            return Ok(false);
        }
        let alive = self.alive().await?;
        let stored = self.stored_states(handle).await?;
        Ok(stored.iter().any(|(node, state)| state.live && node != self.node() && alive.contains(node)))
    }

    /// Notes a moved cursor; the next flush writes it.
    pub fn moved(&self, handle: &AgentHandle, position: Position, live: bool) {
        self.moved.lock().insert(handle.clone(), CursorState { position, live });
    }

    /// Writes the cursors that moved. Each stays pending until it is on disk.
    pub async fn flush(&self) -> Result<(), Fault> {
        let _flushing = self.flushing.lock().await;
        let handles: Vec<AgentHandle> = self.moved.lock().keys().cloned().collect();
        for some in handles.chunks(READ_ROWS_MAX) {
            let states: Vec<_> = {
                let moved = self.moved.lock();
                some.iter().filter_map(|handle| Some((handle, *moved.get(handle)?))).collect()
            };
            let rows =
                states.iter().map(|(handle, state)| self.op(handle, *state)).collect::<Result<_, _>>()?;
            self.log.append(Batch { rows, ..Batch::default() }).await?;
            let mut moved = self.moved.lock();
            for (handle, state) in states {
                if moved.get(handle) == Some(&state) {
                    moved.remove(handle);
                }
            }
        }
        Ok(())
    }

    /// Begins this node's lease: from now on the others wait for a sign of life before they call it dead.
    pub async fn begin_lease(&self) -> Result<(), Fault> {
        self.nodes.begin_lease().await
    }

    /// Renews this node's lease, with a signal to the others; the first call begins it. Call it every
    /// [`BEAT_EVERY`](crate::BEAT_EVERY).
    pub async fn beat(&self) -> Result<(), Fault> {
        self.nodes.beat().await
    }

    /// Ends this node's lease early, so that no other node has to wait for it to expire.
    pub async fn end_lease(&self) -> Result<(), Fault> {
        self.nodes.end_lease().await
    }

    /// The nodes whose lease has not expired; always includes this one.
    pub async fn alive(&self) -> Result<HashSet<Node>, Fault> {
        self.nodes.alive().await
    }

    /// The agents whose row says that they are online at a node that is no longer alive. An agent that
    /// is online nowhere else has lost its connection. Each orphan is returned again until
    /// [`Cursors::adopt`] records it, so that work which a fault interrupted is finished by the next
    /// caller.
    pub async fn orphans(&self) -> Result<Vec<Orphan>, Fault> {
        let alive = self.alive().await?;
        let (mut orphans, mut after) = (Vec::new(), None::<String>);
        loop {
            let rows = self.log.read_rows("cursor/", after.as_deref(), READ_ROWS_MAX).await?;
            after = rows.last().map(|(name, _)| name.clone());
            for (name, found) in &rows {
                let Some((handle, node, state)) = parse(name, &found.value)? else { continue };
                if state.live && !alive.contains(&node) {
                    orphans.push(Orphan { handle, row: name.clone(), revision: found.revision, state });
                }
            }
            if rows.len() < READ_ROWS_MAX {
                return Ok(orphans);
            }
        }
    }

    /// Records that the consequences of an orphan's loss are carried out. Changes nothing if another
    /// node has taken the agent up or adopted it meanwhile.
    pub async fn adopt(&self, orphan: &Orphan) -> Result<(), Fault> {
        let value = Some(encode(CursorState { live: false, ..orphan.state })?);
        let op = RowOp { name: orphan.row.clone(), expected: Some(orphan.revision), value };
        self.log.append(Batch { rows: vec![op], ..Batch::default() }).await?;
        Ok(())
    }

    fn pending(&self, handle: &AgentHandle) -> Option<CursorState> {
        self.moved.lock().get(handle).copied()
    }

    fn op(&self, handle: &AgentHandle, state: CursorState) -> Result<RowOp, Fault> {
        Ok(RowOp { name: row(handle, self.node()), expected: None, value: Some(encode(state)?) })
    }

    async fn stored_states(&self, handle: &AgentHandle) -> Result<Vec<(Node, CursorState)>, Fault> {
        let rows = self.log.read_rows(&format!("cursor/{handle}/"), None, READ_ROWS_MAX).await?;
        let parsed = rows.iter().filter_map(|(name, row)| parse(name, &row.value).transpose());
        parsed.map(|found| found.map(|(_, node, state)| (node, state))).collect()
    }
}

fn encode(state: CursorState) -> Result<Bytes, Fault> {
    serde_json::to_vec(&state).map(Bytes::from).map_err(|error| Fault::Corrupt(error.to_string()))
}

fn parse(name: &str, value: &[u8]) -> Result<Option<(AgentHandle, Node, CursorState)>, Fault> {
    let mut parts = name.splitn(3, '/').skip(1);
    let (Some(handle), Some(node)) = (parts.next(), parts.next()) else { return Ok(None) };
    let Ok(handle) = handle.parse() else { return Ok(None) };
    let state = serde_json::from_slice(value)
        .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
    Ok(Some((handle, Node::named(node), state)))
}
