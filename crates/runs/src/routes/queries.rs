//! The state of a run, and the list of threads (SC-40, SC-41).
//! Must not know: how they are stored.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderValue, Method, header};
use plenary_edge::Operation;
use plenary_kernel::Class;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, of_agent, query};
use crate::{
    Runs,
    caller::RequestCaller,
    id::{RunId, ThreadId},
    limits::{THREADS_DEFAULT, THREADS_MAX},
    refusals::{self, RunRefusal},
    wire::{RunReport, ThreadReport},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let run_doc = of_agent("run.show", Method::GET, "/agent/{name}/runs/{run_id}", "Show the state of a run")
        .action("runs", "run_view")
        .path_parameter::<RunId>("run_id", "The run.")
        .reply::<RunReport>()
        .answers_item()
        .errors(Class::NotFound, &["run_not_found"]);
    let threads_doc = of_agent(
        "run.threads",
        Method::GET,
        "/agent/{name}/threads",
        "List threads, newest first",
    )
    .action("runs", "run_view")
    .description(
        "The threads that you opened; all threads for the agent's owner and the operator. If there are more, \
             `Link: <…>; rel=\"next\"` gives the next page.",
    )
    .query::<ThreadsQuery>()
    .reply::<Vec<ThreadReport>>()
    .answers_page()
    .links_pages()
    .errors(Class::NotFound, &["thread_not_found"])
    .errors(Class::Unprocessable, &["invalid_limit", "invalid_query"]);
    let thread_doc = super::doc(
        "run.thread",
        Method::GET,
        "/threads/{thread_id}",
        "Show a thread, whatever agent it is with",
    )
    .no_tool("run.threads lists the same")
    .path_parameter::<ThreadId>("thread_id", "The thread.")
    .reply::<ThreadReport>()
    .answers_item()
    .errors(Class::NotFound, &["thread_not_found"]);
    vec![run_doc.handled_by(show), threads_doc.handled_by(threads), thread_doc.handled_by(thread)]
}

async fn show(
    State(runs): State<Runs>,
    caller: RequestCaller,
    Path((name, run)): Path<(String, String)>,
) -> Answer {
    let visible_agent = runs.visible_agent(&caller, &name).await?;
    let visible_thread = visible_agent.reveal(runs.find_by_id(&caller, &visible_agent.agent, &run).await)?;
    let run = visible_thread.run().ok_or_else(refusals::run_not_found)?;
    Ok(Json(runs.report(&visible_thread, run).await?).into_response())
}

async fn thread(State(runs): State<Runs>, caller: RequestCaller, Path(thread): Path<String>) -> Answer {
    let thread: ThreadId = thread.parse().map_err(|_| refusals::thread_not_found())?;
    let state = runs.fresh(thread).await?;
    let agent = state.opened.as_ref().and_then(|opened| runs.0.registry.get(&opened.agent));
    let agent = agent.ok_or_else(refusals::thread_not_found)?;
    // Below the agent's path the run would look absent too.
    if !runs.may_run(&caller.actor(), &agent).await? {
        return Err(refusals::thread_not_found());
    }
    let visible_thread = runs.find_thread(&caller.actor(), &agent, thread).await?;
    let report = visible_thread.and_then(|visible_thread| ThreadReport::of(thread, &visible_thread.state));
    Ok(Json(report.ok_or_else(refusals::thread_not_found)?).into_response())
}

/// Any integer, however large: it is clamped.
fn whole_number(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "integer"})
}

/// The query of `GET …/threads`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ThreadsQuery {
    /// Maximum number; 100 when absent, clamped to 1 to 500.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    limit: Option<String>,
    /// Only threads that were opened before this one.
    before: Option<String>,
}

async fn threads(
    State(runs): State<Runs>,
    caller: RequestCaller,
    Path(name): Path<String>,
    query_result: Result<Query<ThreadsQuery>, QueryRejection>,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let parameters = query(query_result)?;
    let limit = limit(parameters.limit.as_deref())?;
    let before = parameters.before.as_deref().map(|id| id.parse().map_err(|_| refusals::thread_not_found()));
    let (threads, more) = runs.threads(&caller.actor(), &agent, before.transpose()?, limit).await?;
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

fn limit(text: Option<&str>) -> Result<usize, RunRefusal> {
    let Some(text) = text else { return Ok(THREADS_DEFAULT) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refusals::shape("invalid_limit", "`limit` must be an integer"));
    }
    let beyond = if text.starts_with('-') { 1 } else { usize::MAX };
    Ok(text.parse().unwrap_or(beyond).clamp(1, THREADS_MAX))
}
