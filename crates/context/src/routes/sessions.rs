//! Sessions: start, end, find by callsign (section 5.5, wire.md D.7).

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_edge::{JsonBody, Operation, members_not_null};
use plenary_kernel::{Class, json::Tree};
use schemars::JsonSchema;

use super::{Bearer, Path, in_project, optional_with_extensions, writing};
use crate::{
    Context,
    cursor::is_by_time,
    key,
    lifecycle::ActorType,
    limits::{ID_BYTES_MAX, LIST_MAX},
    parameters::Parameters,
    project_names::ResolvedProject,
    refusals::ContextRefusal,
    rejection::Rejection,
    session::{
        callsign::callsign,
        command::{EndSession, StartSession},
    },
    shape::Shape,
    wire::{Session, Sessions},
};

/// A new session.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
struct NewSession {
    /// The actor; when absent, the holder of the token.
    #[schemars(length(min = 1, max = ID_BYTES_MAX))]
    actor_id: Option<String>,
    /// What that is.
    actor_type: Option<ActorType>,
}

/// The end of a session.
#[derive(Debug, JsonSchema)]
#[schemars(transform = members_not_null)]
#[expect(dead_code, reason = "describes what `Shape` reads")]
struct SessionEnd {
    /// RFC 3339 UTC; now when absent.
    ended_at: Option<String>,
}

/// The query of a list of sessions.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct SessionQuery {
    /// Only with this callsign.
    callsign: Option<String>,
    /// 1 to 1000; 100 when absent.
    #[schemars(range(min = 1, max = LIST_MAX))]
    limit: Option<u64>,
    /// The `next_cursor` of an earlier page.
    cursor: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let (sessions, session) =
        ("/v1/projects/{project_id}/sessions", "/v1/projects/{project_id}/sessions/{session_id}");
    let start_doc = writing(
        in_project("context.start_session", Method::POST, sessions, "Start a session")
            .action("context", "context_sessions"),
    )
    .success(StatusCode::CREATED)
    .optional_request::<NewSession>()
    .reply::<Session>();
    let list_doc = in_project("context.sessions", Method::GET, sessions, "List sessions, newest first")
        .action("context", "context_sessions")
        .query::<SessionQuery>()
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
    .optional_request::<SessionEnd>()
    .reply::<Session>()
    .errors(Class::NotFound, &["session_not_found"])
    .errors(Class::Conflict, &["session_ended"]);
    vec![
        start_doc.handled_by(start),
        list_doc.handled_by(list),
        get_doc.handled_by(get),
        end_doc.handled_by(end),
    ]
}

async fn start(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    request_body: JsonBody,
) -> Result<(StatusCode, Json<Session>), ContextRefusal> {
    let (body, extensions) = optional_with_extensions(request_body)?;
    let body = Tree::from(&body);
    let shape = Shape::root(&body)?;
    let bits = u128::from(context.clock().stamp().ulid(0));
    let actor_type = match shape.text_or_null("actor_type")? {
        None => None,
        Some(_) => Some(shape.word("actor_type", ActorType::parse, "one of human, agent, script")?),
    };
    let command = StartSession {
        authority,
        session_id: format!("sess_{bits:032x}"),
        callsign: callsign(bits),
        actor_id: shape.id_or_null("actor_id")?.map(str::to_owned),
        actor_type,
        extensions,
        attribution: context.config().attribution,
    };
    let ResolvedProject { key: project, .. } =
        context.place(&command.authority.by, &project_id, None).await?;
    let session_id = context.start_session(&project, &command).await?;
    let session = context.session(&project, &key::part(&session_id)).await?;
    Ok((StatusCode::CREATED, Json(session.ok_or(Rejection::SessionNotFound)?)))
}

async fn list(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Sessions>, ContextRefusal> {
    let limit = parameters.count("limit", 100, 1, LIST_MAX)?;
    let (callsign, cursor) = (parameters.one("callsign")?, parameters.cursor(is_by_time)?);
    let (project, _) = context.readable(&project_id, &authority.by).await?;
    Ok(Json(context.sessions(&project, callsign, cursor, limit).await?))
}

async fn get(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, session_id)): Path<(String, String)>,
) -> Result<Json<Session>, ContextRefusal> {
    let (project, _) = context.readable(&project_id, &authority.by).await?;
    let session = context.session(&project, &key::part(&session_id)).await?;
    Ok(Json(session.ok_or(Rejection::SessionNotFound)?))
}

async fn end(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path((project_id, session_id)): Path<(String, String)>,
    request_body: JsonBody,
) -> Result<Json<Session>, ContextRefusal> {
    let (body, extensions) = optional_with_extensions(request_body)?;
    let body = Tree::from(&body);
    let shape = Shape::root(&body)?;
    let ended_at = shape.any("ended_at").map(|_| shape.exact_moment("ended_at")).transpose()?;
    let ResolvedProject { key: project, .. } = context.place(&authority.by, &project_id, None).await?;
    let session = key::part(&session_id);
    let attribution = context.config().attribution;
    let command = EndSession { authority, ended_at, extensions, attribution };
    context.end_session((&project, &session), &command).await?;
    let session = context.session(&project, &session).await?;
    Ok(Json(session.ok_or(Rejection::SessionNotFound)?))
}
