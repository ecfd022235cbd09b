//! The interface of an index.
//! Must not know: how ranking is computed.

use std::{collections::BTreeSet, future::Future, pin::Pin};

use plenary_kernel::Position;

use crate::{Change, Query};

/// The share of documents that have a word which is common among them.
pub const COMMON_SHARE: f64 = 0.8;
/// Of fewer documents no word is common.
pub const COMMON_DOCUMENTS_MIN: u64 = 10;

/// A boxed answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// Why an index could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It can't be reached, or its disk failed; later it may do.
    #[error("the index is unavailable: {0}")]
    Unavailable(String),
}

/// How far an index is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Everything up to here is in it.
    pub cursor: Position,
    /// How many documents there are.
    pub documents: u64,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The changes are in the index, and its cursor is where they end.
    Done,
    /// Nothing was written: somebody else has moved the cursor there.
    Moved(Position),
}

/// Where a search looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The projects.
    pub projects: BTreeSet<String>,
    /// Not older than this, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Whether drafts are left out.
    pub without_drafts: bool,
}

impl Scope {
    /// One project, drafts included.
    #[must_use]
    pub fn project(project: &str) -> Self {
        Self { projects: BTreeSet::from([project.to_owned()]), ..Self::default() }
    }
}

/// A document that has to do with a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The document.
    pub id: String,
    /// How near it is, above 0; comparable within one answer only.
    pub score: f64,
}

/// An index of documents with a cursor of its own: how far in the log it is. Changes and cursor are written together or
/// not at all, so that after a crash it goes on where it stands. Several processes may share one index.
pub trait Index: Send + Sync + 'static {
    /// Whether this process is the one that writes. Asked before each write; a process that is gone loses the lead.
    fn leads(&self) -> Answer<'_, bool>;
    /// How far it is, as any process has written it.
    fn extent(&self) -> Answer<'_, Extent>;
    /// Writes changes and moves the cursor, if it stands at `from`. Of several changes of one document the last counts.
    /// What was written is found by every search that begins after it.
    fn put(&self, changes: Vec<Change>, from: Position, to: Position) -> Answer<'_, PutOutcome>;
    /// Takes everything out and puts the cursor to the beginning.
    fn clear(&self) -> Answer<'_, ()>;
    /// The documents that have a word of the query, the nearest first; of two that are as near the newer one. At most
    /// `limit` and [`HITS_MAX`](crate::HITS_MAX).
    fn search<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<Hit>>;
    /// Words of the query that nearly every document of the scope's projects has, such as the names of two people who talk to
    /// each other: at least [`COMMON_SHARE`] of [`COMMON_DOCUMENTS_MIN`] documents or more. They tell no document from another.
    /// None in an index that keeps no words.
    fn common<'a>(&'a self, query: &'a Query, scope: &'a Scope) -> Answer<'a, Vec<String>> {
        let _ = (query, scope);
        Box::pin(async { Ok(Vec::new()) })
    }
    /// Waits until nothing is under way; nothing may be asked after it.
    fn close(&self) -> Answer<'_, ()>;
}
