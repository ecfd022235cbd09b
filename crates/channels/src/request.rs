//! Bodies and queries as peers send them. Members that nobody knows are ignored; what is wrong is a 422 with the code
//! of the member it is wrong in (CH-25; wire.md D.6).
//! Must not know: which channel is meant.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use plenary_engine::KeyUse;
use plenary_kernel::{Class, json};
use plenary_shape::{
    Field, Form, Items, Manner, Misfit, Missing, Node, Null, Order, Sent, Shape, Switch, Twice, Unit,
    Unknown, at_most, bounds, optional, required,
};
use serde_json::Value;

use crate::{
    AUTHOR_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, KIND_CHARS_MAX, LIMIT_MAX, TITLE_CHARS_MAX,
    command::Draft,
    refusals::{self, Refused},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How this room refuses what it cannot read.
static MANNER: Manner = Manner {
    class: Class::Unprocessable,
    quote: "`",
    stop: "",
    integer: "an integer from ",
    code: "invalid_body",
    whole: ("invalid_body", "the body must be a JSON object"),
    twice: Twice::Whole("invalid_query", "the query can't be read: each parameter once, as text"),
    missing: Missing::AsWrong,
    unknown: Unknown::Ignored,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: false,
    items: Items::Whole,
    describes_forms: false,
};

const AUTHOR: Form = Form::Shown(Unit::Characters, at_most(AUTHOR_CHARS_MAX as u64));
const ANY_TEXT: Form = Form::Text(Unit::Bytes, at_most(u64::MAX));
const SWITCH: Form = Form::Switch(&Switch {
    on: &["1", "true", "yes", "on"],
    off: &["0", "false", "no", "off"],
    is_exact: false,
});
/// The id of an event, which no channel needs to have: what the store can hold.
const EVENT_ID: Form = Form::Clamped(bounds(0, i64::MAX as u64 - 1));
const KEY: Field = optional("key", ANY_TEXT, "The key of the channel's link; needed once per owner.");
const TICKET: Field =
    optional("ticket", ANY_TEXT, "From `POST /auth/ticket`, for clients that can't set headers.");
const ONLY_KIND: Field = optional("kind", ANY_TEXT, "Only events of this kind.");
const LIMIT: Field = optional(
    "limit",
    Form::Clamped(bounds(1, LIMIT_MAX as u64)),
    "How many; 50 when absent, clamped to 1 to 500.",
)
.code("invalid_limit");

/// What `POST /agent-channel` takes.
pub(crate) static CREATE: Shape = Shape::new(
    "CreateChannel",
    &MANNER,
    &[
        optional(
            "title",
            Form::Shown(Unit::Characters, at_most(TITLE_CHARS_MAX as u64)),
            "What it is about.",
        )
        .code("invalid_title"),
        optional(
            "created_by",
            AUTHOR,
            "By whom, in its own words; the handle of the token when it is absent or empty.",
        )
        .code("invalid_created_by"),
    ],
)
.says("What `POST /agent-channel` takes.");

/// What `POST /agent-channel/{id}/event` takes.
pub(crate) static APPEND: Shape = Shape::new(
    "AppendChannelEvent",
    &MANNER,
    &[
        required(
            "kind",
            Form::Shown(Unit::Characters, bounds(1, KIND_CHARS_MAX as u64)),
            "A free string; `spec`, `state`, `status`, `comms` and `log` mean something.",
        )
        .code("invalid_kind")
        .wants("a string of 1 to 64 characters"),
        optional(
            "author",
            AUTHOR,
            "A stable name of the agent; the handle of the token when it is absent or empty.",
        )
        .code("invalid_author"),
        required("payload", Form::Map, "Any object.").code("invalid_payload").wants("a JSON object"),
    ],
)
.says("What `POST /agent-channel/{id}/event` takes.");

/// The query of every operation on a channel.
pub(crate) static OF_CHANNEL: Shape = Shape::new("", &MANNER, &[KEY]);

/// The query of `POST …/event`.
pub(crate) static APPENDING: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional("validate", SWITCH, "Only say what is wrong with the event, and store nothing.")
            .code("invalid_validate"),
        KEY,
    ],
);

/// The query of `GET /agent-channel/{id}`.
pub(crate) static SHOWING: Shape = Shape::new(
    "",
    &MANNER,
    &[optional("format", ANY_TEXT, "`json`, `yaml` or `yml`, `markdown` or `md`; wins over `Accept`."), KEY],
);

/// The query of `GET /agent-channel`.
pub(crate) static LISTING: Shape = Shape::new(
    "",
    &MANNER,
    &[
        LIMIT,
        optional("include_closed", SWITCH, "Whether closed ones are listed; true when absent.")
            .code("invalid_include_closed"),
    ],
);

/// The query of `GET …/events`.
pub(crate) static EVENTS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        ONLY_KIND,
        LIMIT,
        optional("before_id", EVENT_ID, "Only events with a lower id.").code("invalid_before_id"),
        optional(
            "after_id",
            EVENT_ID,
            "Only events with a higher id; alone, the ones that follow it directly.",
        )
        .code("invalid_after_id"),
        KEY,
    ],
);

/// The query of `GET …/events/stream`.
pub(crate) static WATCHING: Shape = Shape::new(
    "",
    &MANNER,
    &[
        ONLY_KIND,
        optional("after_id", EVENT_ID, "Events with a higher id; `Last-Event-ID` wins.")
            .code("invalid_after_id"),
        TICKET,
        KEY,
    ],
);

/// A text that is there and says something.
pub(crate) fn said<'a, N: Node<'a>>(sent: &Sent<N>, name: &str) -> Option<String> {
    sent.string(name).filter(|text| !text.is_empty())
}

/// The event of a body; its payload is the very bytes of that.
pub(crate) fn draft(body: &Bytes) -> Result<Draft, Misfit> {
    let sent = APPEND.read_body(body)?;
    let payload = sent.get("payload").map_or_else(Bytes::new, |raw| body.slice_ref(raw.get().as_bytes()));
    Ok(Draft { kind: sent.needed("kind"), author: said(&sent, "author"), payload })
}

/// The idempotency key of a request, for the operation and whoever asks. Equal JSON is the same request.
pub(crate) fn key(operation: String, headers: &HeaderMap, body: &[u8]) -> Result<Option<KeyUse>, Refused> {
    let Some(header) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = header.to_str().unwrap_or_default();
    if !(1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len()) {
        let detail =
            format!("`Idempotency-Key` must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters");
        return Err(refusals::shape("invalid_idempotency_key", detail));
    }
    let value = serde_json::from_slice(body).unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
    let mut bytes = operation.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend(json::canonical(&value, json::Nulls::Keep));
    Ok(Some(KeyUse { scope: operation, key: key.to_owned(), digest: json::digest(&bytes) }))
}

/// A trace that the caller is in, where its header is one.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())
}
