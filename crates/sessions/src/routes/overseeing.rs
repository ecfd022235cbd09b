//! The sessions of an agent as its owner and the operator read them: what the agent is shown, no more, and without a mark.
//! The paths of the protocol itself are for agents alone (wire.md D.9).
//! Must not know: how a session changes.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse as _,
};
use http::Method;
use plenary_accounts::{Caller, overseen};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, SessionId};

use super::{
    Answer,
    reading::{EventsQuery, ListQuery, events_of, list_of, show_of},
};
use crate::{
    Sessions,
    views::{EventPage, SessionList, SessionView},
};

/// Why they are no tools.
const LOOKED_AT: &str = "owners and operators look at their agents; a model reads its own sessions";

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let doc = |id, path, summary| {
        OperationDoc::new(id, Method::GET, path, summary)
            .auth(Auth::Owner)
            .no_tool(LOOKED_AT)
            .description("What the agent itself is shown. Reading marks nothing as delivered or seen.")
            .path_parameter::<AgentHandle>("handle", "The agent's handle")
            .errors(Class::Unauthenticated, &["missing_authorization", "invalid_authorization"])
            .errors(Class::NotFound, &["not_found"])
    };
    let list_doc = doc("agent.sessions", "/_admin/agents/{handle}/sessions", "List an agent's sessions")
        .query::<ListQuery>()
        .reply::<SessionList>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_limit", "invalid_query"]);
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
    vec![Operation::new(list_doc, list), Operation::new(show_doc, show), Operation::new(events_doc, events)]
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
