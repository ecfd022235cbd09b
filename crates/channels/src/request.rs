//! Request bodies and queries. Unknown members are ignored; an invalid member gets 422 with its code (CH-25; wire.md D.6).
//! Must not know: the channel.

use std::ops::RangeInclusive;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use plenary_engine::KeyUse;
use plenary_kernel::{json, text::check_line};
use plenary_room::idempotency_key;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    AUTHOR_CHARS_MAX, KIND_CHARS_MAX, LIMIT_DEFAULT, LIMIT_MAX, TITLE_CHARS_MAX,
    command::Draft,
    id::ChannelId,
    refusals::{self, ChannelRefusal},
};

/// The body of `POST /agent-channel`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "CreateChannel")]
#[expect(dead_code, reason = "the description is made from it; `Fields` reads it member by member")]
pub(crate) struct CreateRequest {
    /// What it is about.
    #[schemars(length(max = 200))]
    title: Option<String>,
    /// The creator, by its stable name; the handle of the token if absent or empty.
    #[schemars(length(max = 128))]
    created_by: Option<String>,
}

/// The body of `POST /agent-channel/{id}/event`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "AppendChannelEvent")]
#[expect(dead_code, reason = "the description is made from it; `Fields` reads it member by member")]
pub(crate) struct AppendRequest {
    /// A free string; `spec`, `state`, `status`, `comms` and `log` have a defined meaning.
    #[schemars(length(min = 1, max = 64))]
    kind: String,
    /// A stable name of the agent; the handle of the token when it is absent or empty.
    #[schemars(length(max = 128))]
    author: Option<String>,
    /// Any object.
    payload: serde_json::Map<String, Value>,
}

/// The members of a body, not yet parsed. A null counts as absent.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Fields<'a> {
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    created_by: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    author: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

impl<'a> Fields<'a> {
    /// Reads a body that passed the strict JSON check. An empty body counts as `{}`.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, ChannelRefusal> {
        // Serde would accept an array as the members in order.
        match body.trim_ascii_start().first() {
            None => Ok(Self::default()),
            Some(b'{') => serde_json::from_slice(body).map_err(|_| not_an_object()),
            Some(_) => Err(not_an_object()),
        }
    }

    /// The title and the creator.
    pub(crate) fn create(&self) -> Result<(String, Option<String>), ChannelRefusal> {
        let title = TITLE.read(self.title)?.unwrap_or_default();
        let author = CREATED_BY.read(self.created_by)?;
        Ok((title, author.filter(|author| !author.is_empty())))
    }

    /// The event. Its payload is a slice of the body, so it keeps every byte.
    pub(crate) fn event(&self, body: &Bytes) -> Result<Draft, ChannelRefusal> {
        let kind = KIND.read(self.kind)?.ok_or_else(|| KIND.wrong_length())?;
        let author = AUTHOR.read(self.author)?;
        let payload = self.payload.map(RawValue::get).filter(|payload| payload.starts_with('{'));
        let payload =
            payload.ok_or_else(|| refusals::shape("invalid_payload", "`payload` must be a JSON object"))?;
        let payload = body.slice_ref(payload.as_bytes());
        Ok(Draft { kind, author: author.filter(|author| !author.is_empty()), payload })
    }
}

fn not_an_object() -> ChannelRefusal {
    refusals::shape("invalid_body", "the body must be a JSON object")
}

/// A member that is a one-line text of limited length.
struct TextMember {
    name: &'static str,
    code: &'static str,
    chars: RangeInclusive<usize>,
}

const TITLE: TextMember = TextMember { name: "title", code: "invalid_title", chars: 0..=TITLE_CHARS_MAX };
const CREATED_BY: TextMember =
    TextMember { name: "created_by", code: "invalid_created_by", chars: 0..=AUTHOR_CHARS_MAX };
const KIND: TextMember = TextMember { name: "kind", code: "invalid_kind", chars: 1..=KIND_CHARS_MAX };
const AUTHOR: TextMember = TextMember { name: "author", code: "invalid_author", chars: 0..=AUTHOR_CHARS_MAX };

