//! The search index in tables beside the log, shared by every process on the store. One of them writes it: the one that
//! holds an advisory lock, which goes with its connection. The cursor is compared and set besides, so that a lead that
//! was lost unnoticed does no harm. Must not know: what documents are about.

mod changes;
mod querying;

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Answer, Change, Extent, Fault, HITS_MAX, Hit, Index, Put, Query, Scope};

use crate::{
    Options,
    lead::{Lead, Taken, WRITE_MS_MAX},
    pool::Pool,
    target::{OpenError, Purpose, Target, place, within},
    trouble::Trouble,
};

/// The form of the words; an index of another one is emptied and made again.
const FORM: i32 = 1;
/// Connections that serve searches.
const SEARCHING_CONNECTIONS: usize = 2;

/// The index of one store.
struct PostgresIndex {
    searching: Pool,
    lead: Lead,
}

/// Opens the search index of a store that was opened before.
///
/// # Errors
/// As [`open`](crate::open).
pub async fn open_index(url: &str, options: &Options) -> Result<Arc<dyn Index>, OpenError> {
    let target = Arc::new(Target::new(url, options)?);
    let searching = Pool::of(target.clone(), SEARCHING_CONNECTIONS, Purpose::Searching, querying::STATEMENTS);
    let lock = format!("plenary search {}", target.schema());
    let lead = Lead::new(target, Purpose::Indexing, lock);
    changes::of_form(lead.connected().await?.client()?, FORM).await?;
    Ok(Arc::new(PostgresIndex { searching, lead }))
}

fn unavailable(trouble: Trouble) -> Fault {
    Fault::Unavailable(trouble.fault().to_string())
}

impl PostgresIndex {
    async fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Result<Put, Trouble> {
        let mut writing = self.lead.connected().await?;
        let done = within(WRITE_MS_MAX, changes::put(writing.client()?, changes, from, to)).await;
        if done.is_err() {
            writing.lost();
        }
        done
    }

    async fn clear(&self) -> Result<(), Trouble> {
        let mut writing = self.lead.connected().await?;
        let done = within(WRITE_MS_MAX, changes::clear(writing.client()?, FORM)).await;
        if done.is_err() {
            writing.lost();
        }
        done
    }
}

impl Index for PostgresIndex {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async {
            let taken = self.lead.take().await.map_err(unavailable)?;
            Ok(taken != Taken::ByOthers)
        })
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
            self.lead.close().await;
            Ok(())
        })
    }
}
