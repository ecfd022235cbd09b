//! Search: a projection of the log with its own cursor, outside every append. No decision reads it, and every result
//! is read from the log.
//! Must not know: how an index is stored.

mod documents;
mod finding;
mod following;
mod ranking;
mod recent;
mod when;

use std::sync::Arc;

use plenary_log::StoredEvent;
use plenary_retrieval::{Fault, Index, Semantic};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;

use self::recent::Recent;
use crate::limits::{SEARCH_CHANGES_MAX, SEMANTIC_CHANGES_MAX};

pub(crate) use self::ranking::Ranking;

/// The indexes that packages are found by.
pub struct Indexes {
    /// By words.
    pub lexical: Arc<dyn Index>,
    /// By meaning, where there is a model.
    pub semantic: Option<Arc<dyn Semantic>>,
}

impl<T: Index> From<Arc<T>> for Indexes {
    fn from(lexical: Arc<T>) -> Self {
        Self { lexical, semantic: None }
    }
}

impl From<Arc<dyn Index>> for Indexes {
    fn from(lexical: Arc<dyn Index>) -> Self {
        Self { lexical, semantic: None }
    }
}

/// The index by meaning, which follows the log by itself: it is slower, and holds nothing up.
pub(crate) struct SemanticSearch {
    pub(crate) search: Search,
    pub(crate) semantic: Arc<dyn Semantic>,
}

impl SemanticSearch {
    pub(crate) fn new(semantic: Arc<dyn Semantic>) -> Self {
        let index: Arc<dyn Index> = semantic.clone();
        Self { search: Search::bounded(index, SEMANTIC_CHANGES_MAX), semantic }
    }
}

/// The index of this room, and what is still to go into it.
pub(crate) struct Search {
    index: Arc<dyn Index>,
    recent: Recent,
    /// Changes that one write takes together.
    changes_max: usize,
    /// How many events are to be looked at before all packages are found.
    lag: Gauge,
    closing: watch::Sender<bool>,
}

impl Search {
    pub(crate) fn new(index: Arc<dyn Index>) -> Self {
        Self::bounded(index, SEARCH_CHANGES_MAX)
    }

    fn bounded(index: Arc<dyn Index>, changes_max: usize) -> Self {
        let (recent, lag, closing) = (Recent::default(), Gauge::default(), watch::Sender::new(false));
        let search = Self { index, recent, changes_max, lag, closing };
        search.count();
        search
    }

    /// Takes note of committed events. Never waits.
    pub(crate) fn committed(&self, events: &[StoredEvent]) {
        if self.recent.push(events) {
            self.count();
        }
    }

    fn count(&self) {
        self.lag.set(i64::try_from(self.recent.lag()).unwrap_or(i64::MAX));
    }

    /// How many events are to be looked at before all packages are found.
    pub(crate) fn lag(&self) -> &Gauge {
        &self.lag
    }

    /// Ends the following and closes the index. What was not put there is read from the log at the next start.
    pub(crate) async fn close(&self) -> Result<(), Fault> {
        self.closing.send_replace(true);
        self.index.close().await
    }
}
