//! Stopping and starting an agent as a whole: its owner's switch.
//! Must not know: what ends when it is turned.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::Method;
use plenary_edge::Operation;
use plenary_kernel::Class;

use super::{Answer, of_agent};
use crate::{Runs, caller::Asking, refusals::Refused, wire::AgentDescriptor};

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
    vec![Operation::new(stop_doc, stop), Operation::new(start_doc, start)]
}

async fn stop(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    turned(&runs, &asking, &name, true).await
}

async fn start(State(runs): State<Runs>, asking: Asking, Path(name): Path<String>) -> Answer {
    turned(&runs, &asking, &name, false).await
}

async fn turned(runs: &Runs, asking: &Asking, name: &str, stops: bool) -> Answer {
    let agent = runs.agent(name)?;
    runs.turn(asking.caller(&agent), stops).await.map_err(Refused::from)?;
    Ok(Json(runs.described(&agent).await?).into_response())
}
