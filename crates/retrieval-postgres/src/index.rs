//! The search index in tables beside the log, shared by every process on the store. One process writes it: the holder
//! of an advisory lock, which ends with its connection. In addition the cursor is compared and set, so that an
//! unnoticed loss of the lock does no harm.
//! Must not know: the content of documents.

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_log_postgres::{
    OpenError, Options,
    tables::{Lead, LeadHolder, Pool, Purpose, Target, Trouble, place},
};
use plenary_retrieval::{Answer, Change, Extent, Fault, HITS_MAX, Hit, Index, PutOutcome, Query, Scope};
use tokio_postgres::Client;

use crate::{changes, querying, unavailable};

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
/// As [`plenary_log_postgres::open`].
pub async fn open_index(url: &str, options: &Options) -> Result<Arc<dyn Index>, OpenError> {
    let target = Arc::new(Target::new(url, options)?);
    let searching = Pool::of(target.clone(), SEARCHING_CONNECTIONS, Purpose::Searching, querying::STATEMENTS);
    let lock = format!("plenary search {}", target.schema());
    let lead = Lead::new(target, Purpose::Indexing, lock);
    lead.write(async |client: &mut Client| changes::of_form(client, FORM).await).await?;
    Ok(Arc::new(PostgresIndex { searching, lead }))
}

impl Index for PostgresIndex {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async {
            let taken = self.lead.take().await.map_err(unavailable)?;
            Ok(taken != LeadHolder::ByOthers)
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

    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome> {
        Box::pin(async move {
            let put = async |client: &mut Client| changes::put(client, changes, from, to).await;
            self.lead.write(put).await.map_err(unavailable)
        })
    }

    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let clear = async |client: &mut Client| changes::clear(client, FORM).await;
            self.lead.write(clear).await.map_err(unavailable)
        })
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

    fn common<'a>(&'a self, query: &'a Query, scope: &'a Scope) -> Answer<'a, Vec<String>> {
        Box::pin(async move {
            if query.words().is_empty() || scope.projects.is_empty() {
                return Ok(Vec::new());
            }
            querying::common(&self.searching, query, scope).await
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
