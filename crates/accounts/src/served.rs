//! How the server serves this room.
//! Must not know: the other rooms.

use std::{future::ready, sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::BoxFuture;
use http::Method;
use plenary_edge::RegistryFault;
use plenary_engine::{Room, recount};
use plenary_hub::Observer;
use plenary_log::{Charge, Fault, StoredEvent};
use plenary_room::{
    Example, Mount, NewsSource, PeriodicTask, RoomDescription, ServedRoom, Teller, house_error,
};
use serde_json::json;

use crate::{
    Accounts, AnsweredOnce, agent::AgentRoom, console::ConsoleRoom, contact::ContactRoom, once, operations,
    org::OrgRoom, owner::OwnerRoom,
};

/// How often evictions are completed that a crash interrupted.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How often expired tokens are removed; requests with them are refused before.
const EXPIRE_EVERY: Duration = Duration::from_secs(1);

/// An example body for each operation with a body.
const EXAMPLES: &[Example] = &[
    ("agent.create", || json!({"handle": "@nick.laptop", "policy": "open"})),
    (
        "account.create_agent",
        || json!({"local_name": "laptop", "display_name": "The laptop", "visibility": "public"}),
    ),
    (
        "account.update_agent",
        || json!({"inbound_policy": "open", "description": "Answers questions about the parser"}),
    ),
    ("agent.update", || json!({"policy": "allowlist"})),
    ("agent.allow", || json!({"entries": ["@acme.*", "@maria.phone"]})),
    ("agent.block", || json!({"handle": "@acme.spammer"})),
    ("agent.create_token", || json!({"scope": "read sessions:write", "expires_in": 86_400, "name": "ci"})),
    ("me.create_token", || json!({"scope": "sessions:read inbox:read", "expires_in": 3_600})),
    ("org.set_member", || json!({"roles": ["reviewer"]})),
    ("owner.create", || json!({"owner": "nick"})),
    ("me.update", || json!({"policy": "open"})),
    ("me.allow", || json!({"entries": ["@acme.*"]})),
    ("me.block", || json!({"handle": "@acme.spammer"})),
    ("contact.request", || json!({"to": "@acme.helper", "message": "May I ask you about the parser?"})),
];

/// Operations that handle the key themselves.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // Each call must return a new ticket.
        (Method::POST, "/auth/ticket"),
    ],
    secret: &[
        (Method::POST, "/_admin/owners"),
        (Method::POST, "/_admin/owners/{owner}/rotate-token"),
        (Method::POST, "/_admin/agents"),
        (Method::POST, "/agents"),
        (Method::POST, "/_admin/agents/{handle}/rotate-token"),
        (Method::POST, "/_admin/agents/{handle}/tokens"),
        (Method::POST, "/agents/me/tokens"),
    ],
};

impl Accounts {
    /// The owner whose quota a stored event of this room counts towards, and its size.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        fn recount_in<R: Room>(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
            recount::<R>(&R::State::default(), event)
        }
        match event.stream.category() {
            AgentRoom::CATEGORY => recount_in::<AgentRoom>(event),
            ConsoleRoom::CATEGORY => recount_in::<ConsoleRoom>(event),
            ContactRoom::CATEGORY => recount_in::<ContactRoom>(event),
            OrgRoom::CATEGORY => recount_in::<OrgRoom>(event),
            OwnerRoom::CATEGORY => recount_in::<OwnerRoom>(event),
            _ => Ok(None),
        }
    }
}

impl ServedRoom for Accounts {
    fn about() -> RoomDescription {
        let purpose = "Owners, agents, tokens, allowlists, blocks, contacts, organisations.";
        RoomDescription::new("accounts", purpose, &operations::<Self>(), EXAMPLES)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let router = plenary_edge::routes(operations(), mount.metrics)?.with_state(self.clone());
        Ok(once(router, self.clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn teller(&self) -> Option<Arc<dyn Teller>> {
        Some(Arc::new(self.clone()))
    }

    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let accounts = self.clone();
        let sweep = move || {
            let accounts = accounts.clone();
            async move { accounts.sweep().await.map(drop) }
        };
        let accounts = self.clone();
        let expire = move || {
            let accounts = accounts.clone();
            async move { accounts.expire_tokens().await }
        };
        vec![
            PeriodicTask::new(SWEEP_EVERY, "evictions were not finished", sweep),
            PeriodicTask::new(EXPIRE_EVERY, "tokens whose time is over were not ended", expire),
        ]
    }
}
