//! `GET /search`: all items and agents that the caller may read.
//! Must not know: how they are found.

use axum::{
    Json, Router,
    extract::{FromRef, Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_accounts::{
    Accounts, Caller, find_agents,
    limits::{AGENTS_SEARCHED_MAX, SEARCH_CHARS_MAX},
};
use plenary_edge::{Auth, Metrics, Operation, OperationDoc, RegistryFault};
use plenary_kernel::{Class, Refusal};
use plenary_room::{ErrorReply, House, Searcher};

use crate::{
    Search,
    cursor::Cursor,
    request::{SearchFilter, SearchQuery},
    wire::FoundAll,
};

impl FromRef<Search> for Accounts {
    fn from_ref(search: &Search) -> Self {
        search.0.accounts.clone()
    }
}

pub(crate) fn routes(search: Search, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(search))
}

/// Its operations.
pub fn operations() -> Vec<Operation<Search>> {
    let doc = OperationDoc::new("search.all", Method::GET, "/search", "Search everything that the caller may read")
        .description(
            "Messages, channel events, runs, packages and facts by their words (and meaning, where there is a model), the \
             nearest first; agents whose handle, name or description contains the text. What the caller may not read is \
             not found.",
        )
        .needs_token(Auth::Any)
        .no_tool("the tool recall searches everything")
        .query::<SearchQuery>()
        .reply::<FoundAll>()
        .answers_page()
        .errors(
            Class::Malformed,
            &[
                "invalid_query",
                "invalid_room",
                "invalid_handle",
                "invalid_since",
                "invalid_until",
                "invalid_limit",
                "invalid_cursor",
            ],
        )
        .errors(Class::TooMany, &["too_many_searches"]);
    vec![doc.handled_by(search_all)]
}

async fn search_all(
    State(search): State<Search>,
    Caller(principal): Caller,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Json<FoundAll>, ErrorReply<House>> {
    let Query(pairs) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let filter = SearchFilter::read(&pairs)?;
    let accounts = &search.0.accounts;
    let _share = accounts.search_share(&principal.who)?;
    let first = Cursor { hits: Some(0), agents: None };
    let is_first = filter.cursor.is_none();
    let cursor = filter.cursor.clone().unwrap_or(first);
    let mut next = Cursor { hits: None, agents: None };

    let (mut hits, mut complete) = (Vec::new(), true);
    if let Some(offset) = cursor.hits {
        let scope = accounts.scope_of(&principal).await?;
        let searcher = Searcher::from(&principal.who);
        let search_hits = search.find(&searcher, scope.as_ref(), &filter).await?;
        let (page, has_more) = search_hits.page(&filter, offset);
        next.hits = has_more.then(|| offset + page.len());
        (hits, complete) = (page, search_hits.is_complete);
    }
    let mut agents = Vec::new();
    let text = filter.query.text().to_lowercase();
    let is_of_agents = filter.has_agents() && text.chars().count() <= SEARCH_CHARS_MAX;
    if is_of_agents && (is_first || cursor.agents.is_some()) {
        let limits = (filter.limit, AGENTS_SEARCHED_MAX);
        (agents, next.agents) =
            find_agents(accounts, principal, &text, limits, cursor.agents.as_deref()).await?;
    }
    let has_more = next.hits.is_some() || next.agents.is_some();
    Ok(Json(FoundAll {
        agents,
        people: Vec::new(),
        organizations: Vec::new(),
        hits,
        complete,
        next_cursor: has_more.then(|| next.to_string()),
    }))
}
