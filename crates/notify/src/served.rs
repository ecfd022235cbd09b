//! How the server mounts this room.
//! Must not know: the other rooms.

use std::{future::ready, sync::Arc};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Method;
use plenary_accounts::{AnsweredOnce, once};
use plenary_edge::RegistryFault;
use plenary_engine::{Room as _, recount};
use plenary_hub::Observer;
use plenary_log::{Charge, Fault, StoredEvent};
use plenary_room::{Example, Mount, RoomDescription, ServedRoom, Task, house_error};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Notify,
    delivery::{DeliveryRoom, state::DeliveryState},
    operations,
    routes::routes,
    subscription::{SubscriptionRoom, state::SubscriptionsState},
};

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

impl ServedRoom for Notify {
    fn about() -> RoomDescription {
        RoomDescription::new(
            "notify",
            "Where people are reached when something waits for them.",
            &operations(),
            EXAMPLES,
        )
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        Ok(once(routes(self.clone(), mount.metrics)?, self.accounts().clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(match event.stream.category() {
            DeliveryRoom::CATEGORY => recount::<DeliveryRoom>(&DeliveryState::default(), event),
            SubscriptionRoom::CATEGORY => recount::<SubscriptionRoom>(&SubscriptionsState::default(), event),
            _ => Ok(None),
        }))
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(self.take_over())
    }

    fn serving(&self, stop: CancellationToken) -> Option<Task> {
        let notify = self.clone();
        Some(Box::pin(async move { notify.work(stop).await }))
    }
}
