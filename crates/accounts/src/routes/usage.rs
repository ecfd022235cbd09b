//! `GET /usage`: what the bearer's owner stores, and how much it may.
//! Must not know: what is counted.

use axum::{
    Json,
    extract::{FromRef, State},
};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_wire::accounts::USAGE_GET;

use crate::{Accounts, Caller, Who, answer::Refused, wire::UsageView};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = OperationDoc::of(&USAGE_GET, "Shows what the bearer's owner stores, and how much it may")
    .description(
        "Counts the events that the owner's agents and the owner have caused, and the contents that came with them. Past a \
         bound what would store more is refused with 403 `quota_exceeded`. The operator has no bound, and is answered 404.",
    )
    .auth(Auth::Any)
    .no_tool("an owner's business: `plenary status` shows it")
    .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
    .errors(Class::NotFound, &[ErrorCode::NotFound]);
    vec![Operation::new(doc, get)]
}

async fn get(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
) -> Result<Json<UsageView>, Refused> {
    let owner = match principal.who {
        Who::Operator => return Err(Refusal::not_found().into()),
        Who::Owner(owner) => owner,
        Who::Agent(agent) => agent.owner_name(),
    };
    let log = accounts.log();
    let (used, max) = (log.read_usage(owner.as_str()).await?, log.ledger().max());
    Ok(Json(UsageView {
        owner,
        stored_bytes: used.bytes,
        stored_bytes_max: max.map(|max| max.bytes),
        stored_events: used.events,
        stored_events_max: max.map(|max| max.events),
    }))
}
