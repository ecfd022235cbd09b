//! The public operations of the Agent Session Protocol: parse, ask, translate the answer (wire.md 2.2).

use axum::{
    Extension, Json, Router,
    extract::{FromRef, Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use plenary_accounts::{Accounts, Acting, AgentCaller};
use plenary_edge::{Metrics, Operation, OperationDoc, Received, RegistryFault, StrictJson};
use plenary_engine::{Done, KeyUse};
use plenary_kernel::{Class, Refusal, SessionId};
use plenary_shape::{Raw, Sent, Shape};
use serde::Serialize;

use crate::{
    Sessions,
    command::{
        Caller, CreateSession, EndSession, InviteAgents, Invited, JoinSession, LeaveSession, MessageAccepted,
        Ok as Okay, ReopenSession, SendMessage, SessionOpened,
    },
    refusals::Refused,
    request::{self, CREATE, INVITE, REOPEN, SEND, digest},
};

mod reading;
mod searching;

impl FromRef<Sessions> for Accounts {
    fn from_ref(sessions: &Sessions) -> Self {
        sessions.0.accounts.clone()
    }
}

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

type Answer = Result<Response, Refused>;

/// The routes of this room.
pub fn routes(sessions: Sessions, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(sessions))
}

/// The operations of this room.
#[must_use]
pub fn operations() -> Vec<Operation<Sessions>> {
    [beginning(), reading::operations(), searching::operations(), taking_part(), ending()]
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
            "The creator is joined, every invitee is invited. One unreachable invitee refuses the whole with 404.",
        )
        .optional_body(&CREATE)
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
                "invalid_end_after_send",
                "end_after_send_requires_initial_message",
                "invalid_idempotency_key",
            ],
        )
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::Conflict, &["idempotency_key_reused"])
        .errors(Class::TooMany, &["too_many_invitations"]);
    let reopen_doc =
        of_session("session.reopen", Method::POST, "/sessions/{id}/reopen", "Reopen an ended session")
            .action("sessions", "session")
            .optional_body(&REOPEN)
            .reply::<Okay>()
            .errors(
                Class::Malformed,
                &["invalid_json", "invalid_body", "invalid_invite", "invalid_initial_message"],
            )
            .errors(Class::Conflict, &["session_active", "not_reopenable", "session_full"]);
    vec![Operation::new(create_doc, create), Operation::new(reopen_doc, reopen)]
}

fn taking_part() -> Vec<Operation<Sessions>> {
    let join_doc =
        of_session("session.join", Method::POST, "/sessions/{id}/join", "Join a session you are invited to")
            .action("sessions", "session")
            .reply::<Okay>()
            .errors(Class::Conflict, &["not_joined", "session_ended"]);
    let invite_doc = of_session("session.invite", Method::POST, "/sessions/{id}/invite", "Invite agents")
        .action("sessions", "session")
        .description("Each invitee on its own; 404 when trust denies some and nobody is invited.")
        .body(&INVITE)
        .reply::<Invited>()
        .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_invite"])
        .errors(Class::Conflict, &["not_joined", "session_ended", "session_full"])
        .errors(Class::TooMany, &["too_many_invitations"]);
    let send_doc = of_session("session.send", Method::POST, "/sessions/{id}/messages", "Send a message")
        .tool("sessions")
        .body(&SEND)
        .reply::<MessageAccepted>()
        .success(StatusCode::CREATED)
        .errors(
            Class::Malformed,
            &[
                "invalid_json",
                "invalid_body",
                "invalid_content",
                "invalid_metadata",
                "invalid_idempotency_key",
            ],
        )
        .errors(Class::Conflict, &["not_joined", "session_ended", "idempotency_key_reused"]);
    vec![Operation::new(join_doc, join), Operation::new(invite_doc, invite), Operation::new(send_doc, send)]
}

fn ending() -> Vec<Operation<Sessions>> {
    let doc = |id, path, summary| {
        of_session(id, Method::POST, path, summary)
            .reply::<Okay>()
            .errors(Class::Conflict, &["not_joined", "session_ended"])
    };
    vec![
        Operation::new(
            doc("session.leave", "/sessions/{id}/leave", "Leave a session").action("sessions", "session"),
            leave,
        ),
        Operation::new(
            doc("session.end", "/sessions/{id}/end", "End a session").action("sessions", "session"),
            end,
        ),
    ]
}

