//! The public operations of the Agent Session Protocol: parse, ask, translate the answer (wire.md 2.2).

use axum::{
    Extension, Json, Router,
    extract::{FromRef, Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use plenary_accounts::{Accounts, Acting, AgentCaller};
use plenary_edge::{Metrics, Operation, OperationDoc, Received, RegistryFault, StrictJson};
use plenary_engine::{Done, KeyUse};
use plenary_kernel::{Class, ErrorCode, Refusal, SessionId};
use plenary_wire::sessions;
use serde::Serialize;

use crate::{
    Sessions,
    command::{
        Caller, CreateSession, EndSession, InviteAgents, JoinSession, LeaveSession, ReopenSession,
        SendMessage,
    },
    refusals::Refused,
    request::{CreateRequest, Fields, InviteRequest, MessageRequest, ReopenRequest, digest},
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

fn of_session(doc: OperationDoc) -> OperationDoc {
    doc.path_parameter::<SessionId>("id", "The session.").errors(Class::NotFound, &[ErrorCode::NotFound])
}

fn beginning() -> Vec<Operation<Sessions>> {
    let create_doc = OperationDoc::of(&sessions::CREATE, "Create a session")
        .tool("sessions")
        .description(
            "The creator is joined, every invitee is invited. One unreachable invitee refuses the whole with 404.",
        )
        .optional_request::<CreateRequest>()
        .success(StatusCode::CREATED)
        .errors(
            Class::Malformed,
            &[
                ErrorCode::InvalidJson,
                ErrorCode::InvalidBody,
                ErrorCode::InvalidInvite,
                ErrorCode::InvalidTopic,
                ErrorCode::InvalidInitialMessage,
                ErrorCode::InvalidMetadata,
                ErrorCode::InvalidEndAfterSend,
                ErrorCode::EndAfterSendRequiresInitialMessage,
                ErrorCode::InvalidIdempotencyKey,
            ],
        )
        .errors(Class::NotFound, &[ErrorCode::NotFound])
        .errors(Class::Conflict, &[ErrorCode::IdempotencyKeyReused])
        .errors(Class::TooMany, &[ErrorCode::TooManyInvitations]);
    let reopen_doc = of_session(OperationDoc::of(&sessions::REOPEN, "Reopen an ended session"))
        .action("sessions", "session")
        .optional_request::<ReopenRequest>()
        .errors(
            Class::Malformed,
            &[
                ErrorCode::InvalidJson,
                ErrorCode::InvalidBody,
                ErrorCode::InvalidInvite,
                ErrorCode::InvalidInitialMessage,
            ],
        )
        .errors(
            Class::Conflict,
            &[ErrorCode::SessionActive, ErrorCode::NotReopenable, ErrorCode::SessionFull],
        );
    vec![Operation::new(create_doc, create), Operation::new(reopen_doc, reopen)]
}

fn taking_part() -> Vec<Operation<Sessions>> {
    let join_doc = of_session(OperationDoc::of(&sessions::JOIN, "Join a session you are invited to"))
        .action("sessions", "session")
        .errors(Class::Conflict, &[ErrorCode::NotJoined, ErrorCode::SessionEnded]);
    let invite_doc = of_session(OperationDoc::of(&sessions::INVITE, "Invite agents"))
        .action("sessions", "session")
        .description("Each invitee on its own; 404 when trust denies some and nobody is invited.")
        .request::<InviteRequest>()
        .errors(Class::Malformed, &[ErrorCode::InvalidJson, ErrorCode::InvalidBody, ErrorCode::InvalidInvite])
        .errors(Class::Conflict, &[ErrorCode::NotJoined, ErrorCode::SessionEnded, ErrorCode::SessionFull])
        .errors(Class::TooMany, &[ErrorCode::TooManyInvitations]);
    let send_doc = of_session(OperationDoc::of(&sessions::SEND, "Send a message"))
        .tool("sessions")
        .request::<MessageRequest>()
        .success(StatusCode::CREATED)
        .errors(
            Class::Malformed,
            &[
                ErrorCode::InvalidJson,
                ErrorCode::InvalidBody,
                ErrorCode::InvalidContent,
                ErrorCode::InvalidMetadata,
                ErrorCode::InvalidIdempotencyKey,
            ],
        )
        .errors(
            Class::Conflict,
            &[ErrorCode::NotJoined, ErrorCode::SessionEnded, ErrorCode::IdempotencyKeyReused],
        );
    vec![Operation::new(join_doc, join), Operation::new(invite_doc, invite), Operation::new(send_doc, send)]
}

fn ending() -> Vec<Operation<Sessions>> {
    let doc = |doc: OperationDoc| {
        of_session(doc).errors(Class::Conflict, &[ErrorCode::NotJoined, ErrorCode::SessionEnded])
    };
    vec![
        Operation::new(
            doc(OperationDoc::of(&sessions::LEAVE, "Leave a session")).action("sessions", "session"),
            leave,
        ),
        Operation::new(
            doc(OperationDoc::of(&sessions::END, "End a session")).action("sessions", "session"),
            end,
        ),
    ]
}

/// No body at all is no JSON.
fn required(body: StrictJson) -> Result<StrictJson, Refused> {
    if body.is_empty() {
        return Err(
            Refusal::malformed(ErrorCode::InvalidJson, "The body is empty; send a JSON object.").into()
        );
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

/// The key of a request, for the operation and the one who asks.
fn key(
    operation: impl FnOnce() -> String,
    fields: &Fields<'_>,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Option<KeyUse>, Refusal> {
    let header = match headers.get(IDEMPOTENCY_KEY).map(HeaderValue::to_str).transpose() {
        Ok(header) => header,
        Err(_) => {
            return Err(Refusal::malformed(
                ErrorCode::InvalidIdempotencyKey,
                "`Idempotency-Key` must be visible ASCII.",
            ));
        }
    };
    let Some(key) = fields.key(header)? else { return Ok(None) };
    let operation = operation();
    let digest = digest(&operation, body);
    Ok(Some(KeyUse { scope: operation, key, digest }))
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
    let read = Fields::read(body.bytes());
    let fields = read.as_ref().map_err(Clone::clone);
    let key =
        fields.clone().and_then(|f| key(|| format!("create/{}", agent.handle), f, &headers, body.bytes()));
    // A key that is wrong is one more reason to refuse the body.
    let (key, checked) = match key {
        Ok(key) => (key, fields.and_then(Fields::create).map(|body| body.passed_on(acting.as_deref()))),
        Err(refusal) => (None, Err(refusal)),
    };
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
    let read = Fields::read(body.bytes());
    let fields = read.as_ref().map_err(Clone::clone);
    let scope = || format!("send/{id}/{}", agent.handle);
    let key = fields.clone().and_then(|fields| key(scope, fields, &headers, body.bytes()));
    let (key, draft) = match key {
        Ok(key) => {
            let text = key.as_ref().map(|key| key.key.as_str());
            let draft = fields.and_then(|fields| fields.message(text));
            (key, draft.map(|draft| draft.passed_on(acting.as_deref())))
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
    Received(body): Received,
) -> Answer {
    let body = required(body?)?;
    let invite = Fields::read(body.bytes()).and_then(|fields| fields.invitees());
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
    let checked = Fields::read(body.bytes()).and_then(|fields| fields.reopen());
    let checked = checked.map(|body| body.passed_on(acting.as_deref()));
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
