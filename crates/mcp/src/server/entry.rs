//! The first check of every request to `/mcp`: its origin, its caller, and whether it is a valid message.
//! Must not know: the content of a message.

use std::{collections::HashMap, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header, request::Parts};
use plenary_accounts::{Credentials, MissingScope, Principal, identify};
use plenary_edge::{Peer, read_bytes};
use plenary_kernel::{Class, Refusal};
use plenary_telemetry::{
    conventions::{EXECUTE_TOOL, MCP_METHOD, OPERATION_NAME, SPAN_KIND, TOOL_NAME},
    note,
};
use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use super::{
    MESSAGE_BYTES_MAX, Mcp, ROOM_TRIES_MAX,
    changes::{Callers, Follower, Mark, only},
    envelope::{Envelope, INVALID_PARAMS, INVALID_REQUEST, REFUSED, refusal, with_error_body},
    handler::known_method,
    leased::LeasedBody,
    metadata::challenge,
    registry::{Holder, Lease, SessionSlot},
    scope_challenge::stepped_up,
};
use crate::{operations::Caller, tool::Toolset};

/// The header that names a session of the initialize era.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The context of a request, which the handler gets beside the message.
#[derive(Clone)]
pub(super) struct CallerContext {
    /// The caller of the operations.
    pub(super) caller: Caller,
    /// The caller of this request, and those of the later requests of its session.
    pub(super) callers: Callers,
    /// The marks of the resources that the request subscribes to.
    pub(super) marks: Arc<HashMap<String, Mark>>,
    /// The toolsets to list.
    pub(super) sets: Arc<[Toolset]>,
    /// Each of them ends a subscription: the token is no longer valid, the server stops.
    pub(super) ends: [CancellationToken; 2],
}

pub(super) type Outcome<T> = Result<T, Box<Response>>;

/// Answers a request to `/mcp`.
pub(super) async fn enter(State(mcp): State<Mcp>, peer: Peer, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    match pass(&mcp, peer, parts, body).await {
        Ok(answer) => answer,
        Err(refused) => *refused,
    }
}

