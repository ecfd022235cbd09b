//! Where a run stands, and which threads there are (SC-40, SC-41).
//! Must not know: how they are stored.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::{HeaderValue, Method, header};
use plenary_edge::{Operation, Parameters};
use plenary_kernel::Class;

use super::{Answer, of_agent};
use crate::{
    Runs,
    caller::Asking,
    id::RunId,
    limits::THREADS_DEFAULT,
    refusals,
    request::THREADS,
    wire::{RunReport, ThreadReport},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let run_doc = of_agent("run.show", Method::GET, "/agent/{name}/runs/{run_id}", "Show where a run stands")
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
        "Those that you opened; all of them for the agent's owner and the operator. Where there are more, \
             `Link: <…>; rel=\"next\"` says how to go on.",
    )
    .parameters(&THREADS)
    .reply::<Vec<ThreadReport>>()
    .answers_page()
    .errors(Class::NotFound, &["thread_not_found"])
    .errors(Class::Unprocessable, &["invalid_limit", "invalid_query"]);
    vec![Operation::new(run_doc, show), Operation::new(threads_doc, threads)]
}

async fn show(State(runs): State<Runs>, asking: Asking, Path((name, run)): Path<(String, String)>) -> Answer {
    let seen = runs.seen(&asking, &name).await?;
    let found = seen.look(runs.find_by_id(&asking, &seen.agent, &run).await)?;
    let run = found.run().ok_or_else(refusals::run_not_found)?;
    Ok(Json(runs.report(&found, run).await?).into_response())
}

async fn threads(
    State(runs): State<Runs>,
    asking: Asking,
    Path(name): Path<String>,
    parameters: Parameters,
) -> Answer {
    let agent = runs.agent(&asking, &name).await?;
    let sent = parameters.read(&THREADS)?;
    let limit = sent.count("limit").unwrap_or(THREADS_DEFAULT);
    let before = sent.get("before").map(|id| id.parse().map_err(|_| refusals::thread_not_found()));
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
