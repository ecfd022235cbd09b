//! `GET /who`: the agents that a caller can contact, and their activity.
//! Must not know: the state of an agent.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_accounts::{AgentCaller, ReachableQuery, reachable_by};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal};

use super::ConsoleRefusal;
use crate::{console::ConsoleState, wire::WhoPage};

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new("who", Method::GET, "/who", "See whom you can reach, and what they do")
        .needs_token(Auth::Agent)
        .room("console")
        .tool("sessions")
        .description(
            "Each agent that trust lets you talk with: `working`, `waiting` (for a person, or a run for an answer), `idle` or \
             `gone`, and since when. Of your own owner's also what is unread, and each live session of a coding agent. Nothing \
             is marked.",
        )
        .query::<ReachableQuery>()
        .reply::<WhoPage>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor", "invalid_owner"]);
    vec![doc.handled_by(who)]
}

async fn who(
    State(state): State<ConsoleState>,
    caller: AgentCaller,
    query: Result<Query<ReachableQuery>, QueryRejection>,
) -> Result<Json<WhoPage>, ConsoleRefusal> {
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query can't be read."))?;
    let accounts = state.console.accounts();
    let me = accounts.fresh_agent(&caller.handle).await?;
    let is_of_all = query.is_of_all();
    let (mut page, next_cursor) = reachable_by(accounts, &me, query).await?;
    if is_of_all {
        page.insert(0, me.clone());
    }
    Ok(Json(WhoPage { agents: state.console.who(&me, &page).await?, next_cursor }))
}
