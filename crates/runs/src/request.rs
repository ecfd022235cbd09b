//! Request bodies of peers (SC-23): the type by its name or by the members; an invalid member is a 422 with its code.
//! Unknown members are kept for the agent.
//! Must not know: the effect of a request.

use bytes::Bytes;
use http::HeaderMap;
use plenary_engine::KeyUse;
use plenary_kernel::{Refusal, json};
use plenary_room::idempotency_key;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::{
    agentic,
    command::Request,
    id::{RunId, ThreadId},
    limits::{DEPTH_MAX, TITLE_CHARS_MAX},
    members::Members,
    refusals::{self, RunRefusal},
};

/// The body of `POST /agent/{name}/run`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "RunRequest", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the description is made from it; `Members` reads it member by member")]
pub(crate) struct RunBody {
    /// `ChatRequest`, `ResumeWithInput`, `CancelRequest`, `ConfigureRequest`, or a type of the agent's own. When it is
    /// absent: `input` is a ChatRequest, `request_keys` a ResumeWithInput, `args` a ConfigureRequest, and a `run_id`
    /// alone a CancelRequest.
    #[schemars(rename = "type")]
    kind: Option<String>,
    /// For a ChatRequest: the text for the agent.
    input: Option<String>,
    /// The thread to continue; a new thread if absent or null.
    thread_id: Option<String>,
    /// If there is no thread `thread_id`: `reject` (the default), or `create`, which opens it under that UUID.
    if_not_exists: Option<String>,
    /// For a ResumeWithInput and a CancelRequest: the run.
    run_id: Option<String>,
    /// For a ResumeWithInput: a value for each requested key.
    request_keys: Option<Map<String, Value>>,
    /// For a ResumeWithInput: the `id` of the WaitForInput that it answers; 409 if the run no longer waits for it.
    event_id: Option<u64>,
    /// For a ConfigureRequest: the arguments to set; null removes an argument.
    args: Option<Map<String, Value>>,
    /// The logging level, as the agent defines it.
    logging_level: Option<String>,
    /// Further data for the agent.
    request_metadata: Option<Map<String, Value>>,
    /// The same; its `depth` is the depth of the request in the chain of callers.
    run_context: Option<Map<String, Value>>,
}

/// The body of `POST /agent/{name}/configure`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ConfigureRequest", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the description is made from it; `Members` reads it member by member")]
pub(crate) struct ConfigureBody {
    /// The arguments to set; null removes an argument.
    args: Map<String, Value>,
}

/// The ids that a query may have in addition to the body.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Ids<'a> {
    pub(crate) run: Option<&'a str>,
    pub(crate) thread: Option<&'a str>,
}

/// The thread of a requested run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadChoice {
    /// A new thread, with an id of the server.
    New,
    /// A thread that must exist.
    Existing(ThreadId),
    /// The thread with this id; it is opened if it does not exist.
    Either(ThreadId),
}

/// A parsed request.
#[derive(Debug)]
pub(crate) enum RunCommand {
    Start { thread: ThreadChoice, request: Request },
    Resume { run: Option<RunId>, thread: Option<ThreadId>, question: Option<u64> },
    Cancel { run: Option<RunId>, thread: Option<ThreadId> },
    Configure(Map<String, Value>),
}

/// Parses a body that passed the JSON check. `takes` lists the agent's own types of request.
pub(crate) fn read(body: &Bytes, ids: Ids<'_>, takes: &[String]) -> Result<RunCommand, RunRefusal> {
    let members = read_members(body)?;
    let kind = text(&members, "type", "invalid_type")?;
    let kind = match &kind {
        Some(kind) => kind.as_str(),
        None => inferred(&members, ids).ok_or_else(untyped)?,
    };
    match kind {
        "ResumeWithInput" => {
            object(&members, "request_keys", "invalid_request_keys")?;
            if !members.is_object("request_keys") {
                return Err(refusals::shape("invalid_request_keys", "`request_keys` must be an object"));
            }
            let (run, thread) = interrupted(&members, ids)?;
            Ok(RunCommand::Resume { run, thread, question: event_id(&members)? })
        }
        "CancelRequest" => {
            let (run, thread) = interrupted(&members, ids)?;
            Ok(RunCommand::Cancel { run, thread })
        }
        "ConfigureRequest" => arguments(&members).map(RunCommand::Configure),
        kind if kind == "ChatRequest" || takes.iter().any(|known| known == kind || known == "*") => {
            start(&members, kind, ids, body)
        }
        _ => Err(unknown(takes)),
    }
}

/// The body of a new run: `POST …/stream_request`.
pub(crate) fn read_start(
    body: &Bytes,
    ids: Ids<'_>,
    takes: &[String],
) -> Result<(ThreadChoice, Request), RunRefusal> {
    match read(body, ids, takes)? {
        RunCommand::Start { thread, request } => Ok((thread, request)),
        RunCommand::Resume { .. } | RunCommand::Cancel { .. } | RunCommand::Configure(_) => {
            Err(refusals::shape("invalid_type", "only a request that starts a run can be streamed; use /run"))
        }
    }
}

