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
use plenary_room::{About, Example, Mount, NewsSource, ServedRoom, Turn, house_error};
use serde_json::json;

use crate::{
    Accounts, AnsweredOnce, agent::AgentRoom, contact::ContactRoom, once, operations, org::OrgRoom,
    owner::OwnerRoom,
};

/// How often evictions are finished that a crash left.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// A body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("agent.create", || json!({"handle": "@nick.laptop", "policy": "open"})),
    ("agent.update", || json!({"policy": "allowlist"})),
    ("agent.allow", || json!({"entries": ["@acme.*", "@maria.phone"]})),
    ("agent.block", || json!({"handle": "@acme.spammer"})),
    ("org.set_member", || json!({"roles": ["reviewer"]})),
    ("owner.create", || json!({"owner": "nick"})),
    ("me.update", || json!({"policy": "open"})),
    ("me.allow", || json!({"entries": ["@acme.*"]})),
    ("me.block", || json!({"handle": "@acme.spammer"})),
    ("contact.request", || json!({"to": "@acme.helper", "message": "May I ask you about the parser?"})),
];

/// Operations that see to the key themselves.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: house_error,
    apart: &[
        // A ticket is for one use.
        (Method::POST, "/auth/ticket"),
    ],
    secret: &[
        (Method::POST, "/_admin/owners"),
        (Method::POST, "/_admin/owners/{owner}/rotate-token"),
        (Method::POST, "/_admin/agents"),
        (Method::POST, "/_admin/agents/{handle}/rotate-token"),
    ],
};

impl Accounts {
    /// Whom a stored event of this room counts towards, and how much.
    ///
    /// # Errors
    /// The event can't be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        fn of<R: Room>(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
            recount::<R>(&R::State::default(), event)
        }
        match event.stream.category() {
            AgentRoom::CATEGORY => of::<AgentRoom>(event),
            ContactRoom::CATEGORY => of::<ContactRoom>(event),
            OrgRoom::CATEGORY => of::<OrgRoom>(event),
            OwnerRoom::CATEGORY => of::<OwnerRoom>(event),
            _ => Ok(None),
        }
    }
}

impl ServedRoom for Accounts {
    fn about() -> About {
        let purpose = "Owners, agents, tokens, allowlists, blocks, contacts, organisations.";
        About::new("accounts", purpose, &operations::<Self>(), EXAMPLES)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let router = plenary_edge::routes(operations(), mount.metrics)?.with_state(self.clone());
        Ok(once(router, self.clone(), ONCE))
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }

    fn turns(&self) -> Vec<Turn> {
        let accounts = self.clone();
        let sweep = move || {
            let accounts = accounts.clone();
            async move { accounts.sweep().await.map(drop) }
        };
        vec![Turn::new(SWEEP_EVERY, "evictions were not finished", sweep)]
    }
}
