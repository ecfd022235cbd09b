//! The public operations of Agent-Channel Fan-Out: parse, call, translate the answer (wire.md D.2, D.5).

use axum::{
    Json, Router,
    body::Body,
    extract::{FromRef, FromRequestParts, Path, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, request::Parts};
use plenary_accounts::{
    Accounts, AgentCaller, Credentials, Principal, TokenOwner, bearer, identified, identify,
};
use plenary_edge::{
    Auth, Metrics, Operation, OperationDoc, RegistryFault, read_bytes, with_method_refusals,
    with_path_refusals,
};
use plenary_hub::SubscribeError;
use plenary_kernel::{Class, Refusal, SovereignHandle};
use plenary_room::sse;
use schemars::JsonSchema;

use crate::{
    capability::{capability, holder, is_capability},
    decide::owner_of,
    filter::Filter,
    frames::{Frames, Subscriber},
    limits::BODY_BYTES_MAX,
    malformed::{Code, FrameFault},
    parameters::{Parameters, header as header_of},
    refusals::FrameRefusal,
    rejection::Rejection,
    schema::AnySubmission,
    session::SessionNames,
    stream::{EventStream, Form},
    submission::Submission,
    submit::Submitter,
    wire::{FrameCapability, FrameError, RetentionView, Roster, Submitted},
};

impl FromRef<Frames> for Accounts {
    fn from_ref(frames: &Frames) -> Self {
        frames.accounts().clone()
    }
}

const INSTRUMENT: &str = "x-agent-instrument";
const SESSION: &str = "x-agent-session";
const TOOL: &str = "x-agent-tool";

/// The parameters of `POST /frames`.
const SUBMIT_PARAMETERS: &[&str] = &["scope", "echo"];
const STREAM_PARAMETERS: &[&str] = &["filter", "instrument", "session_id", "tool", "retained", "ticket"];

type Answer<T> = Result<Json<T>, FrameRefusal>;

/// The routes of this room.
pub fn routes(frames: Frames, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let router = plenary_edge::routes(operations(), metrics)?;
    let router = with_path_refusals(router, metrics, &NOTHING_AT, form);
    Ok(with_method_refusals(router, metrics, form).with_state(frames))
}

/// Paths without an operation, which are refused in the form of this protocol.
const NOTHING_AT: [&str; 7] = [
    "/frames/",
    "/frames/{*rest}",
    "/handles",
    "/handles/",
    "/handles/{handle}",
    "/handles/{handle}/",
    "/handles/{handle}/{*rest}",
];

/// A refusal in the form of this protocol.
pub(crate) fn form(refusal: Refusal) -> Response {
    FrameRefusal::from(refusal).into_response()
}

/// The query of `POST /frames`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct SubmitQuery {
    /// The scope of a bare frame: `~handle`, `~handle/*`, `~handle/<prefix>*`, `~handle/<instrument>@<session-id>`,
    /// `org:<org>/members/*`, `org:<org>/members/<role>/*`, `accord:<peer>/grant:<grant>`. Every session of the recipient
    /// when absent.
    scope: Option<String>,
    /// `0` leaves out the session that `X-Agent-Session` names.
    #[schemars(with = "Option<u8>", range(max = 1))]
    echo: Option<String>,
}

/// The query of `GET /handles/{handle}/stream`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct StreamQuery {
    /// `axis:value` clauses, separated by commas; a frame must satisfy all. Axes: kind, sender, content_type, tool,
    /// org.
    filter: Option<String>,
    /// The session's instrument; the agent's name when absent.
    instrument: Option<String>,
    /// The session's own id; generated when absent.
    session_id: Option<String>,
    /// The session's class of tools; the instrument's prefix when absent.
    tool: Option<String>,
    /// `true` starts with all retained frames, unless `Last-Event-ID` names where to continue; a comment ends
    /// them. An extension: the document leaves open how a late session gets recent frames.
    retained: Option<bool>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    ticket: Option<String>,
}

fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .error_body::<FrameError<'_>>()
        .errors(Class::Unauthenticated, &["unauthenticated"])
}

fn of_handle(id: &'static str, path: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, Method::GET, path, summary)
        .path_parameter::<SovereignHandle>("handle", "The principal")
        .errors(Class::Malformed, &["field-invalid"])
}

