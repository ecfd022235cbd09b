//! The operations that read: lists, one session, its events, the live connection (wire.md 2.2).
//! Must not know: how a session changes.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse as _,
};
use http::{Method, StatusCode};
use plenary_accounts::{AgentCaller, ConnectCaller};
use plenary_edge::{Handshake, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, Refusal, SessionId, limits::PAGE_EVENTS_MAX};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, of_session, parse_session_id};
use crate::{
    CLIENT_FRAME_BYTES_MAX, LIST_MAX, READ_BUFFER_BYTES, Sessions,
    refusals::SessionRefusal,
    views::{EventPage, SessionList, SessionView},
    wire::Form,
};

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let list_doc = OperationDoc::new(
        "session.list",
        Method::GET,
        "/sessions",
        "List the sessions that you participate or participated in",
    )
    .tool("sessions")
    .query::<ListQuery>()
    .reply::<SessionList>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_limit", "invalid_cursor", "invalid_query"]);
    let show_doc = of_session("session.show", Method::GET, "/sessions/{id}", "Show a session")
        .action("sessions", "session")
        .reply::<SessionView>();
    let events_doc = of_session(
        "session.events",
        Method::GET,
        "/sessions/{id}/events",
        "Read a session's events",
    )
    .tool("sessions")
    .description(
        "Joined participants get all events, others those that they may see, as in live delivery. Reading \
                 marks nothing as delivered or seen.",
    )
    .query::<EventsQuery>()
    .reply::<EventPage>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_after_sequence", "invalid_limit", "invalid_query"]);
    let connect_doc = OperationDoc::new(
        "connect",
        Method::GET,
        "/connect",
        "Receive every event of your sessions over a WebSocket",
    )
    .no_tool("a WebSocket; the tool inbox waits for the same events")
    .acts()
    .description(
        "One stream for the agent, which starts with missed events. A client that cannot set headers passes `?ticket=`. \
         The text frame {\"type\":\"ping\"} is answered with {\"type\":\"pong\"}.",
    )
    .query::<ConnectQuery>()
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .or_refusal(StatusCode::UPGRADE_REQUIRED)
    .errors(Class::Malformed, &["invalid_events", "invalid_query", "websocket_required"]);
    vec![
        list_doc.handled_by(list),
        show_doc.handled_by(show),
        events_doc.handled_by(events),
        connect_doc.handled_by(connect),
    ]
}

/// The query of `GET /sessions`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct ListQuery {
    /// Maximum number; 1000 when absent, at most 1000.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIST_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. `cursor`, its name in most lists, is accepted too.
    #[serde(alias = "cursor")]
    before: Option<String>,
}

/// The query of `GET /sessions/{id}/events`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct EventsQuery {
    /// Only events after this one; 0 when absent.
    #[schemars(with = "Option<u64>")]
    after_sequence: Option<String>,
    /// Maximum number; 1000 when absent, at most 1000.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIST_MAX))]
    limit: Option<String>,
}

/// The query of `GET /connect`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ConnectQuery {
    /// `envelope` or `flat`; both forms together when absent.
    events: Option<String>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    #[expect(dead_code, reason = "read where the caller is")]
    ticket: Option<String>,
}

/// A query that says each thing once.
pub(super) fn read<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, SessionRefusal> {
    let unreadable = |_| {
        let text = "The query cannot be read: send each parameter once, as text.";
        SessionRefusal::from(Refusal::malformed("invalid_query", text))
    };
    query.map(|Query(query)| query).map_err(unreadable)
}

pub(super) fn limit(text: Option<&str>, default: usize, max: usize) -> Result<usize, SessionRefusal> {
    match text.map(str::parse) {
        None => Ok(default),
        Some(Ok(limit)) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => {
            Err(Refusal::malformed("invalid_limit", format!("`limit` must be an integer from 1 to {max}."))
                .into())
        }
    }
}

/// A session's id as the cursor of a list of sessions.
pub(super) fn cursor(name: &str, text: Option<String>) -> Result<Option<String>, Refusal> {
    match text {
        Some(text) if text.parse::<SessionId>().is_err() => {
            let text = format!("`{name}` must be the `next_cursor` of the previous page.");
            Err(Refusal::malformed("invalid_cursor", text))
        }
        text => Ok(text),
    }
}

/// A page of an agent's sessions.
pub(super) async fn list_of(
    sessions: &Sessions,
    agent: &AgentHandle,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<SessionList, SessionRefusal> {
    let query = read(query)?;
    let limit = limit(query.limit.as_deref(), LIST_MAX, LIST_MAX)?;
    let before = cursor("before", query.before)?;
    Ok(sessions.list(agent, before.as_deref(), limit).await?)
}

/// A session, for an agent that takes or took part.
pub(super) async fn show_of(
    sessions: &Sessions,
    agent: &AgentHandle,
    id: &str,
) -> Result<SessionView, SessionRefusal> {
    let id = parse_session_id(id)?;
    admit(sessions, agent, &id).await?;
    Ok(sessions.show(agent, id).await?)
}

/// A page of the events of a session that an agent may read. A stranger gets "not found" before any error about its
/// query.
pub(super) async fn events_of(
    sessions: &Sessions,
    agent: &AgentHandle,
    id: &str,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<EventPage, SessionRefusal> {
    let id = parse_session_id(id)?;
    admit(sessions, agent, &id).await?;
    let query = read(query)?;
    let after = match query.after_sequence.as_deref().map(str::parse) {
        None => 0,
        Some(Ok(after)) if i64::try_from(after).is_ok() => after,
        Some(_) => {
            let text = "`after_sequence` must be an integer of at least 0.";
            return Err(Refusal::malformed("invalid_after_sequence", text).into());
        }
    };
    let limit = limit(query.limit.as_deref(), PAGE_EVENTS_MAX, PAGE_EVENTS_MAX)?;
    Ok(sessions.events(agent, &id, after, limit).await?)
}

async fn list(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Answer {
    Ok(Json(list_of(&sessions, &handle, query).await?).into_response())
}

async fn show(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    Path(id): Path<String>,
) -> Answer {
    Ok(Json(show_of(&sessions, &handle, &id).await?).into_response())
}

async fn events(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Answer {
    Ok(Json(events_of(&sessions, &handle, &id, query).await?).into_response())
}

async fn connect(
    State(sessions): State<Sessions>,
    ConnectCaller(agent): ConnectCaller,
    query: Result<Query<ConnectQuery>, QueryRejection>,
    Handshake(upgrade): Handshake,
) -> Answer {
    let form = match read(query)?.events.as_deref() {
        None => Form::Both,
        Some(text) => Form::parse(text)
            .ok_or_else(|| Refusal::malformed("invalid_events", "`events` must be `envelope` or `flat`."))?,
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(reason) => return Ok(reason.response(|refusal| SessionRefusal::new(refusal).into_response())),
    };
    Ok(upgrade
        .max_message_size(CLIENT_FRAME_BYTES_MAX)
        .max_frame_size(CLIENT_FRAME_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .on_upgrade(move |socket| sessions.connect(agent, form, socket)))
}

/// A caller that is not a participant gets "not found".
async fn admit(sessions: &Sessions, me: &AgentHandle, id: &SessionId) -> Result<(), SessionRefusal> {
    if sessions.takes_part(me, id).await? { Ok(()) } else { Err(Refusal::not_found().into()) }
}