async fn pass(mcp: &Mcp, peer: Peer, mut parts: Parts, body: Body) -> Outcome<Response> {
    let principal = identified(mcp, peer, &parts).await?;
    let holder = holder(mcp, &principal).await?;
    let sets = toolsets(&parts)?;
    let session = parts.headers.get(&SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
    let mut lease = mcp.0.registry.begin(&principal, session.as_deref()).ok_or_else(|| boxed(too_many()))?;
    let answering = (parts.method == Method::POST).then(|| mcp.0.answers.token());
    let bytes = match parts.method {
        Method::POST => read_bytes(&parts, body, MESSAGE_BYTES_MAX).await.map_err(body_refusal)?,
        _ => bytes::Bytes::new(),
    };
    let envelope = (parts.method == Method::POST).then(|| Envelope::read(&bytes)).transpose()?;
    if let Some(envelope) = &envelope {
        note_message(envelope);
    }
    let starts = envelope.as_ref().map(Envelope::starts_session).transpose()?.unwrap_or(false);
    let id = envelope.as_ref().and_then(|envelope| envelope.id).map(ToOwned::to_owned);
    complete_accept_header(&mut parts);
    let (missing, base) = (MissingScope::default(), mcp.0.origin.named_url(peer.0, &parts.headers));
    let caller = Caller::of(&parts).known_as(missing.clone());
    let callers = match session.as_deref().filter(|_| !starts) {
        Some(id) => enter_session(mcp, id, &holder, &caller, envelope.as_ref(), &mut lease)?,
        None => only(caller.clone()),
    };
    let slot = if starts {
        // A client that starts a new session has none yet, whatever header it sends.
        parts.headers.remove(&SESSION);
        Some(reserve_session(mcp, &holder.principal).await.ok_or_else(|| boxed(too_many()))?)
    } else {
        None
    };
    let closes = parts.method == Method::DELETE;
    let follower = Follower { operations: mcp.0.operations.clone(), callers: only(caller.clone()) };
    let subscribed = envelope.as_ref().and_then(Envelope::subscribed);
    let marks = follower.marks(subscribed.iter().flatten().map(String::as_str)).await;
    let lists = envelope.as_ref().is_some_and(Envelope::lists_tools);
    let ends = [lease.ended().clone(), mcp.0.stop.clone()];
    let context = CallerContext { caller, callers, marks: Arc::new(marks), sets: sets.clone(), ends };
    // The token is part of the caller, and is not passed on.
    parts.headers.remove(header::AUTHORIZATION);
    parts.extensions.insert(context);
    let answer = mcp.0.service.handle(Request::from_parts(parts, http_body_util::Full::new(bytes))).await;
    let mut answer = with_error_body(answer.map(Body::new), id.as_deref()).await;
    // A client with a token of a grant, or of an issuer, can ask for a wider scope.
    if answering.is_some() && holder.client.is_some() {
        answer = stepped_up(answer, id.as_deref(), &base, &missing).await;
    }
    if lists {
        answer = mcp.0.lists.fill(answer, &sets).await;
    }
    if let Some(id) = answer.headers().get(&SESSION).and_then(|id| id.to_str().ok())
        && let Some(slot) = slot
    {
        mcp.0.registry.opened(id, holder, slot);
    }
    if let Some(id) = session.filter(|_| closes) {
        mcp.0.registry.closed(&id);
        // The session is closed already, so the answer is 204 rather than 202.
        if answer.status() == StatusCode::ACCEPTED {
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
    }
    Ok(with_lease(answer, lease, answering, subscribed.is_some()))
}

/// The holder of the sessions that a caller begins. A session survives a renewal of the client's token, and a wider one; a
/// stream does not.
async fn holder(mcp: &Mcp, principal: &Principal) -> Outcome<Holder> {
    let unavailable = |_| {
        let text = "The store is not available; try again.";
        boxed(refusal(StatusCode::SERVICE_UNAVAILABLE, None, REFUSED, text))
    };
    let client = mcp.0.accounts.client_of(principal).await.map_err(unavailable)?;
    let principal = mcp.0.accounts.lasting(principal).await.map_err(unavailable)?;
    Ok(Holder { principal, client })
}

/// Refuses a message to a session that is not the caller's, and a request with the id of a pending one.
fn enter_session(
    mcp: &Mcp,
    session: &str,
    holder: &Holder,
    caller: &Caller,
    envelope: Option<&Envelope<'_>>,
    lease: &mut Lease,
) -> Outcome<Callers> {
    let Some(callers) = mcp.0.registry.admit_to(session, holder, caller) else {
        tracing::debug!(known = !session.is_empty(), "a message to a session that is not the caller's");
        return Err(boxed(no_session()));
    };
    if let Some(id) = envelope.and_then(Envelope::request_id)
        && !lease.take_id(id.get())
    {
        let text = "Invalid request: a request with this id is in progress; each request in a session needs its own id.";
        return Err(boxed(refusal(StatusCode::BAD_REQUEST, Some(id), INVALID_REQUEST, text)));
    }
    Ok(callers)
}

/// Records the method and the tool in the request's span.
fn note_message(envelope: &Envelope<'_>) {
    let method = envelope.method.as_ref().and_then(Value::as_str);
    if let Some(method) = method.and_then(known_method) {
        note(MCP_METHOD, || method);
    }
    if let Some(tool) = envelope.tool() {
        note(OPERATION_NAME, || EXECUTE_TOOL);
        note(SPAN_KIND, || "TOOL");
        note(TOOL_NAME, || tool);
    }
}

/// Reserves a slot for one more session; closes others if necessary.
async fn reserve_session(mcp: &Mcp, principal: &Principal) -> Option<SessionSlot> {
    for _ in 0..ROOM_TRIES_MAX {
        match mcp.0.registry.admit(principal) {
            Ok(slot) => return Some(slot),
            Err(closing) => mcp.close(&closing?).await,
        }
    }
    None
}

/// The holder of the request's token.
async fn identified(mcp: &Mcp, peer: Peer, parts: &Parts) -> Outcome<Principal> {
    identify(parts, &mcp.0.accounts, Credentials::Header).await.map_err(|refused| {
        let status =
            StatusCode::from_u16(refused.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = refusal(status, None, REFUSED, &refused.message);
        let base = mcp.0.origin.named_url(peer.0, &parts.headers);
        if let Ok(challenge) = HeaderValue::from_str(&challenge(&base))
            && refused.class == Class::Unauthenticated
        {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        boxed(answer)
    })
}

/// Completes an `Accept` header that accepts anything: the protocol requires both media types, and some clients name neither.
fn complete_accept_header(parts: &mut Parts) {
    let named = parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<&str> = named.flat_map(|value| value.split(',')).map(str::trim).collect();
    let accepts = |media_type: &str| ranges.iter().any(|range| range.split(';').next() == Some(media_type));
    if !parts.headers.contains_key(header::ACCEPT) || accepts("*/*") {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
    }
}

/// The toolsets named by the query.
pub(super) fn toolsets(parts: &Parts) -> Outcome<Arc<[Toolset]>> {
    let query = parts.uri.query().unwrap_or_default();
    let named = query.split('&').filter_map(|pair| pair.strip_prefix("toolsets=")).next_back();
    let Some(named) = named else { return Ok([Toolset::Core].into()) };
    let named = percent_encoding::percent_decode_str(named).decode_utf8_lossy();
    match Toolset::parse(&named) {
        Ok(sets) if !sets.is_empty() => Ok(sets.into()),
        Ok(_) => Ok([Toolset::Core].into()),
        Err(unknown) => {
            let known: Vec<_> = Toolset::ALL.iter().map(|set| set.as_str()).collect();
            let text =
                format!("There is no toolset {unknown:?}; the toolsets are {}, and all.", known.join(", "));
            Err(boxed(refusal(StatusCode::BAD_REQUEST, None, INVALID_PARAMS, &text)))
        }
    }
}

/// `ends_itself`: the answer has a result for its early end.
fn with_lease(
    answer: Response,
    lease: Lease,
    answering: Option<TaskTrackerToken>,
    ends_itself: bool,
) -> Response {
    let (parts, body) = answer.into_parts();
    (parts, Body::new(LeasedBody::new(body, lease, answering, ends_itself))).into_response()
}

/// The answer to a message to a session that does not exist, or is another caller's.
fn no_session() -> Response {
    refusal(StatusCode::NOT_FOUND, None, REFUSED, "Session not found: initialize anew.")
}

fn too_many() -> Response {
    let text = "This token has too many open requests and streams: close some, or wait for answers.";
    let mut answer = refusal(StatusCode::TOO_MANY_REQUESTS, None, REFUSED, text);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

#[expect(clippy::needless_pass_by_value, reason = "a refusal ends here")]
fn body_refusal(refused: Refusal) -> Box<Response> {
    let status = StatusCode::from_u16(refused.class.status()).unwrap_or(StatusCode::BAD_REQUEST);
    boxed(refusal(status, None, REFUSED, &refused.message))
}

fn boxed(response: Response) -> Box<Response> {
    Box::new(response)
}
