//! Stopping and starting an agent as a whole, its owner's switch; and letting go of one that came by itself.
//! Must not know: what ends when it is turned.

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
    caller::Asking,
    refusals::Refused,
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
        "By its owner or the operator. What goes on is canceled, and it takes no runs and joins no session until it \
         is started, also after a restart.",
    );
    let start_doc = doc("run.start_agent", "/agent/{name}/start", "Start an agent that was stopped")
        .description("By its owner or the operator. Invitations that came meanwhile are answered now.");
    let path = "/agent/{name}/dismiss";
    let dismiss_doc = of_agent("run.dismiss_agent", Method::POST, path, "Let go of an agent that came by itself")
        .reply::<Dismissal>()
        .no_tool("its owner's switch, for people")
        .description(
            "By itself, its owner or the operator. What goes on is canceled, its instances are disconnected, and its \
             threads are there again when it attaches once more. One of the configuration can't be let go.",
        )
        .errors(Class::Forbidden, &["forbidden"])
        .errors(Class::Conflict, &["agent_configured"]);
    vec![
        Operation::new(stop_doc, stop),
        Operation::new(start_doc, start),
        Operation::new(dismiss_doc, dismiss),
    ]
}

async fn stop(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    turned(&runs, &asking, &name, true).await
}

async fn start(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    turned(&runs, &asking, &name, false).await
}

async fn dismiss(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    let agent = runs.agent(&asking, &name).await?;
    if !agent.is_enlisted() {
        let text = "The agent stands in the server's configuration; stop it instead.";
        return Err(Refusal::conflict("agent_configured", text).into());
    }
    runs.dismiss(&agent, Some(asking.0.clone().into())).await.map_err(Refused::from)?;
    Ok(Json(Dismissal { dismissed: true }).into_response())
}

async fn turned(runs: &Runs, asking: &Asking, name: &str, stops: bool) -> Answer {
    let agent = runs.agent(asking, name).await?;
    runs.turn(asking.caller(&agent), stops).await.map_err(Refused::from)?;
    Ok(Json(runs.described(&agent).await?).into_response())
}
