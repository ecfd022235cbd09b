//! Which agents there are, what they are, and what they are configured with (SC-9, SC-10, SC-33).
//! Must not know: runs.

use axum::{
    Json,
    extract::{Path, State},
    response::{Html, IntoResponse},
};
use http::{HeaderMap, Method, header, request::Parts};
use plenary_edge::{Operation, OperationDoc, Received};
use plenary_kernel::{Class, ErrorCode};
use plenary_wire::runs;

use super::{Answer, about, doc, json, of_agent};
use crate::{
    Runs,
    caller::Asking,
    refusals::Refused,
    registry::Agent,
    request::{self, ConfigureBody},
    wire::{Base, Described, Listed, Source},
};

/// What a browser gets that asks for the server itself.
const PAGE: &str = include_str!("page.html");

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let list_doc = doc(OperationDoc::new("run.agents", Method::GET, "/", "List the agents that you may run"))
        .action("runs", "run_view")
        .description("Pairs of name and path. A browser that asks for HTML gets a page without a token.")
        .reply::<Vec<Listed>>()
        .or_reply_type("text/html");
    let discovery_doc = doc(OperationDoc::new(
        "run.discovery",
        Method::GET,
        "/_discovery",
        "List the paths of the agents that you may run",
    ))
    .no_tool("run.agents has these paths too")
    .reply::<Vec<String>>();
    let descriptors_doc = doc(OperationDoc::of(&runs::DESCRIPTORS, "Describe the agents that you may run"))
        .no_tool("run.agents lists them, and run.describe tells of each")
        .description("What each says of itself, its path, and whether it is stopped.");
    let describe_doc =
        of_agent(OperationDoc::of(&runs::DESCRIBE, "Describe an agent")).action("runs", "run_view");
    let configure_doc = of_agent(OperationDoc::new(
        "run.configure",
        Method::POST,
        "/agent/{name}/configure",
        "Configure an agent",
    ))
    .tool("runs")
    .description("By its owner or the operator. The answer is a RunCompleted with a run id of its own.")
    .request::<ConfigureBody>()
    .reply::<Base>()
    .errors(Class::Malformed, &[ErrorCode::InvalidJson])
    .errors(Class::Forbidden, &[ErrorCode::Forbidden])
    .errors(
        Class::Unprocessable,
        &[ErrorCode::InvalidBody, ErrorCode::InvalidType, ErrorCode::InvalidArgs, ErrorCode::ArgsTooLarge],
    )
    .errors(Class::Conflict, &[ErrorCode::IdempotencyKeyReused]);
    vec![
        Operation::new(list_doc, list),
        Operation::new(discovery_doc, discovery),
        Operation::new(descriptors_doc, descriptors),
        Operation::new(describe_doc, describe),
        Operation::new(configure_doc, configure),
    ]
}

fn path(name: &str) -> String {
    format!("/agent/{name}")
}

async fn list(State(runs): State<Runs>, parts: Parts) -> Answer {
    if prefers_html(&parts.headers) {
        return Ok(Html(PAGE).into_response());
    }
    let asking = Asking::identify(&parts, &runs).await?;
    let listed = |name: &str| Listed(name.to_owned(), path(name));
    let agents: Vec<_> = runs.agents_for(&asking).await?.iter().map(|agent| listed(agent.name())).collect();
    Ok(Json(agents).into_response())
}

/// Whether somebody asks for HTML before JSON: a browser.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let place = |media_type| accept.find(media_type);
    match (place("text/html"), place("application/json")) {
        (Some(html), Some(json)) => html < json,
        (html, _) => html.is_some(),
    }
}

async fn discovery(State(runs): State<Runs>, asking: Asking) -> Answer {
    let paths: Vec<_> = runs.agents_for(&asking).await?.iter().map(|agent| path(agent.name())).collect();
    Ok(Json(paths).into_response())
}

async fn descriptors(State(runs): State<Runs>, asking: Asking) -> Answer {
    let mut agents = Vec::new();
    for agent in runs.agents_for(&asking).await? {
        agents.push(Described { path: path(agent.name()), descriptor: runs.described(&agent).await? });
    }
    Ok(Json(agents).into_response())
}

async fn describe(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    let agent = runs.agent(&asking, &name).await?;
    Ok(Json(runs.described(&agent).await?).into_response())
}

async fn configure(
    State(runs): State<Runs>,
    asking: Asking,
    Path(name): Path<String>,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let agent = runs.agent(&asking, &name).await?;
    let body = body?;
    let args = request::read_configure(body.bytes())?;
    configured(&runs, &asking, &agent, &headers, body.bytes(), args).await
}

/// Configures an agent, by whichever path it was asked.
pub(super) async fn configured(
    runs: &Runs,
    asking: &Asking,
    agent: &Agent,
    headers: &HeaderMap,
    body: &[u8],
    args: serde_json::Map<String, serde_json::Value>,
) -> Answer {
    let name = agent.name();
    let scope = format!("runs/configure/{name}/{}", asking.actor());
    let key = request::key(scope, "", headers, body)?;
    let done = runs.configure(asking.caller(agent), args, key.as_ref()).await.map_err(Refused::from)?;
    let source = Source { thread: done.reply.thread, agent: name.into() };
    let event = source.configured(done.reply.run);
    let mut response = json(event.json);
    about(&mut response, name, done.reply.run, done.reply.thread);
    response.headers_mut().remove(header::LOCATION);
    Ok(super::replayed(response, done.replayed))
}
