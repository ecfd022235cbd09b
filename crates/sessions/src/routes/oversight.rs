//! The sessions of an agent for its owner and the operator: exactly the agent's view, without changing marks. The
//! paths of the protocol itself are only for agents (wire.md D.9).
//! Must not know: how a session changes.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse as _,
};
use http::Method;
use plenary_accounts::{Caller, TokenOwner, overseen};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Answer,
    queries::{EventsQuery, ListQuery, cursor, events_of, limit, list_of, read, show_of},
};
use crate::{
    LIST_MAX, Sessions,
    owned::{AccountSessionList, OwnedSessionList},
    state::Phase,
    views::{EventPage, SessionList, SessionView},
};

/// Sessions on a page of an account.
const ACCOUNT_PAGE_DEFAULT: usize = 50;
const ACCOUNT_PAGE_MAX: usize = 100;
/// The reason why these operations are not tools.
const NO_TOOL_REASON: &str = "owners and operators look at their agents; a model reads its own sessions";

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .needs_token(Auth::Owner)
            .no_tool(NO_TOOL_REASON)
            .description("What the agent itself is shown. Reading marks nothing as delivered or seen.")
            .path_parameter::<AgentHandle>("handle", "The agent's handle")
            .errors(Class::NotFound, &["not_found"])
    };
    let list_doc = doc("agent.sessions", "/_admin/agents/{handle}/sessions", "List an agent's sessions")
        .query::<ListQuery>()
        .reply::<SessionList>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_limit", "invalid_cursor", "invalid_query"]);
    let show_doc =
        doc("agent.session", "/_admin/agents/{handle}/sessions/{id}", "Show a session of an agent")
            .path_parameter::<SessionId>("id", "The session.")
            .reply::<SessionView>();
    let events_doc = doc(
        "agent.session_events",
        "/_admin/agents/{handle}/sessions/{id}/events",
        "Read the events that an agent may read of a session",
    )
    .path_parameter::<SessionId>("id", "The session.")
    .query::<EventsQuery>()
    .reply::<EventPage>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_after_sequence", "invalid_limit", "invalid_query"]);
    let all_doc = OperationDoc::new(
        "owner.sessions",
        Method::GET,
        "/_admin/sessions",
        "List the sessions of all of an owner's agents",
    )
    .auth(Auth::Owner)
    .no_tool(NO_TOOL_REASON)
    .description(
        "Newest first, each session once, as the agent sees it that sees most of it; the operator may leave out \
         `owner`. Reading marks nothing as delivered or seen.",
    )
    .query::<OwnedQuery>()
    .reply::<OwnedSessionList>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_limit", "invalid_cursor", "invalid_query"])
    .errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
    .errors(Class::NotFound, &["not_found"]);
    vec![
        of_account(),
        list_doc.handled_by(list),
        show_doc.handled_by(show),
        events_doc.handled_by(events),
        all_doc.handled_by(all),
    ]
}

/// The list of an owner's sessions for RobotNet's command line.
fn of_account() -> Operation<Sessions> {
    let doc = OperationDoc::new(
        "account.sessions",
        Method::GET,
        "/accounts/me/sessions",
        "List the sessions of all of the owner's agents",
    )
    .needs_token(Auth::Owner)
    .no_tool(NO_TOOL_REASON)
    .description(
        "With an owner's token, in the members of RobotNet's command line. Newest first. A page may have fewer sessions \
         than `limit`, or none.",
    )
    .query::<AccountQuery>()
    .reply::<AccountSessionList>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_limit", "invalid_cursor", "invalid_query"])
    .errors(Class::NotFound, &["not_found"]);
    doc.handled_by(account)
}

/// The query of `GET /_admin/sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
struct OwnedQuery {
    /// The owner; for the operator, all owners when absent.
    owner: Option<OwnerName>,
    /// Maximum number; 1000 when absent, at most 1000.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIST_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. `cursor`, its name in most lists, is accepted too.
    #[serde(alias = "cursor")]
    before: Option<String>,
}

/// The query of `GET /accounts/me/sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AccountQuery {
    /// `active` or `ended`; both when absent.
    #[schemars(with = "Option<String>")]
    state: Option<Phase>,
    /// Maximum number; 50 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = ACCOUNT_PAGE_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

async fn account(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    query: Result<Query<AccountQuery>, QueryRejection>,
) -> Answer {
    let TokenOwner::Owner(owner) = principal.who else {
        return Err(Refusal::not_found().into());
    };
    let query = read(query)?;
    let limit = limit(query.limit.as_deref(), ACCOUNT_PAGE_DEFAULT, ACCOUNT_PAGE_MAX)?;
    let before = cursor("cursor", query.cursor)?;
    let list = sessions.list_owned(Some(&owner), before.as_deref(), limit).await?;
    Ok(Json(AccountSessionList::new(list, query.state)).into_response())
}

async fn all(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    query: Result<Query<OwnedQuery>, QueryRejection>,
) -> Answer {
    if matches!(principal.who, TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let query = read(query)?;
    let owner = match (&principal.who, query.owner) {
        (TokenOwner::Operator, None) => None,
        (TokenOwner::Operator, Some(owner)) => {
            let exists = sessions.accounts().fresh_owner(&owner).await?.state.exists();
            Some(owner).filter(|_| exists).map(Some).ok_or_else(Refusal::not_found)?
        }
        (TokenOwner::Owner(own), requested)
            if requested.as_ref().is_none_or(|requested| requested == own) =>
        {
            Some(own.clone())
        }
        (TokenOwner::Owner(_) | TokenOwner::Agent(_), _) => return Err(Refusal::not_found().into()),
    };
    let limit = limit(query.limit.as_deref(), LIST_MAX, LIST_MAX)?;
    let before = cursor("before", query.before)?;
    let list = sessions.list_owned(owner.as_ref(), before.as_deref(), limit).await?;
    Ok(Json(list).into_response())
}

async fn list(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    Path(handle): Path<String>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Answer {
    let agent = overseen(&sessions.0.accounts, &principal, &handle).await?;
    Ok(Json(list_of(&sessions, &agent, query).await?).into_response())
}

async fn show(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    Path((handle, id)): Path<(String, String)>,
) -> Answer {
    let agent = overseen(&sessions.0.accounts, &principal, &handle).await?;
    Ok(Json(show_of(&sessions, &agent, &id).await?).into_response())
}

async fn events(
    State(sessions): State<Sessions>,
    Caller(principal): Caller,
    Path((handle, id)): Path<(String, String)>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Answer {
    let agent = overseen(&sessions.0.accounts, &principal, &handle).await?;
    Ok(Json(events_of(&sessions, &agent, &id, query).await?).into_response())
}
