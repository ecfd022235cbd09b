//! How the server serves the participation of agents in sessions: it observes events, and has no operations.
//! Must not know: HTTP.

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_room::{Mount, RoomDescription, ServedRoom, Tally, Task};
use tokio_util::sync::CancellationToken;

use crate::Participation;

impl ServedRoom for Participation {
    fn about() -> RoomDescription {
        RoomDescription::silent("participation")
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, _mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(Router::new())
    }

    plenary_room::plays!(observer);

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let participation = self.clone();
        Some(Box::pin(async move { participation.react(stop).await }))
    }
}
