//! Where a run stands, and which threads there are (SC-40, SC-41).
//! Must not know: how they are stored.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderValue, header};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{Class, ErrorCode};
use plenary_wire::runs;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, of_agent, query};
use crate::{
    Runs,
    caller::Asking,
    id::RunId,
    limits::{THREADS_DEFAULT, THREADS_MAX},
    refusals::{self, Refused},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let run_doc = of_agent(OperationDoc::of(&runs::SHOW, "Show where a run stands"))
        .action("runs", "run_view")
        .path_parameter::<RunId>("run_id", "The run.")
        .answers_item()
        .errors(Class::NotFound, &[ErrorCode::RunNotFound]);
    let threads_doc = of_agent(OperationDoc::of(&runs::THREADS, "List threads, newest first"))
    .action("runs", "run_view")
    .description(
        "Those that you opened; all of them for the agent's owner and the operator. Where there are more, \
             `Link: <…>; rel=\"next\"` says how to go on.",
    )
    .query::<ThreadsQuery>()
    .answers_page()
    .errors(Class::NotFound, &[ErrorCode::ThreadNotFound])
    .errors(Class::Unprocessable, &[ErrorCode::InvalidLimit, ErrorCode::InvalidQuery]);
    vec![Operation::new(run_doc, show), Operation::new(threads_doc, threads)]
}

async fn show(State(runs): State<Runs>, asking: Asking, Path((name, run)): Path<(String, String)>) -> Answer {
    let seen = runs.seen(&asking, &name).await?;
    let found = seen.look(runs.find_by_id(&asking, &seen.agent, &run).await)?;
    let run = found.run().ok_or_else(refusals::run_not_found)?;
    Ok(Json(runs.report(&found, run).await?).into_response())
}

/// Any integer, however large: it is clamped.
fn whole_number(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "integer"})
}

/// The query of `GET …/threads`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ThreadsQuery {
    /// How many; 100 when absent, clamped to 1 to 500.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    limit: Option<String>,
    /// Only threads that were opened before this one.
    before: Option<String>,
}

async fn threads(
    State(runs): State<Runs>,
    asking: Asking,
    Path(name): Path<String>,
    sent: Result<Query<ThreadsQuery>, QueryRejection>,
) -> Answer {
    let agent = runs.agent(&asking, &name).await?;
    let sent = query(sent)?;
    let limit = limit(sent.limit.as_deref())?;
    let before = sent.before.as_deref().map(|id| id.parse().map_err(|_| refusals::thread_not_found()));
    let (threads, more) = runs.threads(&asking.actor(), &agent, before.transpose()?, limit).await?;
    let next = threads
        .last()
        .filter(|_| more)
        .map(|last| format!("</agent/{name}/threads?limit={limit}&before={}>; rel=\"next\"", last.id));
    let mut response = Json(threads).into_response();
    if let Some(link) = next.and_then(|link| HeaderValue::from_str(&link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

fn limit(text: Option<&str>) -> Result<usize, Refused> {
    let Some(text) = text else { return Ok(THREADS_DEFAULT) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(refusals::shape("invalid_limit", "`limit` must be an integer"));
    }
    let beyond = if text.starts_with('-') { 1 } else { usize::MAX };
    Ok(text.parse().unwrap_or(beyond).clamp(1, THREADS_MAX))
}
