//! Events on the wire (wire.md D.4): the published envelope, the older flat members, or both at once. Each form is
//! encoded once for all readers. Pure, but for the transport's types.

use std::{fmt::Write as _, sync::OnceLock};

use axum::extract::ws::Utf8Bytes;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_log::{Fault, StoredEvent};
use serde_json::Value;

use crate::event::{LeftReason, MessageHead, SessionEvent, event_time, sequence};

/// The form of events that a reader wants, `?events=`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// Envelope and flat members at once.
    #[default]
    Both,
    /// `type, session_id, event_id, sequence, created_at, payload`.
    Envelope,
    /// The seed's own: everything at top level.
    Flat,
}

impl Form {
    /// Parses the value of `?events=`; `None` for an unknown value.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "envelope" => Some(Self::Envelope),
            "flat" => Some(Self::Flat),
            _ => None,
        }
    }
}

/// The encoded forms of one event, each produced on first use.
#[derive(Debug, Default)]
pub struct EncodedEvent([OnceLock<Utf8Bytes>; 3]);

impl EncodedEvent {
    /// The text in this form, if it was encoded before.
    pub(crate) fn get(&self, form: Form) -> Option<Utf8Bytes> {
        self.0[form as usize].get().cloned()
    }

    /// Stores the text in this form; an earlier text stays.
    pub(crate) fn set(&self, form: Form, text: String) -> Utf8Bytes {
        self.0[form as usize].get_or_init(|| Utf8Bytes::from(text)).clone()
    }
}

