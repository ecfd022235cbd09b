//! Requests as peers send them (SC-23): their type by its name or by their members; what is wrong is a 422 with the code
//! of the member it is wrong in. Members that nobody knows are kept for the agent.
//! Must not know: what becomes of a request.

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use plenary_engine::KeyUse;
use plenary_kernel::{Class, Refusal, json};
use plenary_shape::{
    Field, Form, Items, Manner, Missing, Null, Order, Raw, Sent, Shape, Switch, Twice, Unit, Unknown,
    at_most, bounds, optional,
};
use serde_json::{Map, Value};

use crate::{
    command::Request,
    id::{RunId, ThreadId},
    limits::{DEPTH_MAX, IDEMPOTENCY_KEY_CHARS_MAX, THREADS_MAX, TITLE_CHARS_MAX},
    members::Members,
    refusals::{self, Refused},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How this room refuses what it cannot read. What it does not know it keeps for the agent.
static MANNER: Manner = Manner {
    class: Class::Unprocessable,
    quote: "`",
    stop: "",
    integer: "an integer from ",
    code: "invalid_body",
    whole: ("invalid_body", "the body must be a JSON object"),
    twice: Twice::Whole("invalid_query", "the query can't be read: each parameter once, as text"),
    missing: Missing::AsWrong,
    unknown: Unknown::Kept,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: false,
    items: Items::Whole,
    describes_forms: false,
};

const ANY_TEXT: Form = Form::Text(Unit::Bytes, at_most(u64::MAX));
const SWITCH: Form = Form::Switch(&Switch {
    on: &["1", "true", "yes", "on"],
    off: &["", "0", "false", "no", "off"],
    is_exact: false,
});
const TYPE: Field = optional(
    "type",
    ANY_TEXT,
    "`ChatRequest`, `ResumeWithInput`, `CancelRequest`, `ConfigureRequest`, or a type of the agent's own. When it is \
     absent: `input` is a ChatRequest, `request_keys` a ResumeWithInput, `args` a ConfigureRequest, and a `run_id` \
     alone a CancelRequest.",
)
.code("invalid_type");
const INPUT: Field =
    optional("input", ANY_TEXT, "Of a ChatRequest: what is said to the agent.").code("invalid_input");
const THREAD_ID: Field =
    optional("thread_id", ANY_TEXT, "The thread to go on with; a new one when it is absent or null.")
        .code("invalid_thread_id");
const RUN_ID: Field = optional("run_id", ANY_TEXT, "Of a ResumeWithInput and a CancelRequest: which run.")
    .code("invalid_run_id");
const REQUEST_KEYS: Field =
    optional("request_keys", Form::Map, "Of a ResumeWithInput: a value for each key that was asked for.")
        .code("invalid_request_keys");
const ARGS: Field =
    optional("args", Form::Map, "Of a ConfigureRequest: what is set; null takes an argument away.")
        .code("invalid_args");
const LOGGING_LEVEL: Field =
    optional("logging_level", ANY_TEXT, "More logging, as the agent understands it.")
        .code("invalid_logging_level");
const REQUEST_METADATA: Field =
    optional("request_metadata", Form::Map, "Anything that the agent may want to know.")
        .code("invalid_request_metadata");
const RUN_CONTEXT: Field = optional(
    "run_context",
    Form::Map,
    "The same; its `depth` says how deep in a chain of callers the request is.",
)
.code("invalid_run_context");
const DEPTH: Field = optional("depth", Form::Any, "");

/// What `POST /agent/{name}/run` takes: the fields of every type of request.
pub(crate) static RUN: Shape = Shape::new(
    "RunRequest",
    &MANNER,
    &[TYPE, INPUT, THREAD_ID, RUN_ID, REQUEST_KEYS, ARGS, LOGGING_LEVEL, REQUEST_METADATA, RUN_CONTEXT],
)
.says("What `POST /agent/{name}/run` takes.");
/// What tells the types of requests apart.
static TOLD: Shape =
    Shape::new("", &MANNER, &[TYPE, any("input"), any("request_keys"), any("args"), any("run_id")]);
/// A request that begins a run; a ChatRequest has an input.
static CHAT: Shape = Shape::new(
    "",
    &MANNER,
    &[INPUT.needed(), LOGGING_LEVEL, REQUEST_METADATA, RUN_CONTEXT, THREAD_ID, DEPTH],
);
/// One of a type of the agent's own.
static OWN: Shape =
    Shape::new("", &MANNER, &[INPUT, LOGGING_LEVEL, REQUEST_METADATA, RUN_CONTEXT, THREAD_ID, DEPTH]);
static RESUME: Shape = Shape::new("", &MANNER, &[REQUEST_KEYS.needed(), RUN_ID, THREAD_ID]);
static CANCEL: Shape = Shape::new("", &MANNER, &[RUN_ID, THREAD_ID]);
/// What `POST /agent/{name}/configure` takes.
pub(crate) static CONFIGURE: Shape = Shape::new("ConfigureRequest", &MANNER, &[ARGS.needed()])
    .says("What `POST /agent/{name}/configure` takes.");

const fn any_text(name: &'static str, says: &'static str) -> Field {
    optional(name, ANY_TEXT, says)
}

const fn any(name: &'static str) -> Field {
    optional(name, Form::Any, "")
}

/// The query of `POST …/run`.
pub(crate) static RUNNING: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional("wait", ANY_TEXT, "`true`, `false` or `result`; false when absent."),
        optional("run_id", ANY_TEXT, "As in the body, which wins."),
        OF_THREAD,
    ],
);
const OF_THREAD: Field = optional("thread_id", ANY_TEXT, "As in the body, which wins.");
/// The query of `POST …/stream_request`.
pub(crate) static STREAMING: Shape = Shape::new("", &MANNER, &[OF_THREAD]);
const STREAM: Field =
    optional("stream", SWITCH, "Whether to follow it live; false when absent.").code("invalid_stream");
