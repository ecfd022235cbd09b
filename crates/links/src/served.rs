//! The room as the server mounts it.
//! Must not know: the other rooms.

use std::time::Duration;

use axum::Router;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_room::{
    Example, Mount, PeriodicTask, RoomDescription, ServedRoom, Tally, Task, async_trait, house_error,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Links,
    routes::{Door, operations, routes},
};

/// The interval of the clean-up of nonces.
const SWEPT_EVERY: Duration = Duration::from_secs(30);

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    (
        "peer.invite",
        || json!({"network": "https://plenary.example", "peer": "example", "grants": {"support": ["acme"]}}),
    ),
    ("peer.accept", || {
        let code = format!("plp_{}", "0".repeat(64));
        json!({"network": "https://plenary.example", "code": code, "peer": "example", "grants": {}})
    }),
    ("link.accept", || {
        let code = format!("plp_{}", "0".repeat(64));
        json!({"code": code, "network": "https://plenary.example", "grants": ["support"]})
    }),
    ("link.offer", || {
        json!({
            "you": "rose", "session_id": "sess_01J00000000000000000000000", "by": "@acme.helper",
            "invite": ["@ida-at-rose.bot"],
        })
    }),
    ("link.command", || {
        json!({
            "you": "acme", "session_id": "sess_01J00000000000000000000000", "agent": "@ida.bot", "action": "join",
        })
    }),
    ("link.states", || {
        json!({
            "you": "rose", "session_id": "sess_01J00000000000000000000000", "sequence": 1,
            "agents": ["@ida-at-rose.bot"],
        })
    }),
    ("link.file", || json!({"ticket": "e30.AA"})),
    ("link.events", || json!({"session_id": "sess_01J00000000000000000000000", "after": 0})),
    ("link.news", || json!({"after": 0, "wait_ms": 0})),
    ("link.frame", || json!({"grant": "support", "agent": "@acme.assistant", "tool": "cc", "frame": {}})),
];

/// How repeated requests are answered.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // Each request asks the peer again.
        (Method::POST, "/_admin/peers/{peer}/check"),
        // Signed requests have nonces instead.
        (Method::POST, "/link/v1/accords"),
        (Method::POST, "/link/v1/accords/{accord_id}/revoke"),
        (Method::POST, "/link/v1/accords/{accord_id}/frames"),
        (Method::POST, "/link/v1/accords/{accord_id}/offers"),
        (Method::POST, "/link/v1/accords/{accord_id}/commands"),
        (Method::POST, "/link/v1/accords/{accord_id}/events"),
        (Method::POST, "/link/v1/accords/{accord_id}/files"),
        (Method::POST, "/link/v1/accords/{accord_id}/news"),
        (Method::POST, "/link/v1/accords/{accord_id}/states"),
        // The rooms that carry them out take the key.
        (Method::POST, "/link/v1/accords/{accord_id}/as/{agent}/{*path}"),
        (Method::PATCH, "/link/v1/accords/{accord_id}/as/{agent}/{*path}"),
        (Method::DELETE, "/link/v1/accords/{accord_id}/as/{agent}/{*path}"),
        (Method::POST, "/peers/{peer}/{*path}"),
        (Method::PATCH, "/peers/{peer}/{*path}"),
        (Method::DELETE, "/peers/{peer}/{*path}"),
    ],
    secret: &[(Method::POST, "/_admin/peers")],
};

#[async_trait]
impl ServedRoom for Links {
    fn about() -> RoomDescription {
        let purpose = "Links to networks of other operators, under accords that both said yes to.";
        RoomDescription::new("links", purpose, &operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let door = Door::new(self.clone(), mount.origin);
        Ok(once(routes(door, mount.metrics)?, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer);

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let (notifications, copies) =
            (self.clone().notify_revocations(stop.clone()), self.clone().maintain_copies(stop));
        Some(Box::pin(async move {
            tokio::join!(notifications, copies);
        }))
    }

    fn close(&self) {
        self.0.closed.send_replace(true);
        self.end_operations();
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let sweep = async |links: Links| links.sweep_nonces().await;
        vec![PeriodicTask::new(self, SWEPT_EVERY, "nonces of peers are not forgotten yet", sweep)]
    }
}
