//! The interface of an index.
//! Must not know: how ranking is computed.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
};

use plenary_kernel::Position;

use crate::{Change, Query};

/// A word is common if at least this share of the documents has it.
pub const COMMON_SHARE: f64 = 0.8;
/// With fewer documents, no word is common.
pub const COMMON_DOCUMENTS_MIN: u64 = 10;

/// A boxed future of an answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A failure of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The index is unreachable, or its disk failed; a later attempt may succeed.
    #[error("the index is unavailable: {0}")]
    Unavailable(String),
}

/// The progress of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// All events up to this position are indexed.
    pub cursor: Position,
    /// The number of documents.
    pub documents: u64,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The changes are written, and the cursor is at their end.
    Done,
    /// Nothing was written: another process has moved the cursor to this position.
    Moved(Position),
}

/// The documents that a search covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The projects to search.
    pub projects: BTreeSet<String>,
    /// The projects of which only a beginning is searched: the documents whose ids end in `/` and a number up to this one.
    /// The ids of such a project rise, and its documents are only added. The rest changes neither hits nor scores.
    pub beginnings: BTreeMap<String, u64>,
    /// Lower limit of the creation time (inclusive), in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Upper limit of the creation time (exclusive), in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Whether drafts are excluded.
    pub without_drafts: bool,
}

impl Scope {
    /// Whether the time window contains a creation time.
    pub fn has_time(&self, created_ms: i64) -> bool {
        self.since_ms.is_none_or(|since| created_ms >= since)
            && self.until_ms.is_none_or(|until| created_ms < until)
    }

    /// The last number of a project's documents that are searched, if only a beginning is.
    pub fn last_of(&self, project: &str) -> Option<u64> {
        self.beginnings.get(project).copied()
    }

    /// One project, drafts included.
    pub fn project(project: &str) -> Self {
        Self { projects: BTreeSet::from([project.to_owned()]), ..Self::default() }
    }
}

/// A document that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id of the document.
    pub id: String,
    /// The score, above 0; comparable only within one answer.
    pub score: f64,
}

/// An index of documents with its own cursor, a position in the log. Changes and cursor are written in one
/// transaction,
/// so that after a crash the index continues from its cursor. Several processes may share one index.
pub trait Index: Send + Sync + 'static {
    /// Whether this process is the writer. Call it before each write: a process that ends loses the lead.
    fn leads(&self) -> Answer<'_, bool>;
    /// The progress of the index, whichever process wrote it.
    fn extent(&self) -> Answer<'_, Extent>;
    /// Writes changes and moves the cursor, if it is at `from`. Of several changes of one document the last
    /// wins.
    /// Every search that begins afterwards sees the changes.
    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome>;
    /// Removes all documents and resets the cursor to the beginning.
    fn clear(&self) -> Answer<'_, ()>;
    /// The documents that have at least one word of the query, best first; of two with equal scores the newer
    /// one first. At
    /// most `limit` and [`HITS_MAX`](crate::HITS_MAX).
    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>>;
    /// Words of the query that nearly every document of the scope's projects has, such as the names of two
    /// people who talk to
    /// each other: at least [`COMMON_SHARE`] of [`COMMON_DOCUMENTS_MIN`] documents or more. Such words do not
    /// distinguish documents.
    /// Empty for an index without words.
    fn common<'a>(&'a self, query: &'a Query, scope: &'a Scope) -> Answer<'a, Vec<String>> {
        let _ = (query, scope);
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Waits until running work has ended; do not call the index afterwards.
    fn close(&self) -> Answer<'_, ()>;
}
