//! The search index in tables beside the log, shared by every process on the store. One process writes it: the
//! holder
//! of an advisory lock, which ends with its connection. In addition each write compares and sets the cursor, so
//! that an
//! unnoticed loss of the lock does no harm.
//! Must not know: the content of documents.

use std::{fmt, sync::Arc};

use plenary_kernel::Position;
use plenary_log_postgres::{
    OpenError, Options,
    tables::{Lead, LeadHolder, Pool, Purpose, Target, Trouble, unsigned},
};
use plenary_retrieval::{Answer, Change, Extent, Fault, HITS_MAX, Hit, Index, PutOutcome, Query, Scope};
use tokio_postgres::Client;

use crate::{changes, query, unavailable};

/// The format of the words; an index of another format is cleared and rebuilt.
const FORM: i32 = 3;
const SEARCHING_CONNECTIONS: usize = 2;

/// The tables of an index: of packages, or of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Of packages.
    Packages,
    /// Of everything else.
    Everything,
}

impl Tables {
    const fn statements(self) -> &'static [&'static str] {
        match self {
            Self::Packages => query::PACKAGES,
            Self::Everything => query::EVERYTHING,
        }
    }
}

/// The prefix of the tables' names.
impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packages => "search",
            Self::Everything => "everything",
        })
    }
}

/// An index of one store.
struct PostgresIndex {
    tables: Tables,
    searching: Pool,
    lead: Lead,
}

/// Opens a search index of a store that is already set up.
///
/// # Errors
/// As [`plenary_log_postgres::open`].
pub async fn open_index(url: &str, options: &Options, tables: Tables) -> Result<Arc<dyn Index>, OpenError> {
    let target = Arc::new(Target::new(url, options)?);
    let searching = Pool::of(target.clone(), SEARCHING_CONNECTIONS, Purpose::Searching, tables.statements());
    let lock = format!("plenary {tables} {}", target.schema());
    let lead = Lead::new(target, Purpose::Indexing, lock);
    lead.write(async |client: &mut Client| changes::of_form(client, tables, FORM).await).await?;
    Ok(Arc::new(PostgresIndex { tables, searching, lead }))
}

impl Index for PostgresIndex {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async {
            let holder = self.lead.take().await.map_err(unavailable)?;
            Ok(holder != LeadHolder::ByOthers)
        })
    }

    fn extent(&self) -> Answer<'_, Extent> {
        Box::pin(async {
            let rows = self.searching.ask(query::EXTENT, &[]).await;
            let rows = rows.map_err(|fault| Fault::Unavailable(fault.to_string()))?;
            let read = || {
                let row = rows.first().ok_or_else(|| Trouble::Broken("no state of the index".into()))?;
                Ok(Extent {
                    cursor: Position(unsigned(row.try_get(0)?)?),
                    documents: unsigned(row.try_get(1)?)?,
                })
            };
            read().map_err(unavailable)
        })
    }

    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome> {
        Box::pin(async move {
            let put = async |client: &mut Client| changes::put(client, self.tables, changes, from, to).await;
            self.lead.write(put).await.map_err(unavailable)
        })
    }

    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let clear = async |client: &mut Client| changes::clear(client, self.tables, FORM).await;
            self.lead.write(clear).await.map_err(unavailable)
        })
    }

    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>> {
        Box::pin(async move {
            let limit = limit.min(HITS_MAX);
            if query.words().is_empty() || scope.projects.is_empty() || limit == 0 {
                return Ok(Vec::new());
            }
            query::search(&self.searching, query, scope, limit).await
        })
    }

    fn common<'a>(&'a self, query: &'a Query, scope: &'a Scope) -> Answer<'a, Vec<String>> {
        Box::pin(async move {
            if query.words().is_empty() || scope.projects.is_empty() {
                return Ok(Vec::new());
            }
            query::common(&self.searching, query, scope).await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // Waits for running work; the lock is released with the connection.
            self.lead.close().await;
            Ok(())
        })
    }
}
