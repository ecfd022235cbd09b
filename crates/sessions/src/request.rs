//! Bodies of the Agent Session Protocol. Unknown members are ignored at the top level (wire.md D.9); an invalid
//! member is reported with its code.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use http::HeaderMap;
use plenary_edge::members_not_null;
use plenary_kernel::{AgentHandle, FileId, Refusal, json, text::check_line};
use plenary_room::{IDEMPOTENCY_KEY_CHARS_MAX, idempotency_key};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{
    INVITE_MAX, TOPIC_CHARS_MAX,
    command::{CreateBody, Draft, ReopenBody},
    content,
    event::json_object,
};

/// The key in the head of a request whose body has none.
pub(crate) fn header_key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    idempotency_key(headers)
        .map_err(|reason| Refusal::malformed("invalid_idempotency_key", format!("{reason}.")))
}

/// The body of `POST /sessions`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "CreateSession")]
pub struct CreateRequest {
    /// Agents to invite; each learns only the inviter and the topic.
    #[schemars(length(max = INVITE_MAX))]
    pub invite: Option<Vec<AgentHandle>>,
    /// What it is about.
    #[schemars(length(max = TOPIC_CHARS_MAX))]
    pub topic: Option<String>,
    /// The first message, sequence 1.
    pub initial_message: Option<InitialMessage>,
    /// Sends the message with the invitations and ends the session at once.
    pub end_after_send: Option<bool>,
    /// Makes a retry safe.
    #[schemars(length(min = 1, max = 255))]
    pub idempotency_key: Option<String>,
}

/// A message that comes with a session.
#[derive(Debug, JsonSchema)]
pub struct InitialMessage {
    /// A string, or a list of typed parts.
    pub content: Content,
    /// Any JSON object; returned as sent.
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// The body of `POST /sessions/{id}/messages`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "SendMessage")]
pub struct MessageRequest {
    /// A string, or a list of typed parts.
    pub content: Content,
    /// Makes a retry safe.
    #[schemars(length(min = 1, max = 255))]
    pub idempotency_key: Option<String>,
    /// Any JSON object; returned as sent.
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// Message content.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Content {
    /// Short for one text part.
    Text(#[schemars(length(min = 1))] String),
    /// Typed parts.
    Parts(#[schemars(length(min = 1, max = content::PARTS_MAX))] Vec<Part>),
}

/// A part of a message.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "lowercase", tag = "type", deny_unknown_fields, transform = members_not_null)]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        #[schemars(length(min = 1))]
        text: String,
    },
    /// By reference or inline: `url`, `data_uri` or `file_id`.
    Image {
        /// Where it is.
        #[schemars(length(min = 1))]
        url: Option<String>,
        /// The image itself, `data:…`.
        #[schemars(length(min = 1))]
        data_uri: Option<String>,
        /// One that was uploaded with `POST /files`.
        file_id: Option<FileId>,
        /// With `url`: the hash of what is there.
        hash: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
        /// Its name.
        name: Option<String>,
        /// With `file_id`: its size in bytes.
        size: Option<u64>,
    },
    /// Always by reference: `url` or `file_id`.
    File {
        /// Where it is.
        #[schemars(length(min = 1))]
        url: Option<String>,
        /// One that was uploaded with `POST /files`.
        file_id: Option<FileId>,
        /// Its name.
        name: Option<String>,
        /// Its media type.
        mime_type: Option<String>,
        /// Its size in bytes.
        size: Option<u64>,
    },
    /// Structured data.
    Data {
        /// Any object.
        data: serde_json::Map<String, Value>,
    },
}

/// The body of `POST /sessions/{id}/invite`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "InviteAgents")]
pub struct InviteRequest {
    /// Agents to invite.
    #[schemars(length(min = 1, max = INVITE_MAX))]
    pub invite: Vec<AgentHandle>,
}

/// The body of `POST /sessions/{id}/reopen`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ReopenSession")]
pub struct ReopenRequest {
    /// Agents to invite; absent: everyone else who was joined at the end.
    #[schemars(length(max = INVITE_MAX))]
    pub invite: Option<Vec<AgentHandle>>,
    /// A message that is sent with it.
    pub initial_message: Option<InitialMessage>,
}

/// The members of a body, unread.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Fields<'a> {
    #[serde(borrow)]
    invite: Option<&'a RawValue>,
    #[serde(borrow)]
    topic: Option<&'a RawValue>,
    #[serde(borrow)]
    initial_message: Option<&'a RawValue>,
    #[serde(borrow)]
    end_after_send: Option<&'a RawValue>,
    #[serde(borrow)]
    idempotency_key: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

impl<'a> Fields<'a> {
    /// Reads a body that passed the JSON check. An empty one is `{}`.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, Refusal> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(body)
            .map_err(|_| Refusal::malformed("invalid_body", "The body must be a JSON object."))
    }

