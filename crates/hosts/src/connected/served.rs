//! How the server serves agents that attach themselves.
//! Must not know: the output of an instance.

use std::sync::Arc;

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_hub::Observer;
use plenary_room::{Mount, RoomDescription, ServedRoom, Tally, async_trait};

use super::attach::{AttachState, operations, routes};

#[async_trait]
impl ServedRoom for AttachState {
    fn about() -> RoomDescription {
        RoomDescription::new("runs", "", &operations(), &[])
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.metrics)
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.attaching.clone()))
    }

    async fn stop(&self) {
        // Not earlier: the instances that carry out runs still receive the ends of those runs.
        self.attaching.close();
    }
}