/// The ChatRequest for a `{prompt}`, which is not a request of the protocol.
pub(crate) fn chat_from_prompt(body: &Bytes) -> Option<Bytes> {
    let members = Members::read(body).ok()?;
    let is_typed = ["type", "input", "request_keys", "args", "run_id", "thread_id"]
        .iter()
        .any(|name| members.get(name).is_some());
    let prompt = members.text("prompt").ok().flatten().filter(|_| !is_typed)?;
    let debug = members.text("debug").ok().flatten();
    Some(agentic::chat_request(&prompt, debug.as_deref()))
}

/// The body of `POST …/configure`.
pub(crate) fn read_configure(body: &[u8]) -> Result<Map<String, Value>, RunRefusal> {
    let members = read_members(body)?;
    match text(&members, "type", "invalid_type")?.as_deref() {
        None | Some("ConfigureRequest") => arguments(&members),
        Some(_) => {
            Err(refusals::shape("invalid_type", "this path accepts only a ConfigureRequest; use /run"))
        }
    }
}

pub(crate) fn read_members(body: &[u8]) -> Result<Members<'_>, RunRefusal> {
    if body.trim_ascii().is_empty() {
        let text = "The body is empty; send a JSON object.";
        return Err(Refusal::malformed("invalid_json", text).into());
    }
    Members::read(body).map_err(|_| not_an_object())
}

fn inferred(members: &Members<'_>, ids: Ids<'_>) -> Option<&'static str> {
    let has = |name| members.get(name).is_some();
    if has("input") {
        Some("ChatRequest")
    } else if has("request_keys") {
        Some("ResumeWithInput")
    } else if has("args") {
        Some("ConfigureRequest")
    } else if has("run_id") || ids.run.is_some() {
        Some("CancelRequest")
    } else {
        None
    }
}

fn start(members: &Members<'_>, kind: &str, ids: Ids<'_>, body: &Bytes) -> Result<RunCommand, RunRefusal> {
    let input = text(members, "input", "invalid_input")?;
    if kind == "ChatRequest" && input.is_none() {
        return Err(refusals::shape("invalid_input", "`input` must be a string"));
    }
    text(members, "logging_level", "invalid_logging_level")?;
    object(members, "request_metadata", "invalid_request_metadata")?;
    object(members, "run_context", "invalid_run_context")?;
    let thread = thread_choice(members, ids)?;
    let request = Request {
        request_type: kind.into(),
        depth: depth(members)?,
        title: input.as_deref().and_then(title),
        trace: None,
        body: body.clone(),
    };
    Ok(RunCommand::Start { thread, request })
}

/// The first line of the first request, cut to a length.
fn title(input: &str) -> Option<String> {
    let line = input.trim().lines().next()?.trim();
    (!line.is_empty()).then(|| line.chars().take(TITLE_CHARS_MAX).collect())
}

fn depth(members: &Members<'_>) -> Result<u32, RunRefusal> {
    let invalid = || refusals::shape("invalid_depth", "`depth` must be a whole number from 0");
    let context = members.get("run_context").map(|context| Members::read(context.get().as_bytes()));
    let context = context.transpose().map_err(|_| invalid())?;
    let value = members.get("depth").or_else(|| context.as_ref()?.get("depth"));
    let Some(value) = value else { return Ok(0) };
    let depth: u64 = serde_json::from_str(value.get()).map_err(|_| invalid())?;
    match u32::try_from(depth) {
        Ok(depth) if depth <= DEPTH_MAX => Ok(depth),
        _ => Err(too_deep()),
    }
}

/// The refusal of a request whose chain of callers is too long.
pub(crate) fn too_deep() -> RunRefusal {
    let detail = format!("the chain of callers is longer than {DEPTH_MAX}");
    refusals::shape("depth_exceeded", detail)
}

fn arguments(members: &Members<'_>) -> Result<Map<String, Value>, RunRefusal> {
    let args = members.get("args").and_then(|args| serde_json::from_str(args.get()).ok());
    args.ok_or_else(|| refusals::shape("invalid_args", "`args` must be an object"))
}

/// The run and the thread of a request, as far as it names them.
fn interrupted(members: &Members<'_>, ids: Ids<'_>) -> Result<(Option<RunId>, Option<ThreadId>), RunRefusal> {
    let id_text = text(members, "run_id", "invalid_run_id")?;
    // A malformed id is treated as an unknown one.
    let run = id_text.as_deref().or(ids.run).map(|id| id.parse().map_err(|_| refusals::run_not_found()));
    let (run, thread) = (run.transpose()?, thread(members, ids)?);
    if run.is_none() && thread.is_none() {
        return Err(refusals::shape("missing_run_id", "`run_id` or `thread_id` is missing: name the run"));
    }
    Ok((run, thread))
}

