//! Registers the search with the server.
//! Must not know: the rooms.

use axum::Router;
use plenary_edge::{Metrics, RegistryFault};
use plenary_hub::Observer;
use plenary_indexing::unavailable;
use plenary_log::{Fault, StoredEvent};
use plenary_room::{Mount, RoomDescription, ServedRoom, Tally, Task, async_trait};
use tokio_util::sync::CancellationToken;

use crate::{Search, operations, routes::routes};

#[async_trait]
impl Observer for Search {
    async fn committed(&self, events: &[StoredEvent]) {
        if let Some(follower) = self.0.words.follower() {
            follower.committed(events);
        }
    }
}

#[async_trait]
impl ServedRoom for Search {
    fn about() -> RoomDescription {
        // A token that may read accounts may search; each room checks its own permissions.
        RoomDescription::new("accounts", "", &operations(), &[])
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.metrics)
    }

    plenary_room::plays!(observer);

    fn register(&self, metrics: &Metrics) {
        if let Some(follower) = self.0.words.follower() {
            let lag = "Events not yet indexed for the search over everything";
            metrics.register("search_everything_lag_events", lag, follower.lag().clone());
        }
    }

    fn serving(&self, _stop: CancellationToken) -> Option<Task> {
        // Ends when the index is closed, after the last write.
        let search = self.clone();
        Some(Box::pin(async move { search.index().await }))
    }

    async fn last_writes(&self) -> Result<(), Fault> {
        match self.0.words.follower() {
            Some(follower) => follower.close().await.map_err(unavailable),
            None => Ok(()),
        }
    }
}