const SINCE: Field =
    optional("since", ANY_TEXT, "Only events behind this one: its id; of a thread `<run_id>:<id>`.");
const TICKET: Field =
    optional("ticket", ANY_TEXT, "From `POST /auth/ticket`, for clients that can't set headers.");
/// Which run or thread is meant: that is looked for before the rest is read.
pub(crate) static WHICH: Shape =
    Shape::new("", &MANNER, &[any_text("run_id", "Which run."), any_text("thread_id", "Or which thread.")]);
/// The query of `GET …/get_events`.
pub(crate) static EVENTS: Shape = Shape::new(
    "",
    &MANNER,
    &[any_text("run_id", "Which run."), any_text("thread_id", "Or which thread."), STREAM, SINCE, TICKET],
);
/// The query of `GET …/get_events/{id}`.
pub(crate) static EVENTS_OF: Shape = Shape::new("", &MANNER, &[STREAM, SINCE, TICKET]);
/// The query of `GET …/threads`.
pub(crate) static THREADS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "limit",
            Form::Clamped(bounds(1, THREADS_MAX as u64)),
            "How many; 100 when absent, clamped to 1 to 500.",
        )
        .code("invalid_limit"),
        optional("before", ANY_TEXT, "Only threads that were opened before this one."),
    ],
);

/// The ids that a query may carry beside the body.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Ids<'a> {
    pub(crate) run: Option<&'a str>,
    pub(crate) thread: Option<&'a str>,
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Ask {
    Start { thread: Option<ThreadId>, request: Request },
    Resume { run: Option<RunId>, thread: Option<ThreadId> },
    Cancel { run: Option<RunId>, thread: Option<ThreadId> },
    Configure(Map<String, Value>),
}

/// Reads a body that passed the JSON check. `takes` are the agent's own types of request.
pub(crate) fn read(body: &Bytes, ids: Ids<'_>, takes: &[String]) -> Result<Ask, Refused> {
    let told = by(&TOLD, body)?;
    let kind = match told.text("type") {
        Some(kind) => kind,
        None => inferred(&told, ids).ok_or_else(untyped)?.into(),
    };
    match &*kind {
        "ResumeWithInput" => {
            let (run, thread) = interrupted(&by(&RESUME, body)?, ids)?;
            Ok(Ask::Resume { run, thread })
        }
        "CancelRequest" => {
            let (run, thread) = interrupted(&by(&CANCEL, body)?, ids)?;
            Ok(Ask::Cancel { run, thread })
        }
        "ConfigureRequest" => Ok(Ask::Configure(arguments(&by(&CONFIGURE, body)?))),
        kind if kind == "ChatRequest" || takes.iter().any(|known| known == kind || known == "*") => {
            let shape = if kind == "ChatRequest" { &CHAT } else { &OWN };
            start(&by(shape, body)?, kind, ids, body)
        }
        _ => Err(unknown(takes)),
    }
}

/// The body of a new run: `POST …/stream_request`.
pub(crate) fn read_start(
    body: &Bytes,
    ids: Ids<'_>,
    takes: &[String],
) -> Result<(Option<ThreadId>, Request), Refused> {
    match read(body, ids, takes)? {
        Ask::Start { thread, request } => Ok((thread, request)),
        Ask::Resume { .. } | Ask::Cancel { .. } | Ask::Configure(_) => {
            Err(refusals::shape("invalid_type", "only a request that begins a run is streamed; use /run"))
        }
    }
}

/// The body of `POST …/configure`.
pub(crate) fn read_configure(body: &[u8]) -> Result<Map<String, Value>, Refused> {
    match by(&TOLD, body)?.text("type").as_deref() {
        None | Some("ConfigureRequest") => Ok(arguments(&by(&CONFIGURE, body)?)),
        Some(_) => Err(refusals::shape("invalid_type", "only a ConfigureRequest is taken here; use /run")),
    }
}

/// A body by a shape; it must be there.
fn by<'a>(shape: &'static Shape, body: &'a [u8]) -> Result<Sent<Raw<'a>>, Refused> {
    if body.trim_ascii().is_empty() {
        let text = "The body is empty; send a JSON object.";
        return Err(Refusal::malformed("invalid_json", text).into());
    }
    Ok(shape.read_body(body)?)
}

