//! A few connections that all reads share: PostgreSQL answers pipelined statements in order, so a read does not wait
//! for a free connection. A read that finds a broken connection replaces it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::RwLock;
use plenary_log::Fault;
use tokio::sync::Mutex;
use tokio_postgres::{Row, types::ToSql};

use crate::{
    backoff::Backoff,
    reads::{STATEMENTS, Sql},
    target::{ANSWER_MS_MAX, Purpose, Session, Target, within},
    trouble::Trouble,
};

/// The connections.
pub struct Pool {
    target: Arc<Target>,
    purpose: Purpose,
    statements: &'static [&'static str],
    slots: Vec<Slot>,
    next: AtomicUsize,
}

#[derive(Default)]
struct Slot {
    session: RwLock<Option<Arc<Session>>>,
    /// Held by the one read that connects; the others wait for it.
    connecting: Mutex<Backoff>,
}

impl Slot {
    fn session(&self) -> Option<Arc<Session>> {
        let session = self.session.read();
        session.as_ref().filter(|session| !session.client.is_closed()).cloned()
    }
    /// Removes the session, unless another one has replaced it.
    fn forget(&self, broken: &Arc<Session>) {
        let mut session = self.session.write();
        if session.as_ref().is_some_and(|session| Arc::ptr_eq(session, broken)) {
            *session = None;
        }
    }
}

impl Pool {
    pub(crate) fn new(target: Arc<Target>, connections: usize) -> Self {
        Self::of(target, connections, Purpose::Reading, STATEMENTS)
    }

    /// Connections for another purpose, with these prepared statements.
    pub fn of(
        target: Arc<Target>,
        connections: usize,
        purpose: Purpose,
        statements: &'static [&'static str],
    ) -> Self {
        let slots = std::iter::repeat_with(Slot::default).take(connections.max(1)).collect();
        Self { target, purpose, statements, slots, next: AtomicUsize::new(0) }
    }

    /// Runs a read.
    pub(crate) async fn query(&self, sql: Sql, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        self.ask(sql as usize, params).await
    }

    /// Runs the nth statement. If its connection is lost it is sent once more: repeated reads are
    /// harmless.
    ///
    /// # Errors
    /// When the server cannot answer.
    pub async fn ask(&self, nth: usize, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        let slot = &self.slots[self.next.fetch_add(1, Ordering::Relaxed) % self.slots.len()];
        let mut again = true;
        loop {
            let session = self.session(slot).await.map_err(Trouble::fault)?;
            let statement = &session.statements[nth];
            match within(ANSWER_MS_MAX, session.client.query(statement, params)).await {
                Ok(rows) => return Ok(rows),
                Err(trouble @ Trouble::Lost(_)) => {
                    slot.forget(&session);
                    if !again {
                        return Err(trouble.fault());
                    }
                    again = false;
                }
                Err(trouble) => return Err(trouble.fault()),
            }
        }
    }

    async fn session(&self, slot: &Slot) -> Result<Arc<Session>, Trouble> {
        if let Some(session) = slot.session() {
            return Ok(session);
        }
        let mut backoff = slot.connecting.lock().await;
        if let Some(session) = slot.session() {
            return Ok(session);
        }
        let (session, _) = backoff.attempt(self.target.session(self.purpose, self.statements)).await?;
        let session = Arc::new(session);
        *slot.session.write() = Some(session.clone());
        Ok(session)
    }
}
