//! The operations of this room: parse, call the room, translate the reply. Checks come in the order 401, JSON, 404,
//! 400, 403, 409 (wire.md D.9).
//! Must not know: the rules of a command.

mod account;
mod agents;
mod contacts;
mod directory;
mod orgs;
mod own;
mod owners;
mod profiles;
mod reachable;
mod request;
mod search;
mod tokens;
mod trust_lists;
mod usage;

use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class};

use crate::Accounts;

pub use agents::overseen;
pub use reachable::{ReachableQuery, reachable_by, reached_by};
pub use search::find_agents;

/// The reason why operations under `/_admin` are not tools.
const PROVISIONING: &str = "only owners and operators create and configure accounts";
const BAD_PAGE: &[&str] = &["invalid_query", "invalid_limit", "invalid_cursor"];
const BAD_ENTRIES: &[&str] = &["invalid_json", "invalid_body", "invalid_allowlist_entry"];
const BAD_BLOCK: &[&str] = &["invalid_json", "invalid_body", "invalid_handle", "invalid_block_target"];
const BAD_PROFILE: &[&str] =
    &["invalid_display_name", "invalid_description", "invalid_card_body", "invalid_visibility"];
const BAD_AGENT: &[&str] = &[
    "invalid_json",
    "invalid_body",
    "invalid_handle",
    "invalid_policy",
    "invalid_allowlist_entry",
    "invalid_self_service",
    "invalid_token",
];

/// Every operation of the account surface.
pub fn operations() -> Vec<Operation<Accounts>> {
    let rooms: [fn() -> Vec<Operation<Accounts>>; 12] = [
        owners::operations,
        account::operations,
        agents::operations,
        trust_lists::operations,
        orgs::operations,
        own::operations,
        tokens::operations,
        reachable::operations,
        profiles::operations,
        search::operations,
        contacts::operations,
        usage::operations,
    ];
    rooms.into_iter().flat_map(|operations| operations()).collect()
}

/// The common part of operations on one agent under `/_admin`.
fn of_agent(doc: OperationDoc) -> OperationDoc {
    doc.needs_token(Auth::Owner)
        .no_tool(PROVISIONING)
        .path_parameter::<AgentHandle>("handle", "The agent's handle")
        .errors(Class::NotFound, &["not_found"])
}
