//! How the server serves this room.
//! Must not know: the other rooms.

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, Tally, Task};
use serde_json::{Value, json};

use crate::{Frames, operations, routes};

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[("frame.submit", frame)];

fn frame() -> Value {
    json!({
        "envelope_version": "1.0",
        "frame_id": "6f1f9dd0-8f5b-4d0e-9c55-0e4a3c9a2b11",
        "created_at": "2026-01-02T03:04:05Z",
        "acted_by": "~nick",
        "drafted_with": "~nick",
        "sender_handle": "~nick",
        "recipient_handle": "~nick",
        "provenance_compute_location": "local-only",
        "provenance_method": ["written by hand"],
        "provenance_context_check": "passed",
        "provenance_basis": "an example",
        "kind": "agent_broadcast",
        "payload": {"broadcast_text": "The parser reads comments.", "event_class": "merged"},
    })
}

impl ServedRoom for Frames {
    fn about() -> RoomDescription {
        let purpose = "Frames between live sessions (Agent-Channel Fan-Out).";
        RoomDescription::new("frames", purpose, &operations(), EXAMPLES).refused_as(routes::form)
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.metrics)
    }

    plenary_room::plays!(observer, ephemeral);

    fn running(&self) -> Option<Task> {
        Some(Box::pin(Frames::running(self)))
    }

    fn close(&self) {
        Frames::close(self);
    }
}