/// No body at all is no JSON.
fn required(body: StrictJson) -> Result<StrictJson, Refused> {
    if body.is_empty() {
        return Err(Refusal::malformed("invalid_json", "The body is empty; send a JSON object.").into());
    }
    Ok(body)
}

fn caller(caller: AgentCaller) -> Caller {
    Caller { handle: caller.handle, token: caller.token }
}

/// An id that can't be one is answered like one that nobody has.
fn session(id: &str) -> Result<SessionId, Refused> {
    id.parse().map_err(|_| Refused::new(Refusal::not_found()))
}

/// A body by its shape, and its key, for the operation and the one who asks. A key that is wrong is one more reason to
/// refuse the body.
fn read<'a>(
    shape: &'static Shape,
    operation: impl FnOnce() -> String,
    headers: &HeaderMap,
    body: &'a [u8],
) -> (Option<KeyUse>, Result<Sent<Raw<'a>>, Refusal>) {
    let Ok(header) = headers.get(IDEMPOTENCY_KEY).map(HeaderValue::to_str).transpose() else {
        let text = "`Idempotency-Key` must be visible ASCII.";
        return (None, Err(Refusal::malformed("invalid_idempotency_key", text)));
    };
    match request::read(shape, body, header) {
        Err(refusal) => (None, Err(refusal)),
        Ok((key, sent)) => {
            let used = |key| {
                let scope = operation();
                KeyUse { digest: digest(&scope, body), scope, key }
            };
            (key.map(used), sent.map_err(Refusal::from))
        }
    }
}

fn answer<T: Serialize>(status: StatusCode, done: Done<T>) -> Response {
    let mut response = (status, Json(done.reply)).into_response();
    if done.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

async fn create(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    acting: Option<Extension<Acting>>,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let body = body?;
    let (key, sent) = read(&CREATE, || format!("create/{}", agent.handle), &headers, body.bytes());
    let checked = sent.map(|sent| request::created(&sent).passed_on(acting.as_deref()));
    let command = CreateSession { caller: caller(agent), body: checked };
    let done = sessions.carry_out(&sessions.mint().await?, command, key.as_ref()).await?;
    Ok(answer(StatusCode::CREATED, done))
}

async fn send(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    acting: Option<Extension<Acting>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let body = required(body?)?;
    let id = session(&id)?;
    let (key, sent) = read(&SEND, || format!("send/{id}/{}", agent.handle), &headers, body.bytes());
    let text = key.as_ref().map(|key| key.key.as_str());
    let draft = sent.map(|sent| request::draft(&sent, text).passed_on(acting.as_deref()));
    let command = SendMessage { caller: caller(agent), draft };
    Ok(answer(StatusCode::CREATED, sessions.ask(&id, command, key.as_ref()).await?))
}

async fn invite(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    Path(id): Path<String>,
    Received(body): Received,
) -> Answer {
    let body = required(body?)?;
    let sent = INVITE.read_body(body.bytes()).map_err(Refusal::from);
    let invite = sent.map(|sent| request::invitees(&sent).unwrap_or_default());
    let command = InviteAgents { caller: caller(agent), invite };
    Ok(answer(StatusCode::OK, sessions.ask(&session(&id)?, command, None).await?))
}

async fn reopen(
    State(sessions): State<Sessions>,
    agent: AgentCaller,
    acting: Option<Extension<Acting>>,
    Path(id): Path<String>,
    Received(body): Received,
) -> Answer {
    let body = body?;
    let sent = REOPEN.read_body(body.bytes()).map_err(Refusal::from);
    let checked = sent.map(|sent| request::reopened(&sent).passed_on(acting.as_deref()));
    let command = ReopenSession { caller: caller(agent), body: checked };
    Ok(answer(StatusCode::OK, sessions.ask(&session(&id)?, command, None).await?))
}

macro_rules! bodiless {
    ($name:ident, $command:ident) => {
        /// Takes no body; one that is there must still be JSON.
        async fn $name(
            State(sessions): State<Sessions>,
            agent: AgentCaller,
            Path(id): Path<String>,
            Received(body): Received,
        ) -> Answer {
            body?;
            let command = $command(caller(agent));
            Ok(answer(StatusCode::OK, sessions.ask(&session(&id)?, command, None).await?))
        }
    };
}

bodiless!(join, JoinSession);
bodiless!(leave, LeaveSession);
bodiless!(end, EndSession);
