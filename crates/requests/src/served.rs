//! How the server mounts this room.
//! Must not know: the other rooms.

use std::{future::ready, sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_log::{Charge, Fault, StoredEvent};
use plenary_room::{
    Example, Glancer, Mount, NewsSource, PeriodicTask, RoomDescription, ServedRoom, Teller, house_error,
};
use serde_json::json;

use crate::{Requests, operations, room::RequestRoom, routes::routes, state::RequestState};

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
    ("request.snooze", || json!({"until": 4_102_444_800_000_u64})),
    ("request.delegate", || json!({"to": "@nick.maria"})),
    ("request.interrupt_response", || json!({"type": "response", "args": "Use the second one."})),
    ("request.tapped", || json!("answer=accept")),
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

impl Requests {
    /// The owner whose quota a stored event of this room counts towards, and its size.
    ///
    /// # Errors
    /// If the event cannot be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        match event.stream.category() {
            RequestRoom::CATEGORY => recount::<RequestRoom>(&RequestState::default(), event),
            // The size of a rule is part of its answer's, which counts for nobody.
            _ => Ok(None),
        }
    }
}

impl ServedRoom for Requests {
    fn about() -> RoomDescription {
        let purpose = "Requests from agents to people, and their answers.";
        RoomDescription::new("requests", purpose, &operations(), EXAMPLES)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        self.set_origin(mount.origin);
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        Some(Arc::new(self.clone()))
    }

    fn teller(&self) -> Option<Arc<dyn Teller>> {
        Some(Arc::new(self.clone()))
    }

    fn glancer(&self) -> Option<Arc<dyn Glancer>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.run_timers())
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let requests = self.clone();
        let run_timers = move || {
            let requests = requests.clone();
            async move { requests.run_timers().await }
        };
        vec![PeriodicTask::new(EVERY, "deadlines of requests were not checked", run_timers)]
    }

    fn close(&self) {
        self.0.waiting.close();
    }
}