/// The operations of this room.
pub fn operations() -> Vec<Operation<Frames>> {
    let submit_doc = doc("frame.submit", Method::POST, "/frames", "Send a frame to a set of live sessions")
        .no_tool("the ten verbs send frames")
        .without_key()
        .description(
            "The body is the frame alone, or `{scope, frame}`. Only sessions that are subscribed now get it; an empty \
             set is not an error. `X-Agent-Instrument`, `X-Agent-Session` and `X-Agent-Tool` name the sending session.",
        )
        .query::<SubmitQuery>()
        .reads_header("X-Agent-Instrument", "The instrument of the sending session.")
        .reads_header("X-Agent-Session", "The sending session.")
        .reads_header("X-Agent-Tool", "The tool of the sending session.")
        .request::<AnySubmission>()
        .reply::<Submitted>()
        .errors(
            Class::Malformed,
            &[
                "field-invalid",
                "field-missing",
                "field-unknown",
                "envelope-version-unsupported",
                "kind-unknown",
                "payload-kind-mismatch",
            ],
        )
        .errors(Class::Forbidden, &["sender-identity-mismatch", "scope-unauthorised"])
        .errors(Class::TooLarge, &["field-invalid"])
        .errors(Class::TooMany, &["rate-limited"])
        .errors(Class::NotImplemented, &["scope-unimplemented"])
        .errors(Class::Unavailable, &["unavailable"]);
    let stream_doc = of_handle("frame.stream", "/handles/{handle}/stream", "Receive the frames for a handle")
        .no_tool("agent_subscribe gives its URL")
        .description(
            "Server-Sent Events: `id`, one `data` line of frame JSON, a comment every 15 s. For the handle's own \
             agents. `Last-Event-ID` continues after that event if it is retained, otherwise with new frames.",
        )
        .query::<StreamQuery>()
        .reply_type("text/event-stream")
        .continues()
        .errors(Class::Malformed, &["filter-axis-unknown", "filter-value-invalid"])
        .errors(Class::Forbidden, &["scope-unauthorised"])
        .errors(Class::TooMany, &["rate-limited"]);
    let roster_doc =
        of_handle("frame.roster", "/handles/{handle}/roster", "Show who is subscribed to a handle's stream")
            .no_tool("agent_roster reads it")
            .description("For the handle's own agents, their owner, and the operator.")
            .auth(Auth::Any)
            .reply::<Roster>()
            .errors(Class::Forbidden, &["scope-unauthorised"]);
    let retention_doc =
        of_handle("frame.retention", "/handles/{handle}/retention", "Show how long frames are retained")
            .no_tool("the tool lock uses it")
            .description("For resumption only. Every token may read it.")
            .auth(Auth::Any)
            .reply::<RetentionView>();
    let own = vec![
        submit_doc.handled_by(submit),
        stream_doc.handled_by(stream),
        roster_doc.handled_by(roster),
        retention_doc.handled_by(retention),
    ];
    own.into_iter().chain(of_alter()).collect()
}

/// The paths of alter-runtime.
fn of_alter() -> [Operation<Frames>; 2] {
    let capability_doc = doc(
        "frame.capability",
        Method::POST,
        "/api/v1/messaging/subscribe-capability",
        "Get a capability for `GET /events/{handle}/stream`",
    )
    .no_tool("for alter-runtime; agent_subscribe gives the URL of a stream")
    .without_key()
    .description(
        "For alter-runtime. The capability opens streams for ten minutes in place of the token, and ends with it. \
         `frame_signature_pubkey` is the key to pin. The body is ignored.",
    )
    .reply::<FrameCapability>()
    .errors(Class::Forbidden, &["scope-unauthorised"]);
    let wrapped_doc =
        of_handle("frame.events", "/events/{handle}/stream", "Receive the frames for a handle, wrapped and signed")
            .no_tool("for alter-runtime; agent_subscribe gives the URL of a stream")
            .description(
                "`/handles/{handle}/stream` with each frame as `payload` of `{v, version, handle, kind, timestamp, payload, \
                 pubkey, signature}`: canonical JSON, signed with Ed25519 without the member `signature`. A capability or the \
                 agent's token opens it.",
            )
            .query::<StreamQuery>()
            .reply_type("text/event-stream")
            .errors(Class::Malformed, &["filter-axis-unknown", "filter-value-invalid"])
            .errors(Class::Forbidden, &["scope-unauthorised"])
            .errors(Class::TooMany, &["rate-limited"]);
    [capability_doc.handled_by(make_capability), wrapped_doc.handled_by(events)]
}

