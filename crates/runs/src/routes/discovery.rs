//! The list of agents, their descriptions and their configurations (SC-9, SC-10, SC-33).
//! Must not know: runs.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::{HeaderMap, Method, header, request::Parts};
use plenary_edge::{JsonBody, Operation};
use plenary_kernel::Class;

use super::{Answer, doc, json, of_agent, set_run_headers};
use crate::{
    Runs,
    caller::RequestCaller,
    refusals::RunRefusal,
    registry::Agent,
    request::{self, ConfigureBody},
    wire::{AgentDescriptor, AgentPath, AgentSummary, Base, Source},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let list_doc = doc("run.agents", Method::GET, "/", "List the agents that you may run")
        .action("runs", "run_view")
        .description("Pairs of name and path. A browser that requests HTML gets the console's page.")
        .reply::<Vec<AgentPath>>()
        .or_reply_type("text/html");
    let discovery_doc =
        doc("run.discovery", Method::GET, "/_discovery", "List the paths of the agents that you may run")
            .no_tool("run.agents has the same paths")
            .reply::<Vec<String>>();
    let descriptors_doc =
        doc("run.descriptors", Method::GET, "/agent", "Describe the agents that you may run")
            .no_tool("run.agents lists them, and run.describe describes each")
            .description("The description of each agent, its path, and whether it is stopped.")
            .reply::<Vec<AgentSummary>>();
    let describe_doc = of_agent("run.describe", Method::GET, "/agent/{name}/describe", "Describe an agent")
        .action("runs", "run_view")
        .reply::<AgentDescriptor>();
    let configure_doc =
        of_agent("run.configure", Method::POST, "/agent/{name}/configure", "Configure an agent")
            .tool("runs")
            .description("For its owner or the operator. The response is a RunCompleted with its own run id.")
            .request::<ConfigureBody>()
            .reply::<Base>()
            .errors(Class::Malformed, &["invalid_json"])
            .errors(Class::Forbidden, &["forbidden"])
            .errors(Class::Unprocessable, &["invalid_body", "invalid_type", "invalid_args", "args_too_large"])
            .errors(Class::Conflict, &["idempotency_key_reused"]);
    let configure_doc = super::names_run(configure_doc);
    vec![
        list_doc.handled_by(list),
        discovery_doc.handled_by(discovery),
        descriptors_doc.handled_by(descriptors),
        describe_doc.handled_by(describe),
        configure_doc.handled_by(configure),
    ]
}

fn path(name: &str) -> String {
    format!("/agent/{name}")
}

async fn list(State(runs): State<Runs>, parts: Parts) -> Answer {
    let caller = RequestCaller::identify(&parts, &runs).await?;
    let listed = |name: &str| AgentPath(name.to_owned(), path(name));
    let agents: Vec<_> = runs.agents_for(&caller).await?.iter().map(|agent| listed(agent.name())).collect();
    // A browser gets a page at this URL.
    Ok(([(header::VARY, "Accept")], Json(agents)).into_response())
}

async fn discovery(State(runs): State<Runs>, caller: RequestCaller) -> Answer {
    let paths: Vec<_> = runs.agents_for(&caller).await?.iter().map(|agent| path(agent.name())).collect();
    Ok(Json(paths).into_response())
}

async fn descriptors(State(runs): State<Runs>, caller: RequestCaller) -> Answer {
    let mut agents = Vec::new();
    for agent in runs.agents_for(&caller).await? {
        agents.push(AgentSummary { path: path(agent.name()), descriptor: runs.described(&agent).await? });
    }
    Ok(Json(agents).into_response())
}

async fn describe(State(runs): State<Runs>, caller: RequestCaller, Path(name): Path<String>) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    Ok(Json(runs.described(&agent).await?).into_response())
}

async fn configure(
    State(runs): State<Runs>,
    caller: RequestCaller,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let body = body?;
    let args = request::read_configure(body.bytes())?;
    configured(&runs, &caller, &agent, &headers, body.bytes(), args).await
}

/// Configures an agent, for both paths of the operation.
pub(super) async fn configured(
    runs: &Runs,
    caller: &RequestCaller,
    agent: &Agent,
    headers: &HeaderMap,
    body: &[u8],
    args: serde_json::Map<String, serde_json::Value>,
) -> Answer {
    let name = agent.name();
    let scope = format!("runs/configure/{name}/{}", caller.actor());
    let key = request::key(scope, "", headers, body)?;
    let done = runs.configure(caller.for_agent(agent), args, key.as_ref()).await.map_err(RunRefusal::from)?;
    let source = Source { thread: done.reply.thread, agent: name.into() };
    let event = source.configured(done.reply.run);
    let mut response = json(event.json);
    set_run_headers(&mut response, name, done.reply.run, done.reply.thread);
    response.headers_mut().remove(header::LOCATION);
    Ok(super::replayed(response, done.replayed))
}
