//! `GET /search/agents`: agents by their handle, name and description, among those that the caller can see.
//! Must not know: visibility; `viewer.rs` decides it.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    directory::{PageOf, look_through},
    profiles::viewer,
    request::limit,
};
use crate::{
    Accounts, Actor, Caller, KnownAgent, Principal, Profile,
    answer::AccountRefusal,
    fields::searched_text,
    limits::{AGENTS_READ_MAX, RESULTS_DEFAULT, RESULTS_PAGE_MAX, SEARCH_CHARS_MAX, SEARCH_CHARS_MIN},
    wire::{FoundAgent, FoundAgents},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let agents = OperationDoc::new(
        "search.agents",
        Method::GET,
        "/search/agents",
        "Search the agents that the caller may see",
    )
    .description("Agents whose handle, display name or description contains the text, ignoring case.")
    .action("sessions", "me")
    .needs_token(Auth::Any)
    .query::<AgentsQuery>()
    .reply::<FoundAgents>()
    .errors(Class::Malformed, super::BAD_PAGE)
    .errors(Class::TooMany, &["too_many_searches"]);
    vec![agents.handled_by(search_agents)]
}

/// The query of `GET /search/agents`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AgentsQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = SEARCH_CHARS_MIN, max = SEARCH_CHARS_MAX))]
    q: Option<String>,
    /// Maximum number; 20 when absent, at most 50.
    #[schemars(with = "Option<u64>", range(min = 1, max = RESULTS_PAGE_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Whether an agent's handle, name or description contains a text in lower case.
pub(super) fn has(agent: &KnownAgent, text: &str) -> bool {
    let Profile { display_name, description, .. } = agent.state.profile();
    let texts = [display_name, description].into_iter().flatten();
    agent.handle.as_str().contains(text) || texts.into_iter().any(|part| part.to_lowercase().contains(text))
}

/// A page of the visible agents that contain a text in lower case, and the `cursor` of the next page.
/// The page examines at most `agents_read_max` agents. For rooms that search more than agents.
///
/// # Errors
/// The refusal of an invalid cursor; the answer to a fault of the store.
pub fn find_agents<'a>(
    accounts: &'a Accounts,
    principal: Principal,
    text: &'a str,
    (limit, agents_read_max): (usize, usize),
    after: Option<&'a str>,
) -> Sealed<'a, Result<PageOf<FoundAgent>, AccountRefusal>> {
    seal(async move {
        let bearer = Actor::from(principal.who.clone());
        let viewer = viewer(accounts, principal).await?;
        let show =
            |agent: &KnownAgent| (has(agent, text) && viewer.sees(agent)).then(|| FoundAgent::from(agent));
        look_through(accounts, &bearer, ("", after), (limit, agents_read_max), |_| true, show).await
    })
}

async fn search_agents(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<AgentsQuery>, QueryRejection>,
) -> Result<Json<FoundAgents>, AccountRefusal> {
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let text = searched_text(query.q.as_deref())?;
    let limits = (limit(query.limit.as_deref(), RESULTS_DEFAULT, RESULTS_PAGE_MAX)?, AGENTS_READ_MAX);
    let after = query.cursor.as_deref();
    let _share = accounts.search_share(&principal.who)?;
    let (agents, next_cursor) = find_agents(&accounts, principal, &text, limits, after).await?;
    Ok(Json(FoundAgents { agents, next_cursor }))
}
