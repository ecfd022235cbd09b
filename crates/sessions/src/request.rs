//! Bodies of the Agent Session Protocol as peers send them. Members that nobody knows are ignored at the top
//! level (wire.md D.9); what is wrong is said with the code of the member it is wrong in.

use std::collections::HashSet;

use bytes::Bytes;
use plenary_accounts::limits::{SEARCH_CHARS_MAX, SEARCH_CHARS_MIN};
use plenary_kernel::{AgentHandle, Class, Refusal, SessionId, json, limits::PAGE_EVENTS_MAX};
use plenary_shape::{
    Field, Form, Grammar, Items, Json, List, Manner, Misfit, Missing, Null, Order, Raw, Rule, Sent, Shape,
    Twice, Unit, Unknown, at_most, bounds, optional, required,
};
use serde_json::{Value, value::RawValue};

use crate::{
    FOUND_MAX, INVITE_MAX, LIST_MAX, TOPIC_CHARS_MAX,
    command::{CreateBody, Draft, ReopenBody},
    content::{self, Content},
};

/// Longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// How this room refuses what it cannot read.
static MANNER: Manner = Manner {
    class: Class::Malformed,
    quote: "`",
    stop: ".",
    integer: "an integer from ",
    code: "invalid_body",
    whole: ("invalid_body", "The body must be a JSON object"),
    twice: Twice::Whole("invalid_query", "The query can't be read: send each parameter once, as text"),
    missing: Missing::AsWrong,
    unknown: Unknown::Ignored,
    null: Null::Absent,
    order: Order::InTurn,
    types_first: false,
    items: Items::Whole,
    describes_forms: false,
};

static HANDLE: Grammar = Grammar::of::<AgentHandle>("an agent handle, @owner.name");
static SESSION: Grammar = Grammar::plain::<SessionId>("the id of a session, `sess_…`");
static CONTENT: Json =
    Json { check: content::check, schema: |generator| generator.subschema_for::<Content>() };

const ANY_TEXT: Form = Form::Text(Unit::Bytes, at_most(u64::MAX));
const KEY: Field = optional(
    "idempotency_key",
    Form::Text(Unit::Characters, bounds(1, IDEMPOTENCY_KEY_CHARS_MAX as u64)),
    "Makes a retry safe.",
)
.code("invalid_idempotency_key");
const MESSAGE_CONTENT: Field =
    required("content", Form::Json(&CONTENT), "A string, or a list of typed parts.")
        .missing(Missing::Whole(": `content` is missing"));
const METADATA: Field =
    optional("metadata", Form::Map, "Anything structured; returned as given.").code("invalid_metadata");
const INITIAL: Form = Form::Object(&INITIAL_MESSAGE);

const fn handles(min: u64) -> List {
    List {
        items: bounds(min, INVITE_MAX as u64),
        of: Form::Of(&HANDLE),
        noun: "agent handles, @owner.name",
        type_says: "",
        is_set: false,
    }
}

const fn invited(field: Field) -> Field {
    field.code("invalid_invite").wants("a list of 1 to 50 agent handles, @owner.name")
}

const fn limit(max: usize, says: &'static str) -> Field {
    optional("limit", Form::Integer(bounds(1, max as u64)), says).code("invalid_limit")
}

/// A message that comes with a session.
static INITIAL_MESSAGE: Shape =
    Shape::new("InitialMessage", &MANNER, &[MESSAGE_CONTENT.code("invalid_initial_message"), METADATA])
        .says("A message that comes with a session.");

/// What `POST /sessions` takes.
pub(crate) static CREATE: Shape = Shape::new(
    "CreateSession",
    &MANNER,
    &[
        KEY,
        optional("initial_message", INITIAL, "The first message, sequence 1.")
            .code("invalid_initial_message")
            .wants(": must be an object"),
        optional("end_after_send", Form::Flag, "Sends the message with the invitations and ends at once.")
            .code("invalid_end_after_send"),
        invited(optional(
            "invite",
            Form::List(&handles(0)),
            "Agents to invite; each is told who invites and the topic, nothing more.",
        )),
        optional(
            "topic",
            Form::Shown(Unit::Characters, at_most(TOPIC_CHARS_MAX as u64)),
            "What it is about.",
        )
        .code("invalid_topic"),
    ],
)
.says("What `POST /sessions` takes.")
.rules(&[Rule::With(
    "end_after_send",
    "initial_message",
    "end_after_send_requires_initial_message",
    " needs an `initial_message`",
)]);

/// What `POST /sessions/{id}/messages` takes.
pub(crate) static SEND: Shape =
    Shape::new("SendMessage", &MANNER, &[KEY, MESSAGE_CONTENT.code("invalid_content"), METADATA])
        .says("What `POST /sessions/{id}/messages` takes.");

/// The key alone: it counts in a body that is wrong, too.
static KEYED: Shape = Shape::new("", &MANNER, &[KEY]);

