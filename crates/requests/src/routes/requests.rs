//! The operations of agents: make a request, read it and wait, withdraw it.
//! Must not know: the person who answers.

use std::time::Duration;

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::{Method, StatusCode};
use plenary_accounts::{AgentCaller, Caller};
use plenary_edge::{Auth, JsonBody, Operation};
use plenary_kernel::{AskId, Class, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OnePath, doc, refusal_for, request_id};
use crate::{
    Requests, WAIT_SECONDS_MAX,
    answer_wait::WaitOutcome,
    command::Source,
    refusals::{RequestRefusal, cannot_wait, revoked},
    request_view::view_for,
    wire::{NewRequest, RequestView},
};

/// Why these operations are not tools of their own.
const NO_TOOL_REASON: &str = "the tool ask_person asks, waits and withdraws";

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let make_doc = doc("request.make", Method::POST, "/requests", "Ask a person")
        .no_tool(NO_TOOL_REASON)
        .description(
            "Asks a person of the agent's owner for a permission, for an answer, or to release something on hold. A rule of the \
             owner may answer at once; then `state` is `answered`. Read the answer with `GET /requests/{id}?wait=` or, \
             unless `inbox` is false, as `request.answered` in the inbox. People see the text of a request as \
             the agent's own words.",
        )
        .success(StatusCode::CREATED)
        .request::<NewRequest>()
        .reply::<RequestView>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_kind", "invalid_title"])
        .errors(Class::Malformed, &["invalid_action", "invalid_directory", "invalid_source"])
        .errors(Class::Malformed, &["invalid_choices", "invalid_form", "invalid_allow"])
        .errors(Class::Malformed, &["invalid_deadline", "unknown_person"])
        .needs_token(Auth::Agent)
        .errors(Class::TooLarge, &["request_too_large"])
        .errors(Class::TooMany, &["too_many_requests"]);
    let get_doc = doc("request.get", Method::GET, "/requests/{id}", "Show a request, or wait for its answer")
        .no_tool(NO_TOOL_REASON)
        .description(
            "For the agent that asked, its owner and the operator. With `wait` the response comes as soon as there is an answer \
             that is final, the deadline has passed or the request is withdrawn, and at the latest after that many seconds. \
             Reading marks nothing.",
        )
        .needs_token(Auth::Any)
        .path_parameter::<AskId>("id", "The request.")
        .query::<GetQuery>()
        .reply::<RequestView>()
        .errors(Class::Malformed, &["invalid_query", "invalid_wait"])
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::TooMany, &["too_many_waits"])
        .errors(Class::Unavailable, &["stopping"]);
    let withdraw_doc = doc("request.withdraw", Method::DELETE, "/requests/{id}", "Withdraw a request")
        .no_tool(NO_TOOL_REASON)
        .description("For the agent that asked. A withdrawn or answered request does not change.")
        .path_parameter::<AskId>("id", "The request.")
        .success(StatusCode::NO_CONTENT)
        .needs_token(Auth::Agent)
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::Conflict, &["already_answered", "request_expired"]);
    vec![make_doc.handled_by(make), get_doc.handled_by(get), withdraw_doc.handled_by(withdraw)]
}

/// The query of `GET /requests/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetQuery {
    /// Seconds to wait for an answer; 0 when absent, at most 60.
    #[schemars(with = "Option<u64>", range(max = WAIT_SECONDS_MAX))]
    wait: Option<String>,
}

async fn make(
    State(requests): State<Requests>,
    agent: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<RequestView>), RequestRefusal> {
    let new_request: NewRequest = body.and_then(|body| body.parse())?;
    let caller = plenary_accounts::TokenOwner::Agent(agent.handle.clone());
    let command = new_request.command(Source::Agent(agent.authority()), agent.handle)?;
    let id = AskId::mint(&requests.clock().stamp(), 0);
    let id = requests.make(&id, command).await?;
    let reading = requests.reading_for(&caller, &id).await?;
    let reading = reading.ok_or_else(|| RequestRefusal::from(Refusal::not_found()))?;
    Ok((StatusCode::CREATED, Json(view_for(&caller, reading))))
}

async fn get(
    State(requests): State<Requests>,
    Caller(principal): Caller,
    path: OnePath,
    query: Result<Query<GetQuery>, QueryRejection>,
) -> Result<Json<RequestView>, RequestRefusal> {
    let id = request_id(path)?;
    // Checked before the query: a caller that may not see the request learns nothing else.
    if requests.reading_for(&principal.who, &id).await?.is_none() {
        return Err(Refusal::not_found().into());
    }
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let wait = match query.wait.as_deref().map(str::parse::<u64>) {
        None => 0,
        Some(Ok(seconds)) if seconds <= WAIT_SECONDS_MAX => seconds,
        Some(_) => {
            let text = format!("`wait` must be an integer from 0 to {WAIT_SECONDS_MAX}.");
            return Err(Refusal::malformed("invalid_wait", text).into());
        }
    };
    match requests.wait(&principal, &id, Duration::from_secs(wait)).await? {
        WaitOutcome::Reading(reading) => Ok(Json(view_for(&principal.who, *reading))),
        WaitOutcome::NoSuchRequest => Err(Refusal::not_found().into()),
        WaitOutcome::Revoked => Err(revoked().into()),
        WaitOutcome::CannotWait(reason) => Err(cannot_wait(reason).into()),
    }
}

async fn withdraw(
    State(requests): State<Requests>,
    agent: AgentCaller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, RequestRefusal> {
    body?;
    let id = request_id(path)?;
    let caller = plenary_accounts::TokenOwner::Agent(agent.handle.clone());
    match requests.withdraw(&id, Source::Agent(agent.authority())).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(refusal_for(&requests, &caller, &id, error).await),
    }
}
