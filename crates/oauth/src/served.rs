//! How the server serves this room.
//! Must not know: the other rooms.

use std::{sync::Arc, time::Duration};

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_room::{Example, Mount, PeriodicTask, RoomDescription, ServedRoom, Tally};
use serde_json::json;

use crate::{OAuth, code, oauth::At, routes};

/// How often the rows of expired codes are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// An example body for each operation with a body.
const EXAMPLES: &[Example] = &[
    (
        "oauth.register",
        || json!({"client_name": "Claude", "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"]}),
    ),
    ("oauth.decide", || {
        json!({
            "request": "REQUEST", "csrf": "CSRF", "agent": "@nick.claude", "scope": "sessions", "days": "30",
            "decision": "allow",
        })
    }),
    ("oauth.revoke", || json!({"token": "TOKEN", "client_id": "CLIENT"})),
    (
        "oauth.token",
        || json!({"grant_type": "refresh_token", "client_id": "CLIENT", "refresh_token": "TOKEN"}),
    ),
    ("oauth.sign_in", || json!({"link": "LINK", "request": "REQUEST"})),
];

impl ServedRoom for OAuth {
    fn about() -> RoomDescription {
        let purpose = "The authorization server: a person lets an assistant on the web speak as an agent.";
        RoomDescription::new("oauth", purpose, &routes::all(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let at = At { oauth: self.clone(), origin: Arc::new(mount.origin.clone()) };
        Ok(plenary_edge::routes(routes::all(), mount.metrics)?.with_state(at))
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let sweep = async |oauth: OAuth| code::sweep(oauth.log(), oauth.accounts().now()).await;
        vec![PeriodicTask::new(self, SWEEP_EVERY, "old codes were not taken away", sweep)]
    }
}
