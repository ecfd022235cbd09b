//! How the server mounts this room.
//! Must not know: the other rooms.

use std::time::Duration;

use axum::Router;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{SystemClock, recount_event};
use plenary_kernel::Clock as _;
use plenary_log::Fault;
use plenary_room::{
    Example, Mount, PeriodicTask, RoomDescription, ServedRoom, Tally, async_trait, house_error,
};
use serde_json::json;

use crate::{Requests, operations, room::RequestRoom, routes::routes};

/// The interval of the timer.
const EVERY: Duration = Duration::from_millis(200);

/// An example body for each operation that has one.
const EXAMPLES: &[Example] = &[
    ("request.make", || {
        json!({
            "kind": "permission",
            "title": "Run the tests of the parser",
            "action": {"name": "Bash", "args": {"command": "cargo test -p parser"}},
            "directory": "/src/parser",
        })
    }),
    ("request.answer", || json!({"type": "accept", "version": 1})),
    (
        "request.answer_many",
        || json!({"answers": [{"request_id": "ask_01JD7Z5QK0000000000000000A", "type": "accept", "version": 1}]}),
    ),
    // A day after the description is made: a later end than 30 days is refused, and a fixed one passes.
    ("request.snooze", || json!({"until": SystemClock.now().0 + 24 * 60 * 60 * 1_000})),
    ("request.delegate", || json!({"to": "@nick.maria"})),
    ("request.interrupt_response", || json!({"type": "response", "args": "Use the second one."})),
    ("request.tapped", || json!({"answer": "accept"})),
];

/// How operations answer a repeated request.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // The first answer counts in any case.
        (Method::POST, "/tap/{secret}"),
    ],
    secret: &[(Method::POST, "/requests/{id}/link")],
};

#[async_trait]
impl ServedRoom for Requests {
    fn about() -> RoomDescription {
        let purpose = "Requests from agents to people, and their answers.";
        RoomDescription::new("requests", purpose, &operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        // The size of a rule is part of its answer's, which counts for nobody.
        Some(Box::new(recount_event::<RequestRoom>))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        self.set_origin(mount.origin);
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer, news, teller, glancer);

    async fn resume(&self) -> Result<(), Fault> {
        self.run_timers().await
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let run_timers = async |requests: Requests| requests.run_timers().await;
        vec![PeriodicTask::new(self, EVERY, "deadlines of requests were not checked", run_timers)]
    }

    fn close(&self) {
        self.0.waiting.close();
    }
}
