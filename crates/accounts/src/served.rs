//! How the server serves this room.
//! Must not know: the other rooms.

use std::time::Duration;

use axum::Router;
use http::Method;
use plenary_edge::RegistryFault;
use plenary_engine::{recount_event, recount_in};
use plenary_room::{
    Example, Mount, PeriodicTask, RoomDescription, ServedRoom, Tally, async_trait, house_error,
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

#[async_trait]
impl ServedRoom for Accounts {
    fn about() -> RoomDescription {
        let purpose = "Owners, agents, tokens, allowlists, blocks, contacts, organisations.";
        RoomDescription::new("accounts", purpose, &operations(), EXAMPLES)
    }

    fn tally() -> Option<Tally> {
        let (agents, consoles) = (recount_event::<AgentRoom>, recount_event::<ConsoleRoom>);
        let (contacts, orgs, owners) =
            (recount_event::<ContactRoom>, recount_event::<OrgRoom>, recount_event::<OwnerRoom>);
        Some(Box::new(move |event| recount_in(event, &[agents, consoles, contacts, orgs, owners])))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        let router = plenary_edge::routes(operations(), mount.metrics)?.with_state(self.clone());
        Ok(once(router, self.clone(), ONCE))
    }

    plenary_room::plays!(observer, teller, news);

    fn periodic_tasks(&self) -> Vec<PeriodicTask> {
        let sweep = async |accounts: Accounts| accounts.sweep().await.map(drop);
        let expire = async |accounts: Accounts| accounts.expire_tokens().await;
        vec![
            PeriodicTask::new(self, SWEEP_EVERY, "evictions were not finished", sweep),
            PeriodicTask::new(self, EXPIRE_EVERY, "tokens whose time is over were not ended", expire),
        ]
    }
}
