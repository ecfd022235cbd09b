//! The public operations of the Agent Session Protocol: parse, call, translate the answer (wire.md 2.2).

use axum::{
    Extension, Json, Router,
    extract::{FromRef, Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use plenary_accounts::{Accounts, AgentCaller, HostedIdentity};
use plenary_edge::{JsonBody, Metrics, Operation, OperationDoc, RegistryFault, StrictJson};
use plenary_engine::{Executed, KeyUse};
use plenary_kernel::{Class, Refusal, SessionId};
use serde::Serialize;

use crate::{
    Sessions,
    command::{
        Acknowledgement as Okay, Caller, CreateSession, EndSession, InviteAgents, InviteReceipt, JoinSession,
        LeaveSession, MessageAccepted, ReopenBody, ReopenSession, SendMessage, SessionOpened,
    },
    files,
    refusals::SessionRefusal,
    request::{CreateRequest, Fields, InviteRequest, MessageRequest, ReopenRequest, digest, header_key},
};

mod oversight;
mod queries;
mod search;

impl FromRef<Sessions> for Accounts {
    fn from_ref(sessions: &Sessions) -> Self {
        sessions.0.accounts.clone()
    }
}

/// The refusal code when the peer that hosts the session did not answer.
const HOST_AWAY: &[&str] = &["peer_unreachable"];

/// The refusal code when a message, or a file that it names, is too large for that peer.
const TOO_LARGE: &[&str] = &["body_too_large"];
/// The refusal code when that peer stores no files.
const NO_FILES: &[&str] = &["not_implemented"];

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

type Answer = Result<Response, SessionRefusal>;

/// The routes of this room.
pub fn routes(sessions: Sessions, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(sessions))
}

/// The operations of this room.
pub fn operations() -> Vec<Operation<Sessions>> {
    [
        beginning(),
        queries::operations(),
        oversight::operations(),
        search::operations(),
        taking_part(),
        ending(),
        files::routes::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_session(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .path_parameter::<SessionId>("id", "The session.")
        .errors(Class::NotFound, &["not_found"])
}

fn beginning() -> Vec<Operation<Sessions>> {
    let create_doc = OperationDoc::new("session.create", Method::POST, "/sessions", "Create a session")
        .tool("sessions")
        .description(
            "The creator is joined, every invitee is invited. If one invitee cannot be invited, the request is refused with 404.",
        )
        .optional_request::<CreateRequest>()
        .reply::<SessionOpened>()
        .success(StatusCode::CREATED)
        .errors(
            Class::Malformed,
            &[
                "invalid_json",
                "invalid_body",
                "invalid_invite",
                "invalid_topic",
                "invalid_initial_message",
                "invalid_metadata",
                "unknown_file",
                "invalid_end_after_send",
                "end_after_send_requires_initial_message",
                "invalid_idempotency_key",
            ],
        )
        .errors(Class::NotFound, &["not_found"])
        .errors(
            Class::Conflict,
            &["idempotency_key_reused", "file_named_too_often"],
        )
        .errors(Class::TooMany, &["too_many_invitations"])
        .errors(Class::Unavailable, HOST_AWAY);
    let reopen_doc =
        of_session("session.reopen", Method::POST, "/sessions/{id}/reopen", "Reopen an ended session")
            .action("sessions", "session")
            .optional_request::<ReopenRequest>()
            .reply::<Okay>()
            .errors(
                Class::Malformed,
                &[
                    "invalid_json",
                    "invalid_body",
                    "invalid_invite",
                    "invalid_initial_message",
                    "invalid_metadata",
                    "unknown_file",
                ],
            )
            .errors(
                Class::Conflict,
                &[
                    "session_active",
                    "not_reopenable",
                    "invitation_held",
                    "session_full",
                    "file_named_too_often",
                ],
            )
            .errors(Class::TooLarge, TOO_LARGE)
            .errors(Class::TooMany, &["too_many_uploads"])
            .errors(Class::NotImplemented, NO_FILES)
            .errors(Class::Unavailable, HOST_AWAY);
    vec![create_doc.handled_by(create), reopen_doc.handled_by(reopen)]
}

fn taking_part() -> Vec<Operation<Sessions>> {
    let join_doc =
        of_session("session.join", Method::POST, "/sessions/{id}/join", "Join a session you are invited to")
            .action("sessions", "session")
            .reply::<Okay>()
            .errors(Class::Malformed, &["invalid_json"])
            .errors(Class::Conflict, &["not_joined", "session_ended", "invitation_held"])
            .errors(Class::Unavailable, HOST_AWAY);
    let invite_doc = of_session("session.invite", Method::POST, "/sessions/{id}/invite", "Invite agents")
        .action("sessions", "session")
        .description("Each invitee is handled separately; 404 if trust denies some and no agent is invited.")
        .request::<InviteRequest>()
        .reply::<InviteReceipt>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_invite"])
        .errors(Class::Conflict, &["not_joined", "session_ended", "session_full"])
        .errors(Class::TooMany, &["too_many_invitations"])
        .errors(Class::Unavailable, HOST_AWAY);
    let send_doc = of_session("session.send", Method::POST, "/sessions/{id}/messages", "Send a message")
        .tool("sessions")
        .request::<MessageRequest>()
        .reply::<MessageAccepted>()
        .success(StatusCode::CREATED)
        .errors(
            Class::Malformed,
            &[
                "invalid_json",
                "invalid_body",
                "invalid_content",
                "invalid_metadata",
                "unknown_file",
                "invalid_idempotency_key",
            ],
        )
        .errors(
            Class::Conflict,
            &["not_joined", "session_ended", "idempotency_key_reused", "file_named_too_often"],
        )
        .errors(Class::TooLarge, TOO_LARGE)
        .errors(Class::TooMany, &["too_many_uploads"])
        .errors(Class::NotImplemented, NO_FILES)
        .errors(Class::Unavailable, HOST_AWAY);
    vec![join_doc.handled_by(join), invite_doc.handled_by(invite), send_doc.handled_by(send)]
}

fn ending() -> Vec<Operation<Sessions>> {
    let doc = |id, path, summary| {
        of_session(id, Method::POST, path, summary)
            .reply::<Okay>()
            .errors(Class::Malformed, &["invalid_json"])
            .errors(Class::Conflict, &["not_joined", "session_ended"])
            .errors(Class::Unavailable, HOST_AWAY)
    };
    vec![
        doc("session.leave", "/sessions/{id}/leave", "Leave a session")
            .action("sessions", "session")
            .handled_by(leave),
        doc("session.end", "/sessions/{id}/end", "End a session")
            .action("sessions", "session")
            .handled_by(end),
    ]
}

/// Refuses an absent body: it is not JSON.
fn required_body(body: StrictJson) -> Result<StrictJson, SessionRefusal> {
    if body.is_empty() {
        return Err(Refusal::malformed("invalid_json", "The body is empty; send a JSON object.").into());
    }
    Ok(body)
}

fn caller(caller: AgentCaller) -> Caller {
    Caller { handle: caller.handle, token: caller.token }
}

/// Parses an id. An invalid id gets the same answer as an unknown one.
fn parse_session_id(id: &str) -> Result<SessionId, SessionRefusal> {
    let id: SessionId = id.parse().map_err(|_| SessionRefusal::new(Refusal::not_found()))?;
    plenary_telemetry::note_conversation(&id);
    Ok(id)
}

/// The idempotency key of a request, scoped to the operation and the caller.
fn key(
    operation: impl FnOnce() -> String,
    fields: &Fields<'_>,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Option<KeyUse>, Refusal> {
    let Some(key) = fields.key(header_key(headers)?)? else { return Ok(None) };
    let operation = operation();
    let digest = digest(&operation, body);
    Ok(Some(KeyUse { scope: operation, key, digest }))
}

pub(crate) fn answer<T: Serialize>(status: StatusCode, execution: Executed<T>) -> Response {
    let mut response = (status, Json(execution.reply)).into_response();
    if execution.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

async fn create(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    identity: Option<Extension<HostedIdentity>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = body?;
    let members = Fields::read(body.bytes());
    let fields = members.as_ref().map_err(Clone::clone);
    let key = fields
        .clone()
        .and_then(|fields| key(|| format!("create/{}", agent.handle), fields, &headers, body.bytes()));
    // An invalid key refuses the body.
    let (key, create_body) = match key {
        Ok(key) => (key, fields.and_then(Fields::create).map(|body| body.with_origin(identity.as_deref()))),
        Err(refusal) => (None, Err(refusal)),
    };
    if let Ok(body) = &create_body {
        sessions.accounts().ensure_own_person(&agent.handle, &body.invite).await?;
    }
    let invitees = create_body.as_ref().map_or(&[][..], |body| &body.invite);
    let id = sessions.mint(invitees).await?;
    let command = CreateSession { caller: caller(agent), body: create_body };
    let execution = sessions.carry_out(&id, command, key.as_ref()).await?;
    Ok(answer(StatusCode::CREATED, execution))
}

async fn send(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    identity: Option<Extension<HostedIdentity>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = required_body(body?)?;
    let id = parse_session_id(&id)?;
    let members = Fields::read(body.bytes());
    let fields = members.as_ref().map_err(Clone::clone);
    let scope = || format!("send/{id}/{}", agent.handle);
    let key = fields.clone().and_then(|fields| key(scope, fields, &headers, body.bytes()));
    let (key, draft) = match key {
        Ok(key) => {
            let text = key.as_ref().map(|key| key.key.as_str());
            let draft = fields.and_then(|fields| fields.message(text));
            (key, draft.map(|draft| draft.with_origin(identity.as_deref())))
        }
        Err(refusal) => (None, Err(refusal)),
    };
    let command = SendMessage { caller: caller(agent), draft };
    Ok(answer(StatusCode::CREATED, sessions.ask(&id, command, key.as_ref()).await?))
}

async fn invite(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    Path(id): Path<String>,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = required_body(body?)?;
    let invite = Fields::read(body.bytes()).and_then(|fields| fields.invitees());
    if let Ok(invitees) = &invite {
        sessions.accounts().ensure_own_person(&agent.handle, invitees).await?;
    }
    let command = InviteAgents { caller: caller(agent), invite };
    Ok(answer(StatusCode::OK, sessions.ask(&parse_session_id(&id)?, command, None).await?))
}

async fn reopen(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    identity: Option<Extension<HostedIdentity>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = body?;
    let reopen_body = Fields::read(body.bytes()).and_then(|fields| fields.reopen());
    let reopen_body = reopen_body.map(|body| body.with_origin(identity.as_deref()));
    if let Ok(ReopenBody { invite: Some(invitees), .. }) = &reopen_body {
        sessions.accounts().ensure_own_person(&agent.handle, invitees).await?;
    }
    let command = ReopenSession { caller: caller(agent), body: reopen_body };
    Ok(answer(StatusCode::OK, sessions.ask(&parse_session_id(&id)?, command, None).await?))
}

macro_rules! bodiless {
    ($name:ident, $command:ident) => {
        /// Takes no body, but a body that is present must be JSON.
        async fn $name(
            State(sessions): State<Sessions>,
            agent: AgentCaller,
            Path(id): Path<String>,
            JsonBody(body): JsonBody,
        ) -> Answer {
            body?;
            let command = $command(caller(agent));
            Ok(answer(StatusCode::OK, sessions.ask(&parse_session_id(&id)?, command, None).await?))
        }
    };
}

bodiless!(join, JoinSession);
bodiless!(leave, LeaveSession);
bodiless!(end, EndSession);
