//! `GET /search/agents` and `GET /search`: agents by their handle, name and description, of those that the caller sees.
//! Must not know: who sees what; `viewer.rs` decides that.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc, Parameters};
use plenary_kernel::Class;
use plenary_shape::Sent;

use super::{
    profiles::viewer,
    reachable::{Place, look_through},
    taken::wrong_cursor,
};
use crate::{
    Accounts, Caller, Known, Principal, Profile,
    answer::Refused,
    limits::FOUND_DEFAULT,
    request::{SEARCH, SEARCH_ALL},
    wire::{FoundAgent, FoundAgents, FoundAll},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .description("Those whose handle, display name or description has the text, whatever its case.")
            .auth(Auth::Any)
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
    };
    let agents = doc("search.agents", "/search/agents", "Searches the agents that the caller sees")
        .action("sessions", "me")
        .parameters(&SEARCH)
        .reply::<FoundAgents>()
        .errors(Class::Malformed, super::BAD_PAGE);
    let all = doc("search.all", "/search", "Searches the agents that the caller sees, in one answer")
        .no_tool("search.agents finds the same agents")
        .parameters(&SEARCH_ALL)
        .reply::<FoundAll>()
        .errors(Class::Malformed, &["invalid_query", "invalid_limit"]);
    vec![Operation::new(agents, search_agents), Operation::new(all, search_all)]
}

fn has(known: &Known, text: &str) -> bool {
    let Profile { display_name, description, .. } = known.state.profile();
    let said = [display_name, description].into_iter().flatten();
    known.handle.as_str().contains(text) || said.into_iter().any(|said| said.to_lowercase().contains(text))
}

async fn search(
    accounts: &Accounts,
    principal: Principal,
    sent: &Sent<&str>,
    cursor: Option<&str>,
) -> Result<FoundAgents, Refused> {
    let text = sent.needed("q").to_lowercase();
    let limit = sent.count("limit").unwrap_or(FOUND_DEFAULT);
    let place = cursor.map_or(Ok(Place::default()), str::parse).map_err(|()| wrong_cursor())?;
    let viewer = viewer(accounts, principal).await?;
    let show = |known: &Known| (has(known, &text) && viewer.sees(known)).then(|| FoundAgent::from(known));
    let (agents, next) = look_through(accounts, "", place, limit, |_| true, show).await?;
    Ok(FoundAgents { agents, next_cursor: next.map(|place| place.to_string()) })
}

async fn search_agents(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    parameters: Parameters,
) -> Result<Json<FoundAgents>, Refused> {
    let sent = parameters.read(&SEARCH)?;
    Ok(Json(search(&accounts, principal, &sent, sent.get("cursor")).await?))
}

async fn search_all(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    parameters: Parameters,
) -> Result<Json<FoundAll>, Refused> {
    let sent = parameters.read(&SEARCH_ALL)?;
    let FoundAgents { agents, .. } = search(&accounts, principal, &sent, None).await?;
    Ok(Json(FoundAll { agents, people: Vec::new(), organizations: Vec::new() }))
}