impl TextMember {
    fn read(&self, raw: Option<&RawValue>) -> Result<Option<String>, ChannelRefusal> {
        let Some(raw) = raw else { return Ok(None) };
        let text = serde_json::from_str::<String>(raw.get()).ok();
        let text = text.filter(|text| self.chars.contains(&text.chars().count()));
        let text = text.ok_or_else(|| self.wrong_length())?;
        check_line(&text).map_err(|why| refusals::shape(self.code, format!("`{}` {why}", self.name)))?;
        Ok(Some(text))
    }

    fn wrong_length(&self) -> ChannelRefusal {
        let (min, max) = (self.chars.start(), self.chars.end());
        let bounds = if *min == 0 { format!("at most {max}") } else { format!("{min} to {max}") };
        refusals::shape(self.code, format!("`{}` must be a string of {bounds} characters", self.name))
    }
}

/// The idempotency key of a request, in the scope of the operation and the caller. Equal JSON is the same request.
pub(crate) fn key(
    operation: String,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Option<KeyUse>, ChannelRefusal> {
    let sent = idempotency_key(headers)
        .map_err(|why| refusals::shape("invalid_idempotency_key", why.to_string()))?;
    let Some(key) = sent else { return Ok(None) };
    let value = serde_json::from_slice(body).unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
    let mut bytes = operation.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend(json::canonical(&value, json::Nulls::Keep));
    Ok(Some(KeyUse { scope: operation, key: key.to_owned(), digest: json::digest(&bytes) }))
}

/// An integer of the query, clamped to the range of `i128`; `None` if the text is not an integer.
fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let beyond = if text.starts_with('-') { i128::MIN } else { i128::MAX };
    is_integer.then(|| text.parse().unwrap_or(beyond))
}

/// The number of rows, clamped to 1 to 500; 422 if it is not an integer.
pub(crate) fn limit(text: Option<&str>) -> Result<usize, ChannelRefusal> {
    let Some(text) = text else { return Ok(LIMIT_DEFAULT) };
    let limit =
        integer(text).ok_or_else(|| refusals::shape("invalid_limit", "`limit` must be an integer"))?;
    Ok(usize::try_from(limit.clamp(1, LIMIT_MAX as i128)).unwrap_or(LIMIT_MAX))
}

/// An event id of the query; the event need not exist.
pub(crate) fn event_id(
    text: Option<&str>,
    code: &'static str,
    name: &str,
) -> Result<Option<u64>, ChannelRefusal> {
    let Some(text) = text else { return Ok(None) };
    let id = integer(text).ok_or_else(|| refusals::shape(code, format!("`{name}` must be an integer")))?;
    // Clamped to the range of the store; no event has a higher id.
    Ok(Some(u64::try_from(id.clamp(0, i128::from(i64::MAX - 1))).unwrap_or(0)))
}

/// The cursor of a page of channels, as a link has it: the time of a channel, and its id.
pub(crate) fn cursor(text: Option<&str>) -> Result<Option<&str>, ChannelRefusal> {
    let is_cursor = |text: &str| {
        let parts = text.split_once('/');
        parts.is_some_and(|(at, id)| at.parse::<u64>().is_ok() && id.parse::<ChannelId>().is_ok())
    };
    match text {
        Some(text) if !is_cursor(text) => {
            Err(refusals::shape("invalid_cursor", "`cursor` must come from the `Link` of a page"))
        }
        sent => Ok(sent),
    }
}

/// A boolean of the query.
pub(crate) fn switch(
    text: Option<&str>,
    default: bool,
    code: &'static str,
    name: &str,
) -> Result<bool, ChannelRefusal> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None => Ok(default),
        Some("1" | "true" | "yes" | "on") => Ok(true),
        Some("0" | "false" | "no" | "off") => Ok(false),
        Some(_) => Err(refusals::shape(code, format!("`{name}` must be true or false"))),
    }
}

/// 422: a parameter occurs twice or is not text.
pub(crate) fn invalid_query() -> ChannelRefusal {
    refusals::shape("invalid_query", "the query cannot be read: send each parameter once, as text")
}

/// A header's value; `None` if it is absent or not visible ASCII.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())
}
