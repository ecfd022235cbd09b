//! Search: a projection of the log with its own cursor, outside every append. No decision reads it, and every result
//! is read from the log.
//! Must not know: how an index is stored.

mod documents;
mod everything;
mod index_changes;
mod queries;
mod ranking;

use std::sync::Arc;

use plenary_engine::Room as _;
use plenary_indexing::{CHANGES_MAX, Follower};
use plenary_log::StreamName;
use plenary_retrieval::{Index, Relevance, Semantic};

use crate::{limits::SEMANTIC_CHANGES_MAX, package::room::PackageRoom};

pub(crate) use self::{documents::sections, everything::fact_sections, queries::Relevant, ranking::Ranking};

/// The search indexes of packages.
pub struct Indexes {
    /// The word index.
    pub lexical: Arc<dyn Index>,
    /// The vector index, if there is a model.
    pub semantic: Option<Arc<dyn Semantic>>,
    /// The reranker, if there is one.
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

/// A follower that indexes packages by their words.
pub(crate) fn words(index: Arc<dyn Index>) -> Follower {
    Follower::new(index, is_package, CHANGES_MAX)
}

/// The vector index with its own follower, because it is slower than the word index and must not delay it.
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
