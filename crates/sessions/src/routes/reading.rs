//! The operations that read: lists, one session, its events, the live connection (wire.md 2.2).
//! Must not know: how a session changes.

use axum::{
    Json,
    extract::{
        Path, Query, State, rejection::QueryRejection, ws::WebSocketUpgrade,
        ws::rejection::WebSocketUpgradeRejection,
    },
    response::IntoResponse as _,
};
use http::StatusCode;
use plenary_accounts::{AgentCaller, ConnectCaller};
use plenary_edge::{Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, ErrorCode, Refusal, SessionId, limits::PAGE_EVENTS_MAX};
use plenary_wire::sessions;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, of_session, session};
use crate::{CLIENT_FRAME_OCTETS_MAX, LIST_MAX, READ_BUFFER_OCTETS, Sessions, refusals::Refused, wire::Form};

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let list_doc = OperationDoc::of(&sessions::LIST, "List the sessions that you take or took part in")
        .tool("sessions")
        .query::<ListQuery>()
        .answers_page()
        .errors(Class::Malformed, &[ErrorCode::InvalidLimit, ErrorCode::InvalidQuery]);
    let show_doc =
        of_session(OperationDoc::of(&sessions::SHOW, "Show a session")).action("sessions", "session");
    let events_doc = of_session(OperationDoc::of(&sessions::EVENTS, "Read a session's events"))
        .tool("sessions")
        .description(
            "Filtered like live delivery: joined participants get all events, others what they may see.",
        )
        .query::<EventsQuery>()
        .answers_page()
        .errors(
            Class::Malformed,
            &[ErrorCode::InvalidAfterSequence, ErrorCode::InvalidLimit, ErrorCode::InvalidQuery],
        );
    let connect_doc = OperationDoc::of(&sessions::CONNECT, "Receive every event of your sessions over a WebSocket")
    .no_tool("a WebSocket; the inbox waits for what it brings")
    .description(
        "One stream for the agent, with what it missed first. A client that can't set headers passes `?ticket=`. \
         The text frame {\"type\":\"ping\"} is answered with {\"type\":\"pong\"}.",
    )
    .query::<ConnectQuery>()
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .errors(Class::Malformed, &[ErrorCode::InvalidEvents, ErrorCode::InvalidQuery, ErrorCode::WebsocketRequired]);
    vec![
        Operation::new(list_doc, list),
        Operation::new(show_doc, show),
        Operation::new(events_doc, events),
        Operation::new(connect_doc, connect),
    ]
}

/// The query of `GET /sessions`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListQuery {
    /// How many; 1000 when absent, at most 1000.
    #[schemars(with = "Option<u64>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    before: Option<String>,
}

/// The query of `GET /sessions/{id}/events`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// Only events behind this one; 0 when absent.
    #[schemars(with = "Option<u64>")]
    after_sequence: Option<String>,
    /// How many; 1000 when absent, at most 1000.
    #[schemars(with = "Option<u64>", range(min = 1, max = 1000))]
    limit: Option<String>,
}

/// The query of `GET /connect`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ConnectQuery {
    /// `envelope` or `flat`; both at once when absent.
    events: Option<String>,
    /// From `POST /auth/ticket`, for clients that can't set headers.
    #[expect(dead_code, reason = "read where the caller is")]
    ticket: Option<String>,
}

/// A query that says each thing once.
pub(super) fn read<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refused> {
    let unreadable = |_| {
        let text = "The query can't be read: send each parameter once, as text.";
        Refused::from(Refusal::malformed(ErrorCode::InvalidQuery, text))
    };
    query.map(|Query(query)| query).map_err(unreadable)
}

pub(super) fn limit(text: Option<&str>, default: usize, max: usize) -> Result<usize, Refused> {
    match text.map(str::parse) {
        None => Ok(default),
        Some(Ok(limit)) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => Err(Refusal::malformed(
            ErrorCode::InvalidLimit,
            format!("`limit` must be an integer from 1 to {max}."),
        )
        .into()),
    }
}

async fn list(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Answer {
    let query = read(query)?;
    let limit = limit(query.limit.as_deref(), LIST_MAX, LIST_MAX)?;
    Ok(Json(sessions.list(&handle, query.before.as_deref(), limit).await?).into_response())
}

async fn show(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    Path(id): Path<String>,
) -> Answer {
    let id = session(&id)?;
    admit(&sessions, &handle, &id).await?;
    Ok(Json(sessions.show(&handle, id).await?).into_response())
}

async fn events(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
) -> Answer {
    let id = session(&id)?;
    admit(&sessions, &handle, &id).await?;
    let query = read(query)?;
    let after = match query.after_sequence.as_deref().map(str::parse) {
        None => 0,
        Some(Ok(after)) if i64::try_from(after).is_ok() => after,
        Some(_) => {
            let text = "`after_sequence` must be an integer of at least 0.";
            return Err(Refusal::malformed(ErrorCode::InvalidAfterSequence, text).into());
        }
    };
    let limit = limit(query.limit.as_deref(), PAGE_EVENTS_MAX, PAGE_EVENTS_MAX)?;
    Ok(Json(sessions.events(&handle, &id, after, limit).await?).into_response())
}

async fn connect(
    State(sessions): State<Sessions>,
    ConnectCaller(agent): ConnectCaller,
    query: Result<Query<ConnectQuery>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let form = match read(query)?.events.as_deref() {
        None => Form::Both,
        Some(text) => Form::parse(text).ok_or_else(|| {
            Refusal::malformed(ErrorCode::InvalidEvents, "`events` must be `envelope` or `flat`.")
        })?,
    };
    let upgrade = upgrade.map_err(|_| {
        Refusal::malformed(
            ErrorCode::WebsocketRequired,
            "This path speaks WebSocket; send an upgrade request.",
        )
    })?;
    Ok(upgrade
        .max_message_size(CLIENT_FRAME_OCTETS_MAX)
        .max_frame_size(CLIENT_FRAME_OCTETS_MAX)
        .read_buffer_size(READ_BUFFER_OCTETS)
        .on_upgrade(move |socket| sessions.connect(agent, form, socket)))
}

/// A stranger is told "not found" before anything about its query.
async fn admit(sessions: &Sessions, me: &AgentHandle, id: &SessionId) -> Result<(), Refused> {
    if sessions.takes_part(me, id).await? { Ok(()) } else { Err(Refusal::not_found().into()) }
}
