//! The operations that read: lists, one session, its events, the live connection (wire.md 2.2).
//! Must not know: how a session changes.

use axum::{
    Json,
    extract::{Path, State, ws::WebSocketUpgrade, ws::rejection::WebSocketUpgradeRejection},
    response::IntoResponse as _,
};
use http::{Method, StatusCode};
use plenary_accounts::{AgentCaller, ConnectCaller};
use plenary_edge::{Operation, OperationDoc, Parameters};
use plenary_kernel::{AgentHandle, Class, Refusal, SessionId, limits::PAGE_EVENTS_MAX};

use super::{Answer, of_session, session};
use crate::{
    CLIENT_FRAME_OCTETS_MAX, LIST_MAX, READ_BUFFER_OCTETS, Sessions,
    refusals::Refused,
    request::{CONNECT, EVENTS, LISTING},
    views::{EventPage, SessionList, SessionView},
    wire::Form,
};

pub(super) fn operations() -> Vec<Operation<Sessions>> {
    let list_doc = OperationDoc::new(
        "session.list",
        Method::GET,
        "/sessions",
        "List the sessions that you take or took part in",
    )
    .tool("sessions")
    .parameters(&LISTING)
    .reply::<SessionList>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_limit", "invalid_query"]);
    let show_doc = of_session("session.show", Method::GET, "/sessions/{id}", "Show a session")
        .action("sessions", "session")
        .reply::<SessionView>();
    let events_doc =
        of_session("session.events", Method::GET, "/sessions/{id}/events", "Read a session's events")
            .tool("sessions")
            .description(
                "Filtered like live delivery: joined participants get all events, others what they may see.",
            )
            .parameters(&EVENTS)
            .reply::<EventPage>()
            .answers_page()
            .errors(Class::Malformed, &["invalid_after_sequence", "invalid_limit", "invalid_query"]);
    let connect_doc = OperationDoc::new(
        "connect",
        Method::GET,
        "/connect",
        "Receive every event of your sessions over a WebSocket",
    )
    .no_tool("a WebSocket; the inbox waits for what it brings")
    .description(
        "One stream for the agent, with what it missed first. A client that can't set headers passes `?ticket=`. \
         The text frame {\"type\":\"ping\"} is answered with {\"type\":\"pong\"}.",
    )
    .parameters(&CONNECT)
    .success(StatusCode::SWITCHING_PROTOCOLS)
    .errors(Class::Malformed, &["invalid_events", "invalid_query", "websocket_required"]);
    vec![
        Operation::new(list_doc, list),
        Operation::new(show_doc, show),
        Operation::new(events_doc, events),
        Operation::new(connect_doc, connect),
    ]
}

async fn list(
    State(sessions): State<Sessions>,
    AgentCaller { handle, .. }: AgentCaller,
    parameters: Parameters,
) -> Answer {
    let sent = parameters.read(&LISTING)?;
    let limit = sent.count("limit").unwrap_or(LIST_MAX);
    Ok(Json(sessions.list(&handle, sent.get("before"), limit).await?).into_response())
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
    parameters: Parameters,
) -> Answer {
    let id = session(&id)?;
    admit(&sessions, &handle, &id).await?;
    let sent = parameters.read(&EVENTS)?;
    let after = sent.number("after_sequence").unwrap_or_default();
    let limit = sent.count("limit").unwrap_or(PAGE_EVENTS_MAX);
    Ok(Json(sessions.events(&handle, &id, after, limit).await?).into_response())
}

async fn connect(
    State(sessions): State<Sessions>,
    ConnectCaller(agent): ConnectCaller,
    parameters: Parameters,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let form = parameters.read(&CONNECT)?.get("events").and_then(Form::parse).unwrap_or(Form::Both);
    let upgrade = upgrade.map_err(|_| {
        Refusal::malformed("websocket_required", "This path speaks WebSocket; send an upgrade request.")
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
