//! The connections of this process, and the confirmed position of each.
//!
//! An agent's stored cursor is the lowest position that its live connections have confirmed (wire.md
//! D.9). Events that a connection leaves unconfirmed when it closes hold the cursor down until the next
//! connection takes them over, so that the pong of one device never hides the loss of another.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hashbrown::HashMap;
use parking_lot::Mutex;
use plenary_kernel::{AgentHandle, Position};
use plenary_log::HighWater;

use crate::{CONNECTIONS_PER_AGENT_MAX, CloseReason, Mailbox};

/// The longest wait for the dispatch of committed events; then a connection begins without them.
const CATCHING_UP: Duration = Duration::from_secs(1);

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The agent has as many connections as the limit allows.
    #[error("the agent has too many connections")]
    TooMany,
    /// The server shuts down.
    #[error("the server is shutting down")]
    ShuttingDown,
}

#[derive(Debug)]
struct Live {
    id: u64,
    mailbox: Arc<Mailbox>,
    confirmed: Position,
    /// Whether an event was sent that is not confirmed.
    owes: bool,
}

#[derive(Debug, Default)]
struct Agent {
    live: Vec<Live>,
    /// The lowest position that a closed connection left unconfirmed.
    debt: Option<Position>,
}

impl Agent {
    fn cursor(&self) -> Option<Position> {
        self.live.iter().map(|live| live.confirmed).chain(self.debt).min()
    }
}

/// The agents that are connected to this process.
#[derive(Debug, Default)]
pub struct Presence {
    agents: Mutex<HashMap<AgentHandle, Agent>>,
    ids: AtomicU64,
    dispatched: HighWater,
    closed: std::sync::atomic::AtomicBool,
}

/// One live connection of an agent.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    /// Its agent.
    pub handle: AgentHandle,
    /// Its unread streams.
    pub mailbox: Arc<Mailbox>,
    /// Whether it is the agent's first connection in this process.
    pub first: bool,
}

/// Notes that the agent's last connection in this process closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastClosed {
    /// The agent's cursor; `None` if no connection got far enough to have one.
    pub cursor: Option<Position>,
}

/// The cursor of a connection that has not started yet: it must not hold down the agent's cursor.
const UNKNOWN: Position = Position(u64::MAX);

