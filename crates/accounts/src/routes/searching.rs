//! `GET /search/agents` and `GET /search`: agents by their handle, name and description, of those that the caller sees.
//! Must not know: who sees what; `viewer.rs` decides that.

use axum::{
    Json,
    extract::{FromRef, Query, State, rejection::QueryRejection},
};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_wire::accounts::{SEARCH_AGENTS, SEARCH_ALL};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    profiles::viewer,
    reachable::{Place, look_through},
};
use crate::{
    Accounts, Caller, Known, Principal, Profile,
    answer::Refused,
    fields::searched_text,
    limits::{FOUND_DEFAULT, FOUND_PAGE_MAX},
    wire::{FoundAgent, FoundAgents, FoundAll},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |doc: OperationDoc| {
        doc.description("Those whose handle, display name or description has the text, whatever its case.")
            .auth(Auth::Any)
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
    };
    let agents = doc(OperationDoc::of(&SEARCH_AGENTS, "Searches the agents that the caller sees"))
        .action("sessions", "me")
        .query::<AgentsQuery>()
        .errors(Class::Malformed, super::BAD_PAGE);
    let all = doc(OperationDoc::of(&SEARCH_ALL, "Searches the agents that the caller sees, in one answer"))
        .no_tool("search.agents finds the same agents")
        .query::<AllQuery>()
        .errors(Class::Malformed, &[ErrorCode::InvalidQuery, ErrorCode::InvalidLimit]);
    vec![Operation::new(agents, search_agents), Operation::new(all, search_all)]
}

/// The query of `GET /search/agents`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AgentsQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = 2, max = 100))]
    q: Option<String>,
    /// How many; 20 when absent, at most 50.
    #[schemars(with = "Option<u64>", range(min = 1, max = 50))]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The query of `GET /search`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AllQuery {
    /// What to search for, 2 to 100 characters.
    #[schemars(with = "String", length(min = 2, max = 100))]
    q: Option<String>,
    /// How many of each kind; 20 when absent, at most 50.
    #[schemars(with = "Option<u64>", range(min = 1, max = 50))]
    limit: Option<String>,
}

fn limit(text: Option<String>) -> Result<usize, Refusal> {
    let Some(text) = text else { return Ok(FOUND_DEFAULT) };
    let limit = text.parse().ok().filter(|limit| (1..=FOUND_PAGE_MAX).contains(limit));
    let why = || format!("limit must be a number from 1 to {FOUND_PAGE_MAX}.");
    limit.ok_or_else(|| Refusal::malformed(ErrorCode::InvalidLimit, why()))
}

fn has(known: &Known, text: &str) -> bool {
    let Profile { display_name, description, .. } = known.state.profile();
    let said = [display_name, description].into_iter().flatten();
    known.handle.as_str().contains(text) || said.into_iter().any(|said| said.to_lowercase().contains(text))
}

async fn search(
    accounts: &Accounts,
    principal: Principal,
    query: AgentsQuery,
) -> Result<FoundAgents, Refused> {
    let (text, limit) = (searched_text(query.q.as_deref())?, limit(query.limit)?);
    let place: Place = match query.cursor {
        None => Place::default(),
        Some(cursor) => cursor.parse().map_err(|()| {
            Refusal::malformed(ErrorCode::InvalidCursor, "cursor must be the next_cursor of the page before.")
        })?,
    };
    let viewer = viewer(accounts, principal).await?;
    let show = |known: &Known| (has(known, &text) && viewer.sees(known)).then(|| FoundAgent::from(known));
    let (agents, next) = look_through(accounts, "", place, limit, |_| true, show).await?;
    Ok(FoundAgents { agents, next_cursor: next.map(|place| place.to_string()) })
}

fn unreadable(_: QueryRejection) -> Refusal {
    Refusal::malformed(ErrorCode::InvalidQuery, "The query can't be read.")
}

async fn search_agents(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<AgentsQuery>, QueryRejection>,
) -> Result<Json<FoundAgents>, Refused> {
    let Query(query) = query.map_err(unreadable)?;
    Ok(Json(search(&accounts, principal, query).await?))
}

async fn search_all(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<AllQuery>, QueryRejection>,
) -> Result<Json<FoundAll>, Refused> {
    let Query(AllQuery { q, limit }) = query.map_err(unreadable)?;
    let FoundAgents { agents, .. } =
        search(&accounts, principal, AgentsQuery { q, limit, cursor: None }).await?;
    Ok(Json(FoundAll { agents, people: Vec::new(), organizations: Vec::new() }))
}