/// What `POST /sessions/{id}/invite` takes.
pub(crate) static INVITE: Shape = Shape::new(
    "InviteAgents",
    &MANNER,
    &[invited(required("invite", Form::List(&handles(1)), "Agents to invite."))],
)
.says("What `POST /sessions/{id}/invite` takes.");

/// What `POST /sessions/{id}/reopen` takes.
pub(crate) static REOPEN: Shape = Shape::new(
    "ReopenSession",
    &MANNER,
    &[
        invited(optional(
            "invite",
            Form::List(&handles(0)),
            "Agents to invite; absent: everyone else who was joined at the end.",
        )),
        optional("initial_message", INITIAL, "A message that goes with it.")
            .code("invalid_initial_message")
            .wants(": must be an object"),
    ],
)
.says("What `POST /sessions/{id}/reopen` takes.");

/// The query of `GET /sessions`.
pub(crate) static LISTING: Shape = Shape::new(
    "",
    &MANNER,
    &[
        limit(LIST_MAX, "How many; 1000 when absent, at most 1000."),
        optional("before", ANY_TEXT, "The `next_cursor` of the page before."),
    ],
);

/// The query of `GET /sessions/{id}/events`.
pub(crate) static EVENTS: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "after_sequence",
            Form::Integer(bounds(0, i64::MAX as u64)),
            "Only events behind this one; 0 when absent.",
        )
        .code("invalid_after_sequence")
        .wants("an integer of at least 0"),
        limit(PAGE_EVENTS_MAX, "How many; 1000 when absent, at most 1000."),
    ],
);

/// The query of `GET /connect`.
pub(crate) static CONNECT: Shape = Shape::new(
    "",
    &MANNER,
    &[
        optional(
            "events",
            Form::OneOf(&["envelope", "flat"]),
            "`envelope` or `flat`; both at once when absent.",
        )
        .code("invalid_events")
        .wants("`envelope` or `flat`"),
        optional("ticket", ANY_TEXT, "From `POST /auth/ticket`, for clients that can't set headers."),
    ],
);

/// The query of `GET /search/messages`.
pub(crate) static SEARCH: Shape = Shape::new(
    "",
    &MANNER,
    &[
        required(
            "q",
            Form::Text(Unit::Characters, bounds(SEARCH_CHARS_MIN as u64, SEARCH_CHARS_MAX as u64)),
            "What to search for, 2 to 100 characters.",
        )
        .code("invalid_query")
        .wants("a text of 2 to 100 characters"),
        limit(FOUND_MAX, "How many; 20 when absent, at most 100."),
        optional("session_id", Form::Of(&SESSION), "Only in this session.").code("invalid_query"),
        optional(
            "counterpart",
            Form::Of(&HANDLE),
            "Only in sessions in which this agent takes or took part.",
        )
        .code("invalid_handle"),
        optional("cursor", ANY_TEXT, "The `next_cursor` of the page before."),
    ],
);

/// A body as its shape reads it, or why not.
pub(crate) type Body<'a> = Result<Sent<Raw<'a>>, Misfit>;

/// A body as its shape reads it, or why not, and the idempotency key: the member, else the header (2.5 row 16). Both must
/// be well-formed.
pub(crate) fn read<'a>(
    shape: &'static Shape,
    body: &'a [u8],
    header: Option<&str>,
) -> Result<(Option<String>, Body<'a>), Refusal> {
    let sent = shape.read_body(body);
    let member = match &sent {
        Ok(sent) => sent.string("idempotency_key"),
        Err(_) => KEYED.read_body(body)?.string("idempotency_key"),
    };
    if header.is_some_and(|key| !(1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.chars().count())) {
        let text = "`idempotency_key` must be a string of 1 to 255 characters.";
        return Err(Refusal::malformed("invalid_idempotency_key", text));
    }
    Ok((member.or_else(|| header.map(str::to_owned)), sent))
}

/// `POST /sessions`.
pub(crate) fn created(sent: &Sent<Raw<'_>>) -> CreateBody {
    CreateBody {
        invite: invitees(sent).unwrap_or_default(),
        topic: sent.string("topic"),
        initial_message: initial_message(sent),
        end_after_send: sent.flag("end_after_send").unwrap_or_default(),
    }
}

/// `POST /sessions/{id}/reopen`.
pub(crate) fn reopened(sent: &Sent<Raw<'_>>) -> ReopenBody {
    ReopenBody { invite: invitees(sent), initial_message: initial_message(sent) }
}

/// Handles, each once, in the order given (2.5 row 18).
pub(crate) fn invitees(sent: &Sent<Raw<'_>>) -> Option<Vec<AgentHandle>> {
    let named: Vec<AgentHandle> = sent.list("invite")?;
    let mut seen = HashSet::new();
    Some(named.into_iter().filter(|handle| seen.insert(handle.clone())).collect())
}

fn initial_message(sent: &Sent<Raw<'_>>) -> Option<Draft> {
    sent.object("initial_message").map(|message| draft(&message, None))
}

