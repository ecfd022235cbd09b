//! The search index in tables beside the log, shared by every process on the store. One of them writes it: the one that
//! holds an advisory lock, which goes with its connection. The cursor is compared and set besides, so that a lead that
//! was lost unnoticed does no harm. Must not know: what documents are about.

mod changes;
mod querying;

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Answer, Change, Extent, Fault, HITS_MAX, Hit, Index, Put, Query, Scope};
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::Client;

use crate::{
    Options,
    pool::Pool,
    target::{OpenError, Purpose, Target, place, within},
    trouble::Trouble,
};

/// The form of the words; an index of another one is emptied and made again.
const FORM: i32 = 1;
/// Connections that serve searches.
const SEARCHING_CONNECTIONS: usize = 2;
/// Longest wait for a write, or for the index to be emptied.
const WRITE_MS_MAX: u64 = 60_000;

/// The index of one store.
struct PostgresIndex {
    target: Arc<Target>,
    searching: Pool,
    writing: Mutex<Writing>,
}

/// The connection that writes, and whether it holds the lock.
#[derive(Default)]
struct Writing {
    client: Option<Client>,
    leads: bool,
}

impl Writing {
    /// The connection is as good as lost, and the lock with it.
    fn lost(&mut self) {
        *self = Self::default();
    }
}

/// Opens the search index of a store that was opened before.
///
/// # Errors
/// As [`open`](crate::open).
pub async fn open_index(url: &str, options: &Options) -> Result<Arc<dyn Index>, OpenError> {
    let target = Arc::new(Target::new(url, options)?);
    let searching = Pool::of(target.clone(), SEARCHING_CONNECTIONS, Purpose::Searching, querying::STATEMENTS);
    let index = PostgresIndex { target, searching, writing: Mutex::default() };
    let mut writing = index.connected().await.map_err(OpenError::from)?;
    let client = writing.client.as_mut().ok_or_else(|| OpenError::Unreachable("no connection".into()))?;
    changes::of_form(client, FORM).await?;
    drop(writing);
    Ok(Arc::new(index))
}

fn unavailable(trouble: Trouble) -> Fault {
    Fault::Unavailable(trouble.fault().to_string())
}

impl PostgresIndex {
    /// The writing connection; a new one where it is gone.
    async fn connected(&self) -> Result<MutexGuard<'_, Writing>, Trouble> {
        let mut writing = self.writing.lock().await;
        let is_there = writing.client.as_ref().is_some_and(|client| !client.is_closed());
        if !is_there {
            writing.lost();
            let (session, _) =
                self.target.session(Purpose::Indexing, &[]).await.map_err(OpenError::trouble)?;
            writing.client = Some(session.client);
        }
        Ok(writing)
    }

    /// Takes the lead where nobody has it.
    async fn lead(&self) -> Result<bool, Trouble> {
        let mut writing = self.connected().await?;
        if writing.leads {
            return Ok(true);
        }
        let Some(client) = &writing.client else { return Ok(false) };
        let name = format!("plenary search {}", self.target.schema());
        let sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
        let answer = within(WRITE_MS_MAX, client.query_one(sql, &[&name])).await;
        if matches!(answer, Err(Trouble::Lost(_))) {
            writing.lost();
        }
        writing.leads = answer?.try_get(0)?;
        Ok(writing.leads)
    }

    async fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Result<Put, Trouble> {
        let mut writing = self.connected().await?;
        let Some(client) = &mut writing.client else { return Err(Trouble::Lost("no connection".into())) };
        let done = within(WRITE_MS_MAX, changes::put(client, changes, from, to)).await;
        if done.is_err() {
            writing.lost();
        }
        done
    }

    async fn clear(&self) -> Result<(), Trouble> {
        let mut writing = self.connected().await?;
        let Some(client) = &mut writing.client else { return Err(Trouble::Lost("no connection".into())) };
        let done = within(WRITE_MS_MAX, changes::clear(client, FORM)).await;
        if done.is_err() {
            writing.lost();
        }
        done
    }
}

impl Index for PostgresIndex {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async { self.lead().await.map_err(unavailable) })
    }

    fn extent(&self) -> Answer<'_, Extent> {
        Box::pin(async {
            let rows = self.searching.ask(querying::EXTENT, &[]).await;
            let rows = rows.map_err(|fault| Fault::Unavailable(fault.to_string()))?;
            let read = || {
                let row = rows.first().ok_or_else(|| Trouble::Broken("no state of the index".into()))?;
                Ok(Extent { cursor: Position(place(row.try_get(0)?)?), documents: place(row.try_get(1)?)? })
            };
            read().map_err(unavailable)
        })
    }

    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, Put> {
        Box::pin(async move { self.put(changes, from, to).await.map_err(unavailable) })
    }

    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(async { self.clear().await.map_err(unavailable) })
    }

    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>> {
        Box::pin(async move {
            let limit = limit.min(HITS_MAX);
            if query.words().is_empty() || scope.projects.is_empty() || limit == 0 {
                return Ok(Vec::new());
            }
            querying::search(&self.searching, query, scope, limit).await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // What is under way is waited for; the lock goes with the connection.
            self.writing.lock().await.lost();
            Ok(())
        })
    }
}
