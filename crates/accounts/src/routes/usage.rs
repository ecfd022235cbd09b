//! `GET /usage`: the storage of the bearer's owner, and its limits.
//! Must not know: how it is counted.

use axum::{Json, extract::State};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal};
use plenary_log::account_of;

use crate::{Accounts, Caller, TokenOwner, answer::AccountRefusal, wire::UsageView};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc = OperationDoc::new(
        "usage.get",
        Method::GET,
        "/usage",
        "Show how much the caller's owner stores, and its quota",
    )
    .description(
        "Counts the events that the owner and its agents have caused, and their contents. At the quota, \
         further writes are refused with 403 `quota_exceeded`. The operator has no quota and gets 404.",
    )
    .needs_token(Auth::Any)
    .no_tool("an owner's business: `plenary status` shows it")
    .reply::<UsageView>()
    .errors(Class::NotFound, &["not_found"]);
    vec![doc.handled_by(get)]
}

async fn get(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
) -> Result<Json<UsageView>, AccountRefusal> {
    let owner = match principal.who {
        TokenOwner::Operator => return Err(Refusal::not_found().into()),
        TokenOwner::Owner(owner) => owner,
        TokenOwner::Agent(agent) => agent.owner_name(),
    };
    let log = accounts.log();
    let account = account_of(&owner);
    let (usage, max) = (log.read_usage(&account).await?, log.ledger().max_of(&account));
    Ok(Json(UsageView {
        owner,
        stored_bytes: usage.bytes,
        stored_bytes_max: max.map(|max| max.bytes),
        stored_events: usage.events,
        stored_events_max: max.map(|max| max.events),
    }))
}
