//! Sessions: begin, end, find by callsign (section 5.5, wire.md D.7).

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_edge::{Operation, Received};
use plenary_kernel::Class;

use super::{
    Bearer, Path,
    bodies::{NEW_SESSION, SESSION_END},
    by, in_project,
    queries::SESSIONS,
    value_or_empty, writing,
};
use crate::{
    Context,
    cursor::is_by_time,
    key,
    lifecycle::ActorType,
    moment::Moment,
    naming::Place,
    parameters::{Parameters, cursor},
    refusals::Refused,
    rejection::Rejection,
    session::{
        callsign::callsign,
        command::{EndSession, StartSession},
    },
    shape::extensions,
    wire::{Session, Sessions},
};

pub(super) fn operations() -> Vec<Operation<Context>> {
    let (sessions, session) =
        ("/v1/projects/{project_id}/sessions", "/v1/projects/{project_id}/sessions/{session_id}");
    let start_doc = writing(
        in_project("context.start_session", Method::POST, sessions, "Begin a session")
            .action("context", "context_sessions"),
    )
    .success(StatusCode::CREATED)
    .optional_body(&NEW_SESSION)
    .reply::<Session>();
    let list_doc = in_project("context.sessions", Method::GET, sessions, "List sessions, newest first")
        .action("context", "context_sessions")
        .parameters(&SESSIONS)
        .reply::<Sessions>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"]);
    let get_doc = in_project("context.session", Method::GET, session, "Show a session")
        .action("context", "context_sessions")
        .reply::<Session>()
        .errors(Class::NotFound, &["session_not_found"]);
    let end_doc = writing(
        in_project("context.end_session", Method::PATCH, session, "End a session")
            .action("context", "context_sessions"),
    )
    .optional_body(&SESSION_END)
    .reply::<Session>()
    .errors(Class::NotFound, &["session_not_found"])
    .errors(Class::Conflict, &["session_ended"]);
    vec![
        Operation::new(start_doc, start),
        Operation::new(list_doc, list),
        Operation::new(get_doc, get),
        Operation::new(end_doc, end),
    ]
}

async fn start(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    received: Received,
) -> Result<(StatusCode, Json<Session>), Refused> {
    let body = value_or_empty(received)?;
    let sent = by(&NEW_SESSION, &body)?;
    let bits = u128::from(context.clock().stamp().ulid(0));
    let command = StartSession {
        authority,
        session_id: format!("sess_{bits:032x}"),
        callsign: callsign(bits),
        actor_id: sent.string("actor_id"),
        actor_type: sent.text("actor_type").and_then(|word| ActorType::parse(&word)),
        extensions: extensions(&body)?,
        attribution: context.config().attribution,
    };
    let Place { key: project, .. } = context.place(&command.authority.by, &project_id, None).await?;
    let session_id = context.start_session(&project, &command).await?;
    let session = context.session(&project, &key::part(&session_id)).await?;
    Ok((StatusCode::CREATED, Json(session.ok_or(Rejection::SessionNotFound)?)))
}

async fn list(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Sessions>, Refused> {
    let sent = parameters.read(&SESSIONS)?;
    let limit = sent.count("limit").unwrap_or(100);
    let (callsign, cursor) = (sent.get("callsign"), cursor(&sent, is_by_time)?);
    let (project, _) = context.readable(&project_id, &authority.by).await?;
    Ok(Json(context.sessions(&project, callsign, cursor, limit).await?))
}

async fn get(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, session_id)): Path<(String, String)>,
) -> Result<Json<Session>, Refused> {
    let (project, _) = context.readable(&project_id, &authority.by).await?;
    let session = context.session(&project, &key::part(&session_id)).await?;
    Ok(Json(session.ok_or(Rejection::SessionNotFound)?))
}

async fn end(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, session_id)): Path<(String, String)>,
    received: Received,
) -> Result<Json<Session>, Refused> {
    let body = value_or_empty(received)?;
    let ended_at = by(&SESSION_END, &body)?.text("ended_at").and_then(|text| Moment::parse(&text));
    let Place { key: project, .. } = context.place(&authority.by, &project_id, None).await?;
    let session = key::part(&session_id);
    let (extensions, attribution) = (extensions(&body)?, context.config().attribution);
    let command = EndSession { authority, ended_at, extensions, attribution };
    context.end_session((&project, &session), &command).await?;
    let session = context.session(&project, &session).await?;
    Ok(Json(session.ok_or(Rejection::SessionNotFound)?))
}