    /// The idempotency key: the member, else the header (2.5 row 16). Both must be well-formed.
    pub(crate) fn key(&self, header: Option<&str>) -> Result<Option<String>, Refusal> {
        let invalid = || {
            let text = "`idempotency_key` must be a string of 1 to 255 characters.";
            Refusal::malformed("invalid_idempotency_key", text)
        };
        let member = self.idempotency_key.map(|raw| value::<String>(raw).ok_or_else(invalid)).transpose()?;
        let is_key = |key: &String| (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.chars().count());
        if !member.as_ref().is_none_or(is_key) {
            return Err(invalid());
        }
        Ok(member.or_else(|| header.map(str::to_owned)))
    }

    /// `POST /sessions`.
    pub(crate) fn create(&self) -> Result<CreateBody, Refusal> {
        let initial_message = self.initial_message()?;
        let end_after_send = match self.end_after_send {
            None => false,
            Some(raw) => value(raw).ok_or_else(|| {
                Refusal::malformed("invalid_end_after_send", "`end_after_send` must be true or false.")
            })?,
        };
        if end_after_send && initial_message.is_none() {
            let text = "`end_after_send` needs an `initial_message`.";
            return Err(Refusal::malformed("end_after_send_requires_initial_message", text));
        }
        let invite = self.invite.map(|raw| invitees(raw, 0)).transpose()?.unwrap_or_default();
        Ok(CreateBody { invite, topic: self.topic()?, initial_message, end_after_send })
    }

    /// `POST /sessions/{id}/messages`. The key, when it came in the body, is part of the message as sent.
    pub(crate) fn message(&self, key: Option<&str>) -> Result<Draft, Refusal> {
        let refusal = |reason: String| Refusal::malformed("invalid_content", format!("{reason}."));
        let content = self.content.ok_or_else(|| refusal("`content` is missing".into()))?;
        let files = content::check(content).map_err(refusal)?;
        draft(content, files, key, self.metadata)
    }

    /// `POST /sessions/{id}/invite`.
    pub(crate) fn invitees(&self) -> Result<Vec<AgentHandle>, Refusal> {
        self.invite.map_or_else(|| Err(invalid_invite(1)), |raw| invitees(raw, 1))
    }

    /// `POST /sessions/{id}/reopen`.
    pub(crate) fn reopen(&self) -> Result<ReopenBody, Refusal> {
        let invite = self.invite.map(|raw| invitees(raw, 0)).transpose()?;
        Ok(ReopenBody { invite, initial_message: self.initial_message()? })
    }

    fn topic(&self) -> Result<Option<String>, Refusal> {
        let Some(raw) = self.topic else { return Ok(None) };
        let refusal = |reason: String| Refusal::malformed("invalid_topic", format!("`topic` {reason}."));
        match value::<String>(raw) {
            Some(topic) if topic.chars().count() <= TOPIC_CHARS_MAX => {
                check_line(&topic).map_err(refusal)?;
                Ok(Some(topic))
            }
            _ => Err(refusal(format!("must be a string of at most {TOPIC_CHARS_MAX} characters"))),
        }
    }

    fn initial_message(&self) -> Result<Option<Draft>, Refusal> {
        let Some(raw) = self.initial_message else { return Ok(None) };
        let refusal = |reason: String| {
            Refusal::malformed("invalid_initial_message", format!("`initial_message`: {reason}."))
        };
        let fields: Fields<'_> =
            serde_json::from_str(raw.get()).map_err(|_| refusal("must be an object".into()))?;
        let content = fields.content.ok_or_else(|| refusal("`content` is missing".into()))?;
        let files = content::check(content).map_err(refusal)?;
        draft(content, files, None, fields.metadata).map(Some)
    }
}