/// A message as it is kept. The key, when there is one, is part of the message as sent.
pub(crate) fn draft(sent: &Sent<Raw<'_>>, key: Option<&str>) -> Draft {
    let content = sent.get("content").map_or("null", RawValue::get);
    let mut members = Vec::with_capacity(content.len() + 64);
    members.extend(b"\"content\":");
    members.extend(content.as_bytes());
    if let Some(key) = key {
        members.extend(b",\"idempotency_key\":");
        members.extend(Value::from(key).to_string().as_bytes());
    }
    if let Some(metadata) = sent.get("metadata") {
        members.extend(b",\"metadata\":");
        members.extend(metadata.get().as_bytes());
    }
    Draft { members: Bytes::from(members), origin: None }
}

/// The digest of a request without its key: equal JSON values have equal digests (wire.md D.9).
pub(crate) fn digest(operation: &str, body: &[u8]) -> [u8; 32] {
    let mut value = serde_json::from_slice(body).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut value {
        members.remove("idempotency_key");
    } else {
        value = Value::Object(serde_json::Map::new());
    }
    let mut bytes = operation.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend(json::canonical(&value, json::Nulls::Keep));
    json::digest(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(answer: Result<T, Misfit>) -> &'static str {
        answer.map_or_else(|misfit| misfit.code, |_| "ok")
    }

    #[test]
    fn asp_64_the_body_of_create_is_refused_member_by_member() {
        for (body, expected) in [
            ("", "ok"),
            ("{}", "ok"),
            (r#"{"unknown":1,"topic":null}"#, "ok"),
            (r#"{"invite":["@a.b","@a.b"],"topic":"t"}"#, "ok"),
            (r#"{"invite":"@a.b"}"#, "invalid_invite"),
            (r#"{"invite":["a.b"]}"#, "invalid_invite"),
            (r#"{"topic":5}"#, "invalid_topic"),
            (r#"{"topic":"two\nlines"}"#, "invalid_topic"),
            (r#"{"topic":"\u202egpj.exe"}"#, "invalid_topic"),
            (r#"{"initial_message":"hi"}"#, "invalid_initial_message"),
            (r#"{"initial_message":{"content":""}}"#, "invalid_initial_message"),
            (r#"{"end_after_send":"yes"}"#, "invalid_end_after_send"),
            (r#"{"end_after_send":true}"#, "end_after_send_requires_initial_message"),
        ] {
            assert_eq!(code(CREATE.read_body(body.as_bytes())), expected, "{body}");
        }
        assert_eq!(code(CREATE.read_body(b"[]")), "invalid_body");
        let many =
            format!(r#"{{"invite":{:?}}}"#, (0..=INVITE_MAX).map(|n| format!("@a.b{n}")).collect::<Vec<_>>());
        assert_eq!(code(CREATE.read_body(many.as_bytes())), "invalid_invite");
    }

    #[test]
    fn asp_35_the_key_is_the_member_or_else_the_header() {
        let key = |body: &str, header: Option<&str>| {
            read(&SEND, body.as_bytes(), header).map(|(key, _)| key).map_err(|refusal| refusal.code)
        };
        assert_eq!(key(r#"{"idempotency_key":"k"}"#, Some("h")), Ok(Some("k".into())));
        assert_eq!(key("{}", Some("h")), Ok(Some("h".into())));
        assert_eq!(key("{}", None), Ok(None));
        let long = "é".repeat(255);
        assert_eq!(key("{}", Some(&long)), Ok(Some(long.clone())));
        for bad in [r#"{"idempotency_key":""}"#, r#"{"idempotency_key":5}"#] {
            assert_eq!(key(bad, None), Err("invalid_idempotency_key"));
        }
        assert_eq!(key("{}", Some(&format!("{long}x"))), Err("invalid_idempotency_key"));
    }

    #[test]
    fn asp_35_requests_are_equal_when_their_values_are() {
        let a = digest("send", br#"{"content":"x","idempotency_key":"k","metadata":{"a":1,"b":2.0}}"#);
        let b = digest("send", br#"{ "metadata" : {"b":2,"a":1}, "content":"\u0078" }"#);
        assert_eq!(a, b);
        assert_ne!(a, digest("send", br#"{"content":"y","metadata":{"a":1,"b":2}}"#));
        assert_ne!(a, digest("other", br#"{"content":"x","metadata":{"a":1,"b":2}}"#));
        assert_eq!(digest("send", b""), digest("send", b"{}"));
    }

    #[test]
    fn asp_36_content_and_metadata_are_kept_as_they_were_sent() {
        let body = br#"{"metadata":{ "b" : 1.0 , "a":[] },"content": "caf\u00e9" ,"idempotency_key":"k"}"#;
        let draft = draft(&SEND.read_body(body).unwrap(), Some("k"));
        let expected = r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 , "a":[] }"#;
        assert_eq!(draft.members, expected.as_bytes());
    }
}
