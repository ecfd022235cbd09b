//! How the server serves this room.
//! Must not know: the other rooms.

use axum::Router;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, Tally, house_error};
use serde_json::json;

use crate::{Inbox, operations, routes};

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("inbox.ack", || json!({"cursor": "7f.35.ffffffffffffffff.0.020f59f4570ad61a"})),
    (
        "inbox.address",
        || json!({"agent": "@nick.cc", "coding_session": "s-1", "session_id": "sess_01JD7Z5QK0000000000000000A"}),
    ),
    ("inbox.attention", || json!({"session": "s-1", "attention": "focus"})),
    ("inbox.session", || json!({"session": "s-1", "client": "claude", "event": "prompt"})),
    ("inbox.shown", || {
        json!({"session": "s-1", "client": "claude", "event": "prompt", "items": ["35.0"],
                "cursor": "7f.35.ffffffffffffffff.0.020f59f4570ad61a"})
    }),
];

/// The form of the answer to a repeated request.
const ONCE: AnsweredOnce = AnsweredOnce { form: house_error, apart: &[], secret: &[] };

impl ServedRoom for Inbox {
    fn about() -> RoomDescription {
        RoomDescription::new("inbox", "News for an agent from every protocol.", &operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        None
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let accounts = self.0.rooms.accounts.clone();
        Ok(once(routes(self.clone(), mount.metrics)?, accounts, ONCE))
    }

    plenary_room::plays!(observer, glancer);

    fn close(&self) {
        Inbox::close(self);
    }
}