/// Writes an event. `first` is the session's first message, for an invitation that carries it (ASP-29).
pub(crate) fn write(
    session: &SessionId,
    topic: Option<&str>,
    stored_event: &StoredEvent,
    event: &SessionEvent,
    first: Option<&StoredEvent>,
    form: Form,
) -> Result<String, Fault> {
    if let SessionEvent::MessageSent(event) = event {
        let head = MessageHead { id: &event.id, sender: event.sender.as_str() };
        return write_message(session, stored_event, &head, form);
    }
    let (kind, id, payload, flat) = members(session, topic, stored_event, event, first)?;
    let mut text = String::with_capacity(192 + payload.len() + flat.len());
    let (sequence, at) = (sequence(stored_event.version), event_time(id, stored_event.at).0);
    let _ = write!(
        text,
        r#"{{"type":"session.{kind}","session_id":"{session}","event_id":"evt_{id}","sequence":{sequence},"created_at":{at}"#
    );
    if form != Form::Flat {
        let _ = write!(text, r#","payload":{{{payload}}}"#);
    }
    if form != Form::Envelope && !flat.is_empty() {
        text.push(',');
        text.push_str(&flat);
    }
    text.push('}');
    Ok(text)
}

/// The bytes of a message in its longest form, without its session, its sender and their members.
const MESSAGE_BYTES: usize = 320;

/// A message, the most frequent event: concatenated from its parts with one allocation.
pub(crate) fn write_message(
    session: &SessionId,
    stored_event: &StoredEvent,
    &MessageHead { id, sender }: &MessageHead<'_>,
    form: Form,
) -> Result<String, Fault> {
    let session = session.as_str();
    let members = text(stored_event)?;
    let (sequence, at) = (sequence(stored_event.version), event_time(id, stored_event.at).0);
    let mut text = String::with_capacity(MESSAGE_BYTES + 2 * (session.len() + sender.len() + members.len()));
    add(
        &mut text,
        &[r#"{"type":"session.message","session_id":""#, session, r#"","event_id":"evt_"#, id, "\""],
    );
    let numbers = text.len();
    let _ = write!(text, r#","sequence":{sequence},"created_at":{at}"#);
    let numbers = numbers..text.len();
    if form != Form::Flat {
        add(&mut text, &[r#","payload":{"id":"msg_"#, id, r#"","session_id":""#, session]);
        add(&mut text, &[r#"","sender":""#, sender, "\""]);
        text.extend_from_within(numbers);
        add(&mut text, &[",", members, "}"]);
    }
    if form != Form::Envelope {
        add(&mut text, &[r#","id":"msg_"#, id, r#"","sender":""#, sender, r#"","#, members]);
    }
    text.push('}');
    Ok(text)
}

fn add(text: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| text.push_str(part));
}

/// The members of a message from its id on: the sender's, and those that the server adds.
pub(crate) fn message(
    session: &SessionId,
    stored_event: &StoredEvent,
    &MessageHead { id, sender }: &MessageHead<'_>,
) -> Result<String, Fault> {
    let (sequence, at) = (sequence(stored_event.version), event_time(id, stored_event.at).0);
    let members = text(stored_event)?;
    Ok(format!(
        r#""id":"msg_{id}","session_id":"{session}","sender":"{sender}","sequence":{sequence},"created_at":{at},{members}"#
    ))
}

fn text(stored_event: &StoredEvent) -> Result<&str, Fault> {
    std::str::from_utf8(&stored_event.payload).map_err(|_| {
        Fault::Corrupt(format!("the payload at {} of {}", stored_event.version, stored_event.stream))
    })
}

type Members<'a> = (&'static str, &'a str, String, String);

/// The kind, the id, the members of the payload, and the flat members that the envelope lacks.
fn members<'a>(
    session: &SessionId,
    topic: Option<&str>,
    stored_event: &StoredEvent,
    event: &'a SessionEvent,
    first: Option<&StoredEvent>,
) -> Result<Members<'a>, Fault> {
    let agent = |handle: &AgentHandle| format!(r#""agent":"{handle}""#);
    Ok(match event {
        SessionEvent::SessionCreated(_) | SessionEvent::MessageSent(_) => {
            return Err(Fault::Corrupt(format!(
                "a {} among other events of {}",
                stored_event.kind, stored_event.stream
            )));
        }
        SessionEvent::AgentInvited(event) => {
            let mut extra = String::new();
            if let Some(topic) = topic {
                let _ = write!(extra, r#","topic":{}"#, Value::from(topic));
            }
            if let (true, Some(first)) = (event.inline, first)
                && let Some(head) = MessageHead::read(first)?
            {
                let _ = write!(extra, r#","initial_message":{{{}}}"#, message(session, first, &head)?);
            }
            let (invitee, by) = (&event.invitee, &event.by);
            let payload = format!(r#""invitee":"{invitee}","by":"{by}"{extra}"#);
            let flat = format!(r#""invitee":"{invitee}","invited_by":"{by}"{extra}"#);
            ("invited", &*event.id, payload, flat)
        }
        SessionEvent::AgentJoined(event) => same_members("joined", &event.id, agent(&event.agent)),
        SessionEvent::AgentDisconnected(event) => {
            same_members("disconnected", &event.id, agent(&event.agent))
        }
        SessionEvent::AgentReconnected(event) => same_members("reconnected", &event.id, agent(&event.agent)),
        SessionEvent::AgentLeft(event) => {
            let reason = match event.reason {
                LeftReason::Left => "left",
                LeftReason::GraceExpired => "grace_expired",
                LeftReason::AccordRevoked => "accord_revoked",
                LeftReason::HostRestored => "host_restored",
            };
            same_members("left", &event.id, format!(r#"{},"reason":"{reason}""#, agent(&event.agent)))
        }
        SessionEvent::SessionEnded(event) => {
            let by = event.by.as_ref().map(|by| format!(r#""ended_by":"{by}""#)).unwrap_or_default();
            same_members("ended", &event.id, by)
        }
        SessionEvent::SessionReopened(event) => {
            same_members("reopened", &event.id, format!(r#""reopened_by":"{}""#, event.by))
        }
    })
}

fn same_members<'a>(kind: &'static str, id: &'a str, members: String) -> Members<'a> {
    (kind, id, members.clone(), members)
}
