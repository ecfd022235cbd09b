//! Stopping and starting an agent as a whole, its owner's switch; and letting go of one that came by itself.
//! Must not know: what ends when it is turned.

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_wire::runs;

use super::{Answer, of_agent};
use crate::{Runs, caller::Asking, refusals::Refused, wire::Dismissal};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let doc = |doc: OperationDoc| {
        of_agent(doc)
            .no_tool("its owner's switch, for people")
            .errors(Class::Forbidden, &[ErrorCode::Forbidden])
    };
    let stop_doc = doc(OperationDoc::of(&runs::STOP_AGENT, "Stop an agent")).description(
        "By its owner or the operator. What goes on is canceled, and it takes no runs and joins no session until it \
         is started, also after a restart.",
    );
    let start_doc = doc(OperationDoc::of(&runs::START_AGENT, "Start an agent that was stopped"))
        .description("By its owner or the operator. Invitations that came meanwhile are answered now.");
    let dismiss_doc = of_agent(OperationDoc::of(&runs::DISMISS_AGENT, "Let go of an agent that came by itself"))
        .no_tool("its owner's switch, for people")
        .description(
            "By itself, its owner or the operator. What goes on is canceled, its instances are disconnected, and its \
             threads are there again when it attaches once more. One of the configuration can't be let go.",
        )
        .errors(Class::Forbidden, &[ErrorCode::Forbidden])
        .errors(Class::Conflict, &[ErrorCode::AgentConfigured]);
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
        return Err(Refusal::conflict(ErrorCode::AgentConfigured, text).into());
    }
    runs.dismiss(&agent, Some(asking.0.clone().into())).await.map_err(Refused::from)?;
    Ok(Json(Dismissal { dismissed: true }).into_response())
}

async fn turned(runs: &Runs, asking: &Asking, name: &str, stops: bool) -> Answer {
    let agent = runs.agent(asking, name).await?;
    runs.turn(asking.caller(&agent), stops).await.map_err(Refused::from)?;
    Ok(Json(runs.described(&agent).await?).into_response())
}