/// The answered question, if the request names it.
fn event_id(members: &Members<'_>) -> Result<Option<u64>, RunRefusal> {
    let Some(value) = members.get("event_id") else { return Ok(None) };
    let event_id = serde_json::from_str(value.get()).map(Some);
    event_id.map_err(|_| refusals::shape("invalid_event_id", "`event_id` must be a whole number from 0"))
}

fn thread_choice(members: &Members<'_>, ids: Ids<'_>) -> Result<ThreadChoice, RunRefusal> {
    let is_created = match text(members, "if_not_exists", "invalid_if_not_exists")?.as_deref() {
        None | Some("reject") => false,
        Some("create") => true,
        Some(_) => {
            let detail = "`if_not_exists` must be `create` or `reject`";
            return Err(refusals::shape("invalid_if_not_exists", detail));
        }
    };
    Ok(match thread(members, ids)? {
        None => ThreadChoice::New,
        // Only the server opens a thread with a bound id: a caller that opened it first would own the bound object's
        // thread.
        Some(thread) if is_created && !thread.is_bound() => ThreadChoice::Either(thread),
        Some(thread) => ThreadChoice::Existing(thread),
    })
}

fn thread(members: &Members<'_>, ids: Ids<'_>) -> Result<Option<ThreadId>, RunRefusal> {
    let id_text = text(members, "thread_id", "invalid_thread_id")?;
    let thread =
        id_text.as_deref().or(ids.thread).map(|id| id.parse().map_err(|_| refusals::thread_not_found()));
    thread.transpose()
}

fn not_an_object() -> RunRefusal {
    refusals::shape("invalid_body", "the body must be a JSON object")
}

/// The refusal of a request with neither a type nor the members that imply one.
fn untyped() -> RunRefusal {
    let detail = "the request has no content: send `input` for a ChatRequest, `request_keys` and `run_id` for a ResumeWithInput, \
                  `run_id` for a CancelRequest, or a `type`";
    refusals::shape("unknown_request_type", detail)
}

fn unknown(takes: &[String]) -> RunRefusal {
    let own = takes.iter().filter(|kind| *kind != "*").map(|kind| format!(", {kind}")).collect::<String>();
    let detail = format!(
        "the type of the request is unknown; this agent accepts ChatRequest, ResumeWithInput, CancelRequest, ConfigureRequest{own}"
    );
    refusals::shape("unknown_request_type", detail)
}

pub(crate) fn text(
    members: &Members<'_>,
    name: &'static str,
    code: &'static str,
) -> Result<Option<String>, RunRefusal> {
    members.text(name).map_err(|name| refusals::shape(code, format!("`{name}` must be a string")))
}

fn object(members: &Members<'_>, name: &'static str, code: &'static str) -> Result<(), RunRefusal> {
    if members.get(name).is_none() || members.is_object(name) {
        return Ok(());
    }
    Err(refusals::shape(code, format!("`{name}` must be an object")))
}

/// The idempotency key of a request, unique per operation and caller. Equal JSON is the same request.
pub(crate) fn key(
    scope: String,
    thread: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Option<KeyUse>, RunRefusal> {
    let key = idempotency_key(headers)
        .map_err(|error| refusals::shape("invalid_idempotency_key", error.to_string()))?;
    let Some(key) = key else { return Ok(None) };
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let mut bytes = thread.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend(json::canonical(&value, json::Nulls::Keep));
    Ok(Some(KeyUse { scope, key: key.to_owned(), digest: json::digest(&bytes) }))
}

/// How long a response to `POST …/run` waits (wire.md D.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all: 202 with an empty body.
    No,
    /// Until the run starts: responds with its RunStarted.
    Started,
    /// Until the run ends or waits for input: responds with its RunCompleted or WaitForInput.
    Result,
}

impl Wait {
    pub(crate) fn read(text: Option<&str>) -> Result<Self, RunRefusal> {
        match text.map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "false" | "0" | "no" | "off") => Ok(Self::No),
            Some("true" | "1" | "yes" | "on") => Ok(Self::Started),
            Some("result") => Ok(Self::Result),
            Some(_) => Err(refusals::shape("invalid_wait", "`wait` must be true, false or result")),
        }
    }
}

/// A boolean parameter of the query.
pub(crate) fn switch(text: Option<&str>, name: &'static str, code: &'static str) -> Result<bool, RunRefusal> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "0" | "false" | "no" | "off") => Ok(false),
        Some("1" | "true" | "yes" | "on") => Ok(true),
        Some(_) => Err(refusals::shape(code, format!("`{name}` must be true or false"))),
    }
}

/// The refusal of an invalid query: a duplicate parameter, or one that is not text.
pub(crate) fn invalid_query() -> RunRefusal {
    refusals::shape("invalid_query", "the query cannot be read: send each parameter once, as text")
}