fn inferred(told: &Sent<Raw<'_>>, ids: Ids<'_>) -> Option<&'static str> {
    let has = |name| told.get(name).is_some();
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

fn start(sent: &Sent<Raw<'_>>, kind: &str, ids: Ids<'_>, body: &Bytes) -> Result<Ask, Refused> {
    let thread = thread(sent, ids)?;
    let request = Request {
        request_type: kind.into(),
        depth: depth(sent)?,
        title: sent.text("input").as_deref().and_then(title),
        body: body.clone(),
    };
    Ok(Ask::Start { thread, request })
}

/// The first line of the first request, cut to a length.
fn title(input: &str) -> Option<String> {
    let line = input.trim().lines().next()?.trim();
    (!line.is_empty()).then(|| line.chars().take(TITLE_CHARS_MAX).collect())
}

fn depth(sent: &Sent<Raw<'_>>) -> Result<u32, Refused> {
    let wrong = || refusals::shape("invalid_depth", "`depth` must be a whole number from 0");
    let context = sent.get("run_context").map(|context| Members::read(context.get().as_bytes()));
    let context = context.transpose().map_err(|_| wrong())?;
    let said = sent.get("depth").or_else(|| context.as_ref()?.get("depth"));
    let Some(said) = said else { return Ok(0) };
    let depth: u64 = serde_json::from_str(said.get()).map_err(|_| wrong())?;
    match u32::try_from(depth) {
        Ok(depth) if depth <= DEPTH_MAX => Ok(depth),
        _ => Err(too_deep()),
    }
}

/// A chain of callers is too long.
pub(crate) fn too_deep() -> Refused {
    let detail = format!("the request is deeper in a chain of callers than {DEPTH_MAX}");
    refusals::shape("depth_exceeded", detail)
}

fn arguments(sent: &Sent<Raw<'_>>) -> Map<String, Value> {
    sent.get("args").and_then(|args| serde_json::from_str(args.get()).ok()).unwrap_or_default()
}

/// Which run, and which thread, whichever is said.
fn interrupted(sent: &Sent<Raw<'_>>, ids: Ids<'_>) -> Result<(Option<RunId>, Option<ThreadId>), Refused> {
    let said = sent.text("run_id");
    // An id that can't be one is an id that nobody has.
    let run = said.as_deref().or(ids.run).map(|id| id.parse().map_err(|_| refusals::run_not_found()));
    let (run, thread) = (run.transpose()?, thread(sent, ids)?);
    if run.is_none() && thread.is_none() {
        return Err(refusals::shape("missing_run_id", "say which run: `run_id`, or its `thread_id`"));
    }
    Ok((run, thread))
}

fn thread(sent: &Sent<Raw<'_>>, ids: Ids<'_>) -> Result<Option<ThreadId>, Refused> {
    let said = sent.text("thread_id");
    let thread =
        said.as_deref().or(ids.thread).map(|id| id.parse().map_err(|_| refusals::thread_not_found()));
    thread.transpose()
}

/// Neither a type nor what tells one.
fn untyped() -> Refused {
    let detail = "say what is asked: `input` for a ChatRequest, `request_keys` and `run_id` for a ResumeWithInput, \
                  `run_id` for a CancelRequest, or a `type`";
    refusals::shape("unknown_request_type", detail)
}

fn unknown(takes: &[String]) -> Refused {
    let own = takes.iter().filter(|kind| *kind != "*").map(|kind| format!(", {kind}")).collect::<String>();
    let detail = format!(
        "the type of the request is unknown; this agent takes ChatRequest, ResumeWithInput, CancelRequest, ConfigureRequest{own}"
    );
    refusals::shape("unknown_request_type", detail)
}

/// The idempotency key of a request, for the operation and whoever asks. Equal JSON is the same request.
pub(crate) fn key(
    scope: String,
    said: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Option<KeyUse>, Refused> {
    let Some(header) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = header.to_str().unwrap_or_default();
    if !(1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len()) {
        let detail =
            format!("`Idempotency-Key` must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters");
        return Err(refusals::shape("invalid_idempotency_key", detail));
    }
    let value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let mut bytes = said.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend(json::canonical(&value, json::Nulls::Keep));
    Ok(Some(KeyUse { scope, key: key.to_owned(), digest: json::digest(&bytes) }))
}

/// How an answer to `POST …/run` waits (wire.md D.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all: 202, and an empty body.
    No,
    /// Until the run starts: its RunStarted.
    Started,
    /// Until it is over or waits for input: its RunCompleted or WaitForInput.
    Result,
}

impl Wait {
    pub(crate) fn read(text: Option<&str>) -> Result<Self, Refused> {
        match text.map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "false" | "0" | "no" | "off") => Ok(Self::No),
            Some("true" | "1" | "yes" | "on") => Ok(Self::Started),
            Some("result") => Ok(Self::Result),
            Some(_) => Err(refusals::shape("invalid_wait", "`wait` must be true, false or result")),
        }
    }
}
