//! How the server mounts the sources: as observers of events, without operations.
//! Must not know: HTTP.

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_room::{Mount, RoomDescription, ServedRoom, Tally, Task};
use tokio_util::sync::CancellationToken;

use crate::Sources;

impl ServedRoom for Sources {
    fn about() -> RoomDescription {
        RoomDescription::silent("sources")
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, _mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(Router::new())
    }

    plenary_room::plays!(observer);

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let sources = self.clone();
        Some(Box::pin(async move { sources.react(stop).await }))
    }
}
