//! How the server mounts this room.
//! Must not know: the other rooms.

use axum::Router;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{recount_event, recount_in};
use plenary_log::Fault;
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, Tally, Task, async_trait, house_error};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Notify, delivery::DeliveryRoom, operations, routes::routes, subscription::SubscriptionRoom};

/// An example body for each operation that has one.
const EXAMPLES: &[Example] = &[
    ("notify.create", || {
        json!({
            "target": {"kind": "ntfy", "url": "https://ntfy.sh/a-topic-nobody-guesses"},
            "name": "phone",
            "min_urgency": "normal",
            "quiet": {"time_zone": "Europe/Berlin", "from": "22:00", "to": "07:00"},
        })
    }),
    ("notify.change", || json!({"digest_minutes": 60, "enabled": true})),
];

/// How operations answer a repeated request.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // A sample is sent for each request.
        (Method::POST, "/notifications/{id}/test"),
    ],
    secret: &[(Method::POST, "/notifications")],
};

#[async_trait]
impl ServedRoom for Notify {
    fn about() -> RoomDescription {
        RoomDescription::new(
            "notify",
            "Where people are reached when something waits for them.",
            &operations(),
            EXAMPLES,
        )
    }

    fn tally() -> Option<Tally> {
        Some(Box::new(|event| {
            recount_in(event, &[recount_event::<DeliveryRoom>, recount_event::<SubscriptionRoom>])
        }))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    plenary_room::plays!(observer);

    async fn resume(&self) -> Result<(), Fault> {
        self.take_over().await
    }

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let notify = self.clone();
        Some(Box::pin(async move { notify.work(stop).await }))
    }
}
