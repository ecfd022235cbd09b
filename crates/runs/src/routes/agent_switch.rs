//! Stopping and starting an agent as a whole, its owner's switch; and dismissing an enlisted one.
//! Must not know: the effects.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::Method;
use plenary_edge::Operation;
use plenary_kernel::{Class, Refusal};

use super::{Answer, of_agent};
use crate::{
    Runs,
    caller::RequestCaller,
    refusals::RunRefusal,
    wire::{AgentDescriptor, Dismissal},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let doc = |id, path, summary| {
        of_agent(id, Method::POST, path, summary)
            .reply::<AgentDescriptor>()
            .no_tool("its owner's switch, for people")
            .errors(Class::Forbidden, &["forbidden"])
    };
    let stop_doc = doc("run.stop_agent", "/agent/{name}/stop", "Stop an agent").description(
        "For its owner or the operator. Its runs are canceled; it accepts no runs and joins no session until it \
         is started, even after a restart of the server.",
    );
    let start_doc = doc("run.start_agent", "/agent/{name}/start", "Start a stopped agent")
        .description("For its owner or the operator. Invitations that arrived in the meantime are answered.");
    let path = "/agent/{name}/dismiss";
    let dismiss_doc = of_agent("run.dismiss_agent", Method::POST, path, "Dismiss an agent that registered itself")
        .reply::<Dismissal>()
        .no_tool("its owner's switch, for people")
        .description(
            "For the agent itself, its owner or the operator. Its runs are canceled, its instances are disconnected, and its \
             threads return when it attaches again. An agent of the configuration cannot be dismissed.",
        )
        .errors(Class::Forbidden, &["forbidden"])
        .errors(Class::Conflict, &["agent_configured"]);
    vec![stop_doc.handled_by(stop), start_doc.handled_by(start), dismiss_doc.handled_by(dismiss)]
}

async fn stop(State(runs): State<Runs>, caller: RequestCaller, Path(name): Path<String>) -> Answer {
    turned(&runs, &caller, &name, true).await
}

async fn start(State(runs): State<Runs>, caller: RequestCaller, Path(name): Path<String>) -> Answer {
    turned(&runs, &caller, &name, false).await
}

async fn dismiss(State(runs): State<Runs>, caller: RequestCaller, Path(name): Path<String>) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    if !agent.is_enlisted() {
        let text = "The agent is in the server's configuration and cannot be dismissed; stop it instead.";
        return Err(Refusal::conflict("agent_configured", text).into());
    }
    runs.dismiss(&agent, Some(caller.0.clone().into())).await.map_err(RunRefusal::from)?;
    Ok(Json(Dismissal { dismissed: true }).into_response())
}

async fn turned(runs: &Runs, caller: &RequestCaller, name: &str, stops: bool) -> Answer {
    let agent = runs.agent(caller, name).await?;
    runs.turn(caller.for_agent(&agent), stops).await.map_err(RunRefusal::from)?;
    Ok(Json(runs.described(&agent).await?).into_response())
}
