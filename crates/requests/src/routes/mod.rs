//! The operations of this room: parse, call the room, translate the reply. Checks come in the order 401, 404, 400,
//! 409.
//! Must not know: the rules of a command.

mod answers;
mod interrupts;
mod lists;
mod one_tap;
mod requests;
mod rules;

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, Path, rejection::PathRejection},
    response::Response,
};
use http::{Method, request::Parts};
use plenary_accounts::{Accounts, Caller, Decider, Principal, TokenOwner};
use plenary_edge::{Metrics, Operation, OperationDoc, RegistryFault};
use plenary_kernel::{AskId, Refusal};
use plenary_room::{fault_refusal, house_error};

use crate::{
    Requests,
    decide::Rejection,
    refusals::RequestRefusal,
    request_view::RequestReading,
    requests::CommandError,
    wire::{self, RequestView},
};

/// Why these operations are not tools for models.
const PEOPLE: &str = "only people answer requests";

impl FromRef<Requests> for Accounts {
    fn from_ref(requests: &Requests) -> Self {
        requests.accounts().clone()
    }
}

/// An operation that refuses in the form of requests.
fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary).error_body::<wire::Refusal<'static>>()
}

/// The routes of the room.
///
/// # Errors
/// If the operations contradict each other.
pub(crate) fn routes(requests: Requests, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(requests))
}

/// The operations of the room.
pub fn operations() -> Vec<Operation<Requests>> {
    [
        requests::operations(),
        lists::operations(),
        answers::operations(),
        rules::operations(),
        interrupts::operations(),
        one_tap::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The one parameter of a path.
type OnePath = Result<Path<String>, PathRejection>;

fn request_id(path: OnePath) -> Result<AskId, Refusal> {
    let Path(text) = path.map_err(|_| Refusal::not_found())?;
    crate::request::id(&text)
}

/// The caller of an operation that is for people.
struct People(Decider);

impl FromRequestParts<Requests> for People {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, requests: &Requests) -> Result<Self, Response> {
        let Caller(principal) = Caller::from_request_parts(parts, requests).await?;
        let decider = requests.accounts().decider(principal).await;
        decider.map(Self).map_err(|fault| house_error(fault_refusal(&fault)))
    }
}

/// The request, for an owner or the operator; agents do not answer.
async fn of_people(
    requests: &Requests,
    principal: &Principal,
    id: &AskId,
) -> Result<RequestReading, RequestRefusal> {
    if matches!(principal.who, TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let reading = requests.reading_for(&principal.who, id).await?;
    reading.ok_or_else(|| Refusal::not_found().into())
}

/// The current state of the request.
async fn current_view(
    requests: &Requests,
    principal: &Principal,
    id: &AskId,
) -> Result<RequestView, RequestRefusal> {
    Ok(of_people(requests, principal, id).await?.view)
}

/// A refusal, with the final answer if another person was faster.
async fn refusal_for(
    requests: &Requests,
    caller: &TokenOwner,
    id: &AskId,
    error: CommandError,
) -> RequestRefusal {
    use plenary_engine::ExecuteError;
    let has_answer =
        matches!(&error, ExecuteError::Rejected(Rejection::AlreadyAnswered | Rejection::Expired));
    let mut refusal = RequestRefusal::from(error);
    if has_answer && let Ok(Some(reading)) = requests.reading_for(caller, id).await {
        refusal.form.answer = crate::request_view::view_for(caller, reading).answer.map(Box::new);
    }
    refusal
}
