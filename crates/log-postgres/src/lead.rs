//! A connection for the writes of a single process: it holds an advisory lock, which ends with the
//! connection.
//! Must not know: the writes.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::Client;

use crate::{
    target::{OpenError, Purpose, Target, within},
    trouble::Trouble,
};

/// Longest wait for one write, or for deleting everything.
const WRITE_MS_MAX: u64 = 60_000;

/// The writing connection and its lock.
pub struct Lead {
    target: Arc<Target>,
    purpose: Purpose,
    lock: String,
    writing: Mutex<WriterConnection>,
}

/// The writing connection, and whether it holds the lock.
#[derive(Default)]
struct WriterConnection {
    client: Option<Client>,
    leads: bool,
}

impl WriterConnection {
    /// Discards the connection, and the lock with it.
    fn discard(&mut self) {
        *self = Self::default();
    }

    /// The connection.
    fn client(&mut self) -> Result<&mut Client, Trouble> {
        self.client.as_mut().ok_or_else(|| Trouble::Lost("no connection".into()))
    }
}

impl Lead {
    /// The lead for the named lock. No connection is made yet.
    pub fn new(target: Arc<Target>, purpose: Purpose, lock: String) -> Self {
        Self { target, purpose, lock, writing: Mutex::default() }
    }

    /// The writing connection; connects again if it is lost.
    async fn connected(&self) -> Result<MutexGuard<'_, WriterConnection>, Trouble> {
        let mut writing = self.writing.lock().await;
        let is_there = writing.client.as_ref().is_some_and(|client| !client.is_closed());
        if !is_there {
            writing.discard();
            let (session, _) = self.target.session(self.purpose, &[]).await.map_err(OpenError::trouble)?;
            writing.client = Some(session.client);
        }
        Ok(writing)
    }

    /// Runs `work` on the writing connection, which is discarded if `work` fails.
    ///
    /// # Errors
    /// The error of `work`, or [`Trouble::Lost`] if it takes too long.
    pub async fn write<T>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut writing = self.connected().await?;
        let done = within(WRITE_MS_MAX, work(writing.client()?)).await;
        if done.is_err() {
            writing.discard();
        }
        done
    }

    /// Takes the lead if no process has it; returns who has it, and since when.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn take(&self) -> Result<LeadHolder, Trouble> {
        let mut writing = self.connected().await?;
        if writing.leads {
            return Ok(LeadHolder::Before);
        }
        let sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
        let answer = within(WRITE_MS_MAX, writing.client()?.query_one(sql, &[&self.lock])).await;
        if matches!(answer, Err(Trouble::Lost(_))) {
            writing.discard();
        }
        writing.leads = answer?.try_get(0)?;
        Ok(if writing.leads { LeadHolder::Now } else { LeadHolder::ByOthers })
    }

    /// Waits for the current write, then discards the connection and the lock.
    pub async fn close(&self) {
        self.writing.lock().await.discard();
    }
}

/// The holder of the lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadHolder {
    /// This process, since an earlier call.
    Before,
    /// This process, since this call.
    Now,
    /// Another process.
    ByOthers,
}