impl Presence {
    /// Registers a connection, which receives wake-ups from now on. It counts as having confirmed
    /// nothing until [`Presence::start_at`].
    pub fn open(&self, handle: &AgentHandle) -> Result<Connection, ConnectError> {
        let mut agents = self.agents.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(ConnectError::ShuttingDown);
        }
        let agent = agents.entry(handle.clone()).or_default();
        if agent.live.len() >= CONNECTIONS_PER_AGENT_MAX {
            return Err(ConnectError::TooMany);
        }
        let (id, first) = (self.ids.fetch_add(1, Ordering::Relaxed), agent.live.is_empty());
        let mailbox = Arc::new(Mailbox::default());
        let live = Live { id, mailbox: mailbox.clone(), confirmed: UNKNOWN, owes: false };
        agent.live.push(live);
        Ok(Connection { id, handle: handle.clone(), mailbox, first })
    }

    /// The position at which the connection starts: the lowest of the stored cursor, the positions that
    /// the other connections have confirmed, and the debt of closed ones. The connection takes over that
    /// debt.
    pub fn start_at(&self, connection: &Connection, stored: Position) -> Position {
        let mut agents = self.agents.lock();
        let Some(agent) = agents.get_mut(&connection.handle) else { return stored };
        let start = agent.cursor().map_or(stored, |cursor| cursor.min(stored));
        let debt = agent.debt.take();
        if let Some(live) = agent.live.iter_mut().find(|live| live.id == connection.id) {
            live.confirmed = start;
            // A debt that was taken over is owed until it is confirmed, whatever was sent of it.
            live.owes |= debt.is_some();
        }
        start
    }

    /// Notes that the client's stack has confirmed everything up to a position; `owes` says whether more
    /// was sent since.
    pub fn confirm(&self, connection: &Connection, position: Position, owes: bool) {
        let mut agents = self.agents.lock();
        let Some(agent) = agents.get_mut(&connection.handle) else { return };
        if let Some(live) = agent.live.iter_mut().find(|live| live.id == connection.id) {
            live.confirmed = live.confirmed.max(position);
            live.owes = owes;
        }
    }

    /// Notes that an event was sent that is not confirmed yet.
    pub fn owe(&self, connection: &Connection) {
        let mut agents = self.agents.lock();
        let live = agents.get_mut(&connection.handle).map(|agent| &mut agent.live);
        if let Some(live) = live.and_then(|live| live.iter_mut().find(|live| live.id == connection.id)) {
            live.owes = true;
        }
    }

    /// Removes a connection. `Some` if it was the agent's last one in this process.
    pub fn close(&self, connection: &Connection) -> Option<LastClosed> {
        let mut agents = self.agents.lock();
        let agent = agents.get_mut(&connection.handle)?;
        let nth = agent.live.iter().position(|live| live.id == connection.id)?;
        let closed = agent.live.swap_remove(nth);
        if closed.owes {
            agent.debt = Some(agent.debt.map_or(closed.confirmed, |debt| debt.min(closed.confirmed)));
        }
        if !agent.live.is_empty() {
            return None;
        }
        let cursor = agent.debt.map_or(closed.confirmed, |debt| debt.min(closed.confirmed));
        agents.remove(&connection.handle);
        Some(LastClosed { cursor: (cursor != UNKNOWN).then_some(cursor) })
    }

    /// The cursor of an agent that is connected here, computed from its connections.
    pub fn cursor(&self, handle: &AgentHandle) -> Option<Position> {
        self.agents.lock().get(handle).and_then(Agent::cursor).filter(|cursor| *cursor != UNKNOWN)
    }

    /// Whether the agent has a connection to this process.
    pub fn is_online(&self, handle: &AgentHandle) -> bool {
        self.agents.lock().contains_key(handle)
    }

    /// The mailboxes of the given agents that are connected.
    pub fn mailboxes<'a>(&self, handles: impl Iterator<Item = &'a AgentHandle>) -> Vec<Arc<Mailbox>> {
        let agents = self.agents.lock();
        if agents.is_empty() {
            return Vec::new();
        }
        let live = handles.filter_map(|handle| agents.get(handle)).flat_map(|agent| &agent.live);
        live.map(|live| live.mailbox.clone()).collect()
    }

    /// The mailboxes of all connections.
    pub fn all_mailboxes(&self) -> Vec<Arc<Mailbox>> {
        let agents = self.agents.lock();
        agents.values().flat_map(|agent| &agent.live).map(|live| live.mailbox.clone()).collect()
    }

    /// Orders every connection to end, and refuses new ones.
    pub fn close_all(&self, why: CloseReason) {
        self.closed.store(true, Ordering::Release);
        for live in self.agents.lock().values().flat_map(|agent| &agent.live) {
            live.mailbox.close(why);
        }
    }

    /// Whether the server shuts down; the end of a connection is then not reported (2.5 row 12).
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.agents.lock().values().map(|agent| agent.live.len()).sum()
    }

    /// Counts everything up to here as dispatched: it was committed before any connection was possible.
    pub fn begin(&self, position: Position) {
        self.mark_dispatched(position);
    }

    pub(crate) fn mark_dispatched(&self, position: Position) {
        self.dispatched.raise(position);
    }

    /// Waits until everything up to a position is dispatched.
    pub async fn caught_up(&self, position: Position) {
        if !self.dispatched.reached(position, CATCHING_UP).await {
            tracing::warn!("committed events were not delivered in time; a connection starts without them");
        }
    }

    /// The position up to which every concerned connection has been marked.
    pub fn dispatched(&self) -> Position {
        self.dispatched.position()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentHandle {
        "@a.b".parse().unwrap()
    }

    fn open(presence: &Presence, stored: u64) -> (Connection, Position) {
        let connection = presence.open(&agent()).unwrap();
        let start = presence.start_at(&connection, Position(stored));
        (connection, start)
    }

    #[test]
    fn asp_41_online_is_having_a_connection() {
        let presence = Presence::default();
        let (a, _) = open(&presence, 0);
        let (b, _) = open(&presence, 0);
        assert!(a.first && !b.first && presence.is_online(&agent()));
        assert_eq!(presence.close(&a), None);
        assert!(presence.close(&b).is_some() && !presence.is_online(&agent()));
    }

    #[test]
    fn asp_43_the_cursor_is_the_lowest_that_live_connections_confirmed() {
        let presence = Presence::default();
        let (a, start) = open(&presence, 7);
        assert_eq!(start, Position(7));
        let (b, _) = open(&presence, 7);
        presence.confirm(&a, Position(20), false);
        assert_eq!(presence.cursor(&agent()), Some(Position(7)));
        presence.confirm(&b, Position(12), false);
        assert_eq!(presence.cursor(&agent()), Some(Position(12)));
    }

    #[test]
    fn asp_43_what_one_connection_left_unconfirmed_is_not_hidden_by_another() {
        let presence = Presence::default();
        let (a, _) = open(&presence, 0);
        let (b, _) = open(&presence, 0);
        presence.confirm(&a, Position(20), false);
        presence.confirm(&b, Position(5), true);
        assert_eq!(presence.close(&b), None);
        assert_eq!(presence.cursor(&agent()), Some(Position(5)));
        let (_c, start) = open(&presence, 20);
        assert_eq!(start, Position(5), "the next connection gets what b lost");
    }

    #[test]
    fn asp_43_unconfirmed_events_survive_the_close_of_the_connection_that_took_them_over() {
        let presence = Presence::default();
        let (a, _) = open(&presence, 0);
        let (b, _) = open(&presence, 0);
        presence.confirm(&a, Position(20), false);
        presence.confirm(&b, Position(5), true);
        presence.close(&b);
        let (c, _) = open(&presence, 20);
        presence.close(&c);
        assert_eq!(presence.cursor(&agent()), Some(Position(5)), "c got nothing of it");
        let (d, start) = open(&presence, 20);
        assert_eq!(start, Position(5));
        presence.confirm(&d, Position(20), false);
        presence.close(&d);
        assert_eq!(presence.cursor(&agent()), Some(Position(20)), "d got it all");
    }

    #[test]
    fn past_its_limit_an_agents_next_connection_is_refused() {
        let presence = Presence::default();
        for _ in 0..CONNECTIONS_PER_AGENT_MAX {
            presence.open(&agent()).unwrap();
        }
        assert_eq!(presence.open(&agent()).unwrap_err(), ConnectError::TooMany);
        presence.close_all(CloseReason::Shutdown);
        assert_eq!(presence.open(&"@x.y".parse().unwrap()).unwrap_err(), ConnectError::ShuttingDown);
    }
}
