//! How the server serves this room.
//! Must not know: the other rooms.

use std::sync::Arc;

use axum::Router;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_hub::Observer;
use plenary_room::{About, Example, Mount, ServedRoom, house_error};
use serde_json::json;

use crate::{Inbox, operations, routes};

/// A body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("inbox.ack", || json!({"cursor": "7f.35.ffffffffffffffff.0.020f59f4570ad61a"})),
    ("inbox.session", || json!({"session": "s-1", "client": "claude", "event": "prompt"})),
    ("inbox.shown", || {
        json!({"session": "s-1", "client": "claude", "event": "prompt", "items": ["35.0"],
                "cursor": "7f.35.ffffffffffffffff.0.020f59f4570ad61a"})
    }),
];

/// How a repeated request is answered.
const ONCE: AnsweredOnce = AnsweredOnce { form: house_error, apart: &[], secret: &[] };

impl ServedRoom for Inbox {
    fn about() -> About {
        About::new("inbox", "What is new for an agent, out of every room.", &operations(), EXAMPLES)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let accounts = self.0.rooms.accounts.clone();
        Ok(once(routes(self.clone(), mount.metrics)?, accounts, ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn close(&self) {
        Inbox::close(self);
    }
}
