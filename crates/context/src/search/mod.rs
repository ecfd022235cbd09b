//! Search: a projection of the log with its own cursor, outside every append. No decision reads it, and every result
//! is read from the log.
//! Must not know: how an index is stored.

mod documents;
mod everything;
mod finding;
mod following;
mod ranking;

use std::sync::Arc;

use plenary_engine::Room as _;
use plenary_indexing::{CHANGES_MAX, Follower};
use plenary_log::StreamName;
use plenary_retrieval::{Index, Relevance, Semantic};

use crate::{limits::SEMANTIC_CHANGES_MAX, package::room::PackageRoom};

pub(crate) use self::ranking::Ranking;

/// The indexes that packages are found by.
pub struct Indexes {
    /// By words.
    pub lexical: Arc<dyn Index>,
    /// By meaning, where there is a model.
    pub semantic: Option<Arc<dyn Semantic>>,
    /// What puts the first of a ranking in a better order, if there is such a model.
    pub reranker: Option<Arc<dyn Relevance>>,
}

impl<T: Index> From<Arc<T>> for Indexes {
    fn from(lexical: Arc<T>) -> Self {
        Self { lexical, semantic: None, reranker: None }
    }
}

impl From<Arc<dyn Index>> for Indexes {
    fn from(lexical: Arc<dyn Index>) -> Self {
        Self { lexical, semantic: None, reranker: None }
    }
}

fn is_package(stream: &StreamName) -> bool {
    stream.category() == PackageRoom::CATEGORY
}

/// Follows the packages into an index of words.
pub(crate) fn words(index: Arc<dyn Index>) -> Follower {
    Follower::new(index, is_package, CHANGES_MAX)
}

/// The index by meaning, which follows the log by itself: it is slower, and holds nothing up.
pub(crate) struct SemanticSearch {
    pub(crate) search: Follower,
    pub(crate) semantic: Arc<dyn Semantic>,
}

impl SemanticSearch {
    pub(crate) fn new(semantic: Arc<dyn Semantic>) -> Self {
        let index: Arc<dyn Index> = semantic.clone();
        Self { search: Follower::new(index, is_package, SEMANTIC_CHANGES_MAX), semantic }
    }
}
