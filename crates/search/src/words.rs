//! The index of everything, if there is one, and its progress.
//! Must not know: the caller and its permissions.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use plenary_indexing::{FRESH_WITHIN, Follower, unavailable};
use plenary_log::{Fault, Log, StreamName};
use plenary_retrieval::{HITS_MAX, Hit, Index, Query, Scope};
use plenary_room::{Matches, WordIndex, async_trait};

use crate::within;

/// Most changes of one write.
const CHANGES_MAX: usize = 8_192;
/// Shortest time between two writes while nobody searches.
const SPACING: Duration = Duration::from_secs(1);

/// The index. Cheap to clone.
#[derive(Clone)]
pub struct Words(Arc<Inner>);

struct Inner {
    log: Log,
    follower: Option<Follower>,
}

impl Words {
    pub(crate) fn new(log: Log, index: Option<Arc<dyn Index>>, categories: BTreeSet<&'static str>) -> Self {
        let is_indexed = move |stream: &StreamName| categories.contains(stream.category());
        let follower = index.map(|index| Follower::new(index, is_indexed, CHANGES_MAX).spaced(SPACING));
        Self(Arc::new(Inner { log, follower }))
    }

    pub(crate) fn follower(&self) -> Option<&Follower> {
        self.0.follower.as_ref()
    }

    /// Waits until the index contains all events that were committed before this call; `false` on a time-out.
    pub(crate) async fn is_fresh(&self) -> Result<bool, Fault> {
        let Some(follower) = self.follower() else { return Ok(true) };
        let head = self.0.log.head().await?;
        Ok(follower.until(head, FRESH_WITHIN).await)
    }

    pub(crate) async fn search(&self, query: &Query, scope: &Scope, max: usize) -> Result<Vec<Hit>, Fault> {
        match self.follower() {
            Some(follower) if !scope.projects.is_empty() => {
                follower.index().search(query, scope, max).await.map_err(unavailable)
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }
}

#[async_trait]
impl WordIndex for Words {
    async fn matches(
        &self,
        room: &'static str,
        query: &Query,
        shelves: BTreeSet<String>,
    ) -> Result<Matches, Fault> {
        let is_fresh = self.is_fresh().await?;
        let projects = shelves.iter().map(|name| within(room, name)).collect();
        // A text of which a part is not indexed may contain the words there.
        let scope = Scope { projects, ..Scope::default() };
        let hits = self.search(&query.or_cut(), &scope, HITS_MAX).await?;
        let is_whole =
            self.follower().is_some() && is_fresh && !query.words().is_empty() && hits.len() < HITS_MAX;
        let prefix = within(room, "");
        let ids = hits.iter().filter_map(|hit| hit.id.strip_prefix(&prefix)).map(str::to_owned);
        Ok(Matches { ids: ids.collect(), is_whole })
    }
}