/// A checked message that names these files by other ids; `None` if it cannot be read.
pub(crate) fn rename_files(draft: &Draft, names: &BTreeMap<FileId, FileId>) -> Option<Draft> {
    let text = json_object(&draft.members);
    let fields = Fields::read(&text).ok()?;
    let key = fields.key(None).ok()?;
    let content = content::rename_files(fields.content?, names)?;
    let message = Fields { content: Some(&content), ..fields }.message(key.as_deref()).ok()?;
    Some(Draft { origin: draft.origin, trace: draft.trace.clone(), ..message })
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

fn value<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

fn invalid_invite(min: usize) -> Refusal {
    let text = format!("`invite` must be a list of {min} to {INVITE_MAX} agent handles, @owner.name.");
    Refusal::malformed("invalid_invite", text)
}

/// Parses `min` to 50 handles. Repeated ones are dropped; the order is kept (2.5 row 18).
fn invitees(raw: &RawValue, min: usize) -> Result<Vec<AgentHandle>, Refusal> {
    let mut handles: Vec<AgentHandle> = value(raw).ok_or_else(|| invalid_invite(min))?;
    let mut seen = HashSet::new();
    handles.retain(|handle| seen.insert(handle.clone()));
    if (min..=INVITE_MAX).contains(&handles.len()) { Ok(handles) } else { Err(invalid_invite(min)) }
}

fn draft(
    content: &RawValue,
    files: Vec<FileId>,
    key: Option<&str>,
    metadata: Option<&RawValue>,
) -> Result<Draft, Refusal> {
    let mut members = Vec::with_capacity(content.get().len() + 64);
    members.extend(b"\"content\":");
    members.extend(content.get().as_bytes());
    if let Some(key) = key {
        members.extend(b",\"idempotency_key\":");
        members.extend(Value::from(key).to_string().as_bytes());
    }
    if let Some(metadata) = metadata {
        if !metadata.get().starts_with('{') {
            return Err(Refusal::malformed("invalid_metadata", "`metadata` must be an object."));
        }
        members.extend(b",\"metadata\":");
        members.extend(metadata.get().as_bytes());
    }
    Ok(Draft { members: Bytes::from(members), origin: None, files, trace: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(answer: Result<T, Refusal>) -> &'static str {
        answer.map_or_else(|refusal| refusal.code, |_| "ok")
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
            assert_eq!(code(Fields::read(body.as_bytes()).unwrap().create()), expected, "{body}");
        }
        assert_eq!(code(Fields::read(b"[]").map(drop)), "invalid_body");
        let many =
            format!(r#"{{"invite":{:?}}}"#, (0..=INVITE_MAX).map(|n| format!("@a.b{n}")).collect::<Vec<_>>());
        assert_eq!(code(Fields::read(many.as_bytes()).unwrap().create()), "invalid_invite");
    }

    #[test]
    fn asp_17_repeated_handles_count_once_and_only_an_invitation_needs_one() {
        let invite = |handles: Vec<String>| format!(r#"{{"invite":{handles:?}}}"#);
        let repeated = (0..4 * INVITE_MAX).map(|n| format!("@a.b{}", n % INVITE_MAX)).collect();
        let repeated = invite(repeated);
        let fields = Fields::read(repeated.as_bytes()).unwrap();
        assert_eq!(fields.create().unwrap().invite.len(), INVITE_MAX);
        assert_eq!(fields.reopen().unwrap().invite.map(|handles| handles.len()), Some(INVITE_MAX));
        assert_eq!(fields.invitees().unwrap().len(), INVITE_MAX);
        let nobody = invite(Vec::new());
        let fields = Fields::read(nobody.as_bytes()).unwrap();
        assert_eq!((code(fields.create()), code(fields.reopen())), ("ok", "ok"));
        let refusal = fields.invitees().unwrap_err();
        assert!(refusal.message.contains("1 to 50"), "{}", refusal.message);
        let refusal = Fields::read(br#"{"invite":0}"#).unwrap().create().map(drop).unwrap_err();
        assert!(refusal.message.contains("0 to 50"), "{}", refusal.message);
    }

    #[test]
    fn asp_35_the_key_is_the_member_or_else_the_header() {
        let key = |body: &str, header| {
            let body = body.to_owned();
            Fields::read(body.as_bytes()).unwrap().key(header).map_err(|refusal| refusal.code)
        };
        assert_eq!(key(r#"{"idempotency_key":"k"}"#, Some("h")), Ok(Some("k".into())));
        assert_eq!(key("{}", Some("h")), Ok(Some("h".into())));
        assert_eq!(key("{}", None), Ok(None));
        let member = |key: &str| format!(r#"{{"idempotency_key":"{key}"}}"#);
        let long = "é".repeat(255);
        assert_eq!(key(&member(&long), None), Ok(Some(long.clone())));
        for bad in [member(""), member(&format!("{long}x")), r#"{"idempotency_key":5}"#.to_owned()] {
            assert_eq!(key(&bad, None), Err("invalid_idempotency_key"));
        }
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
        let draft = Fields::read(body).unwrap().message(Some("k")).unwrap();
        let expected = r#""content":"caf\u00e9","idempotency_key":"k","metadata":{ "b" : 1.0 , "a":[] }"#;
        assert_eq!(draft.members, expected.as_bytes());
    }
}