/// The holder of the request's token, of any kind.
struct Bearer(Principal);

/// The holder of the stream's token or ticket.
struct StreamBearer(Principal);

impl FromRequestParts<Frames> for Bearer {
    type Rejection = FrameRefusal;
    async fn from_request_parts(parts: &mut Parts, frames: &Frames) -> Result<Self, FrameRefusal> {
        Ok(Self(identify(parts, frames.accounts(), Credentials::Header).await?))
    }
}

impl FromRequestParts<Frames> for StreamBearer {
    type Rejection = FrameRefusal;
    async fn from_request_parts(parts: &mut Parts, frames: &Frames) -> Result<Self, FrameRefusal> {
        Ok(Self(identify(parts, frames.accounts(), Credentials::HeaderOrTicket).await?))
    }
}

async fn submit(
    State(frames): State<Frames>,
    Bearer(principal): Bearer,
    parameters: Parameters,
    parts: Parts,
    body: Body,
) -> Answer<Submitted> {
    let body = read_bytes(&parts, body, BODY_BYTES_MAX).await?;
    let named = SessionNames {
        instrument: header_of(&parts.headers, INSTRUMENT, "instrument")?,
        tool: header_of(&parts.headers, TOOL, "tool")?,
        session_id: header_of(&parts.headers, SESSION, "session_id")?,
    };
    if let Some(name) = parameters.unknown(SUBMIT_PARAMETERS) {
        return Err(FrameFault::no_parameter(Code::FieldUnknown, name, SUBMIT_PARAMETERS).into());
    }
    let echo = match parameters.one("echo")? {
        None | Some("1") => true,
        Some("0") => false,
        Some(_) => return Err(FrameFault::parameter("echo", "0 or 1").into()),
    };
    let submission = Submission::read(&body, parameters.one("scope")?)?;
    Ok(Json(frames.submit(&principal, Submitter { named, echo }, submission).await?))
}

fn handle(text: &str) -> Result<SovereignHandle, FrameRefusal> {
    text.parse().map_err(|_| FrameFault::parameter("handle", "a canonical handle, ~owner").into())
}

/// The holder of a capability, or of another credential for the stream.
struct CapabilityBearer(Principal);

impl FromRequestParts<Frames> for CapabilityBearer {
    type Rejection = FrameRefusal;
    async fn from_request_parts(parts: &mut Parts, frames: &Frames) -> Result<Self, FrameRefusal> {
        let credential = bearer(&parts.headers).ok().flatten();
        let Some(credential) = credential.filter(|credential| is_capability(credential)) else {
            return Ok(Self(identify(parts, frames.accounts(), Credentials::HeaderOrTicket).await?));
        };
        let ended = || Refusal::new(Class::Unauthenticated, "unauthenticated", "The capability has ended.");
        let principal = holder(&*frames.key().await?, credential, frames.0.clock.now()).ok_or_else(ended)?;
        // The token itself was not checked, and may have been revoked since.
        if !frames.accounts().is_valid(&principal).await? {
            return Err(ended().into());
        }
        Ok(Self(identified(parts, frames.accounts(), principal).await?))
    }
}

async fn make_capability(State(frames): State<Frames>, Bearer(principal): Bearer) -> Answer<FrameCapability> {
    let TokenOwner::Agent(handle) = principal.who else { return Err(Rejection::ScopeUnauthorised.into()) };
    // The roster lists the agents that stream, so a person who observes is refused.
    if principal.token.is_person() {
        return Err(Rejection::ScopeUnauthorised.into());
    }
    let key = frames.key().await?;
    let caller = AgentCaller { handle, token: principal.token };
    let created = capability(&key, caller, frames.0.clock.now());
    let (capability, until) =
        created.ok_or_else(|| plenary_log::Fault::Unavailable("no random numbers".into()))?;
    let frame_signature_pubkey = key.public();
    Ok(Json(FrameCapability { capability, expires_at: until.rfc3339(), frame_signature_pubkey }))
}

