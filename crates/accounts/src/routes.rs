//! The operations of this room: parse, call the room, translate the reply. Checks come in the order 401, JSON,
//! 404, 400, 403, 409 (wire.md D.9).
//! Must not know: what a command may do.

mod agents;
mod contacts;
mod orgs;
mod own;
mod owners;
mod profiles;
mod reachable;
mod request;
mod searching;
mod trust_lists;
mod usage;

use axum::extract::FromRef;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, ErrorCode};

use crate::Accounts;

/// Why models do not get what is under `/_admin`.
const PROVISIONING: &str = "owners and operators provision; agents configure nothing";
const UNAUTHENTICATED: &[ErrorCode] = &[ErrorCode::MissingAuthorization, ErrorCode::InvalidAuthorization];
const BAD_PAGE: &[ErrorCode] = &[ErrorCode::InvalidQuery, ErrorCode::InvalidLimit, ErrorCode::InvalidCursor];
const BAD_ENTRIES: &[ErrorCode] =
    &[ErrorCode::InvalidJson, ErrorCode::InvalidBody, ErrorCode::InvalidAllowlistEntry];
const BAD_BLOCK: &[ErrorCode] = &[
    ErrorCode::InvalidJson,
    ErrorCode::InvalidBody,
    ErrorCode::InvalidHandle,
    ErrorCode::InvalidBlockTarget,
];
const BAD_PROFILE: &[ErrorCode] = &[
    ErrorCode::InvalidDisplayName,
    ErrorCode::InvalidDescription,
    ErrorCode::InvalidCardBody,
    ErrorCode::InvalidVisibility,
];
const BAD_AGENT: &[ErrorCode] = &[
    ErrorCode::InvalidJson,
    ErrorCode::InvalidBody,
    ErrorCode::InvalidHandle,
    ErrorCode::InvalidPolicy,
    ErrorCode::InvalidAllowlistEntry,
    ErrorCode::InvalidSelfService,
    ErrorCode::InvalidToken,
];

/// Every operation of the account surface, for a router whose state has the room.
#[must_use]
pub fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let rooms: [fn() -> Vec<Operation<S>>; 10] = [
        owners::operations,
        agents::operations,
        trust_lists::operations,
        orgs::operations,
        own::operations,
        reachable::operations,
        profiles::operations,
        searching::operations,
        contacts::operations,
        usage::operations,
    ];
    rooms.into_iter().flat_map(|operations| operations()).collect()
}

/// What every operation on one agent under `/_admin` has.
fn of_agent(doc: OperationDoc) -> OperationDoc {
    doc.auth(Auth::Owner)
        .no_tool(PROVISIONING)
        .path_parameter::<AgentHandle>("handle", "The agent's handle")
        .errors(Class::Unauthenticated, UNAUTHENTICATED)
        .errors(Class::NotFound, &[ErrorCode::NotFound])
}
