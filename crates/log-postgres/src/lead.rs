//! A connection for writes of a single process: it holds an advisory lock, which ends with the connection.
//! Must not know: the writes.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::Client;

use crate::{
    target::{OpenError, Purpose, Target, within},
    trouble::Trouble,
};

/// Longest wait for a write, or for everything to be emptied.
const WRITE_MS_MAX: u64 = 60_000;

/// The connection and the lock.
pub struct Lead {
    target: Arc<Target>,
    purpose: Purpose,
    lock: String,
    writing: Mutex<WriterConnection>,
}

/// The connection that writes, and whether it holds the lock.
#[derive(Default)]
struct WriterConnection {
    client: Option<Client>,
    leads: bool,
}

impl WriterConnection {
    /// The connection is as good as lost, and the lock with it.
    fn lost(&mut self) {
        *self = Self::default();
    }

    /// The connection.
    fn client(&mut self) -> Result<&mut Client, Trouble> {
        self.client.as_mut().ok_or_else(|| Trouble::Lost("no connection".into()))
    }
}

impl Lead {
    /// The lead over what the lock's name says. No connection is made yet.
    #[must_use]
    pub fn new(target: Arc<Target>, purpose: Purpose, lock: String) -> Self {
        Self { target, purpose, lock, writing: Mutex::default() }
    }

    /// The writing connection; a new one where it is gone.
    async fn connected(&self) -> Result<MutexGuard<'_, WriterConnection>, Trouble> {
        let mut writing = self.writing.lock().await;
        let is_there = writing.client.as_ref().is_some_and(|client| !client.is_closed());
        if !is_there {
            writing.lost();
            let (session, _) = self.target.session(self.purpose, &[]).await.map_err(OpenError::trouble)?;
            writing.client = Some(session.client);
        }
        Ok(writing)
    }

    /// Runs `work` on the writing connection, which is given up when `work` fails.
    ///
    /// # Errors
    /// What `work` fails with, or [`Trouble::Lost`] when it takes too long.
    pub async fn write<T>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut writing = self.connected().await?;
        let done = within(WRITE_MS_MAX, work(writing.client()?)).await;
        if done.is_err() {
            writing.lost();
        }
        done
    }

    /// Takes the lead where nobody has it; whether it was taken just now, and whether it is ours.
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
            writing.lost();
        }
        writing.leads = answer?.try_get(0)?;
        Ok(if writing.leads { LeadHolder::Now } else { LeadHolder::ByOthers })
    }

    /// Waits for what is under way and lets the connection go, and the lock with it.
    pub async fn close(&self) {
        self.writing.lock().await.lost();
    }
}

/// Who has the lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadHolder {
    /// This process, from an earlier call on.
    Before,
    /// This process, from this call on.
    Now,
    /// Another process.
    ByOthers,
}