async fn stream(
    State(frames): State<Frames>,
    StreamBearer(principal): StreamBearer,
    Path(path): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, FrameRefusal> {
    open(&frames, principal, &path, &parameters, &headers, Form::Bare).await
}

async fn events(
    State(frames): State<Frames>,
    CapabilityBearer(principal): CapabilityBearer,
    Path(path): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, FrameRefusal> {
    let form = Form::Wrapped(frames.key().await?, handle(&path)?);
    open(&frames, principal, &path, &parameters, &headers, form).await
}

/// A stream of a handle's frames, for the handle's own agents.
async fn open(
    frames: &Frames,
    principal: Principal,
    path: &str,
    parameters: &Parameters,
    headers: &HeaderMap,
    form: Form,
) -> Result<Response, FrameRefusal> {
    let handle = handle(path)?;
    let TokenOwner::Agent(agent) = principal.who else { return Err(Rejection::ScopeUnauthorised.into()) };
    // The roster lists the agents that stream, so a person who observes is refused.
    if agent.owner() != handle.owner() || principal.token.is_person() {
        return Err(Rejection::ScopeUnauthorised.into());
    }
    if let Some(name) = parameters.unknown(STREAM_PARAMETERS) {
        return Err(FrameFault::no_parameter(Code::FilterAxisUnknown, name, STREAM_PARAMETERS).into());
    }
    let filter = Filter::parse(parameters.one("filter")?.unwrap_or_default())?;
    let retained = match parameters.one("retained")? {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(FrameFault::parameter("retained", "true or false").into()),
    };
    let named = SessionNames {
        instrument: parameters.one("instrument")?,
        tool: parameters.one("tool")?,
        session_id: parameters.one("session_id")?,
    };
    let session = frames.session(agent.clone(), &named)?;
    let shown = [
        (INSTRUMENT, session.instrument.as_str().to_owned()),
        (SESSION, session.id.as_str().to_owned()),
        (TOOL, session.tool.as_str().to_owned()),
    ];
    let caller = AgentCaller { handle: agent, token: principal.token };
    let started_at = frames.0.clock.now();
    let subscriber = Subscriber { session, filter, token: caller.token, started_at };
    let after =
        last_event(headers).or_else(|| frames.0.lane.reaches_back_to(handle.as_str()).filter(|_| retained));
    let reading =
        frames.0.lane.subscribe(handle.as_str(), subscriber, after).map_err(|error| match error {
            SubscribeError::TooMany | SubscribeError::TooManyKeys => Rejection::TooManyStreams,
            SubscribeError::Closed => Rejection::ShuttingDown,
        })?;
    // The token may have been revoked before the stream existed.
    frames.recheck(&caller.handle).await;

    let mut response = sse::response(Body::new(EventStream::new(reading, retained, form)));
    let head = response.headers_mut();
    for (name, value) in shown {
        let value = HeaderValue::try_from(value).map_err(|_| {
            FrameFault::whole(Code::FieldInvalid, "The session name is not valid in a header.")
        })?;
        head.insert(HeaderName::from_static(name), value);
    }
    Ok(response)
}

/// The event after which the client resumes; anything but a number of ours means: from now on (1.5 row
/// 9).
fn last_event(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get("last-event-id")?.to_str().ok()?;
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

async fn roster(
    State(frames): State<Frames>,
    Bearer(principal): Bearer,
    Path(path): Path<String>,
) -> Answer<Roster> {
    let handle = handle(&path)?;
    let may_read = match &principal.who {
        TokenOwner::Agent(agent) => agent.owner() == handle.owner(),
        TokenOwner::Owner(owner) => owner.as_str() == handle.owner(),
        TokenOwner::Operator => frames.accounts().fresh_owner(&owner_of(&handle)).await?.state.exists(),
    };
    if !may_read {
        return Err(Rejection::ScopeUnauthorised.into());
    }
    Ok(Json(frames.roster(handle).await?))
}

async fn retention(
    State(frames): State<Frames>,
    Bearer(_): Bearer,
    Path(path): Path<String>,
) -> Answer<RetentionView> {
    handle(&path)?;
    let config = &frames.0.config;
    let max_age_ms = u64::try_from(config.max_age.as_millis()).unwrap_or(u64::MAX);
    Ok(Json(RetentionView { max_events: config.max_events as u64, max_age_ms }))
}
