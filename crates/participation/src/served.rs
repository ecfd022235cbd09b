//! How the server serves the participation of agents in sessions: it observes events, and has no operations.
//! Must not know: HTTP.

use std::sync::Arc;

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_hub::Observer;
use plenary_room::{Mount, RoomDescription, ServedRoom, Task};
use tokio_util::sync::CancellationToken;

use crate::Participation;

impl ServedRoom for Participation {
    fn about() -> RoomDescription {
        RoomDescription::silent("participation")
    }

    fn routes(&self, _mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(Router::new())
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let participation = self.clone();
        Some(Box::pin(async move { participation.react(stop).await }))
    }
}
