//! `GET /search/agents` and `GET /search`: agents by their handle, name and description, among those that the caller
//! can see.
//! Must not know: visibility; `viewer.rs` decides it.

use axum::{
    Json,
    extract::{FromRef, Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    profiles::viewer,
    reachable::look_through,
    request::{cursor, limit},
};
use crate::{
    Accounts, Caller, KnownAgent, Principal, Profile,
    answer::AccountRefusal,
    fields::searched_text,
    limits::{AGENTS_LOOKED_AT_MAX, AGENTS_SEARCHED_MAX, FOUND_DEFAULT, FOUND_PAGE_MAX},
    wire::{FoundAgent, FoundAgents, FoundAll},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .description("Agents whose handle, display name or description contains the text, ignoring case.")
            .auth(Auth::Any)
            .query::<AgentsQuery>()
            .errors(Class::Malformed, super::BAD_PAGE)
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::TooMany, &["too_many_searches"])
    };
    let agents = doc("search.agents", "/search/agents", "Search the agents that the caller may see")
        .action("sessions", "me")
        .reply::<FoundAgents>();
    let all = doc("search.all", "/search", "Search the agents that the caller may see, in one response")
        .no_tool("search.agents finds the same agents")
        .reply::<FoundAll>();
    vec![Operation::new(agents, search_agents), Operation::new(all, search_all)]
}

/// The query of `GET /search/agents` and `GET /search`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AgentsQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = 2, max = 100))]
    q: Option<String>,
    /// Maximum number; 20 when absent, at most 50.
    #[schemars(with = "Option<u64>", range(min = 1, max = 50))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

fn has(known: &KnownAgent, text: &str) -> bool {
    let Profile { display_name, description, .. } = known.state.profile();
    let said = [display_name, description].into_iter().flatten();
    known.handle.as_str().contains(text) || said.into_iter().any(|said| said.to_lowercase().contains(text))
}

type SearchQuery = Result<Query<AgentsQuery>, QueryRejection>;

async fn search(
    accounts: &Accounts,
    principal: Principal,
    query: SearchQuery,
    looked_at_max: usize,
) -> Result<FoundAgents, AccountRefusal> {
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let text = searched_text(query.q.as_deref())?;
    let most = (limit(query.limit.as_deref(), FOUND_DEFAULT, FOUND_PAGE_MAX)?, looked_at_max);
    let place = cursor(query.cursor.as_deref())?.unwrap_or_default();
    let _share = accounts.search_share(&principal.who)?;
    let viewer = viewer(accounts, principal).await?;
    let show =
        |known: &KnownAgent| (has(known, &text) && viewer.sees(known)).then(|| FoundAgent::from(known));
    let (agents, next) = look_through(accounts, "", place, most, |_| true, show).await?;
    Ok(FoundAgents { agents, next_cursor: next.map(|place| place.to_string()) })
}

async fn search_agents(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: SearchQuery,
) -> Result<Json<FoundAgents>, AccountRefusal> {
    Ok(Json(search(&accounts, principal, query, AGENTS_LOOKED_AT_MAX).await?))
}

/// Clients of other servers know no cursor here, so that more is looked at for the one answer that they ask for.
async fn search_all(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: SearchQuery,
) -> Result<Json<FoundAll>, AccountRefusal> {
    let FoundAgents { agents, next_cursor } =
        search(&accounts, principal, query, AGENTS_SEARCHED_MAX).await?;
    Ok(Json(FoundAll { agents, people: Vec::new(), organizations: Vec::new(), next_cursor }))
}
