//! An event as the server sends it: the published envelope, its payload read by type (wire.md 2.1, 2.5 no. 1).
//! Must not know: how events arrive.

use plenary_kernel::{AgentHandle, ContactId, SessionId, TimestampMs};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{Error, Result, sessions::Message};

/// One event, with the JSON it was read from.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its type on the wire, e.g. `session.message` (ASP-31).
    pub kind: String,
    /// The session it belongs to; absent for contact events.
    pub session_id: Option<SessionId>,
    /// The contact request it belongs to.
    pub request_id: Option<ContactId>,
    /// Its id, `evt_…`.
    pub event_id: String,
    /// Its sequence in its session, from 1 without gaps (ASP-33); absent for contact events.
    pub sequence: Option<u64>,
    /// When the server recorded it (ASP-34).
    pub created_at: TimestampMs,
    /// Its payload.
    pub body: EventBody,
    raw: Box<RawValue>,
}

/// The payload, by type.
#[derive(Debug, Clone)]
pub enum EventBody {
    /// `session.invited`
    Invited {
        /// The invited agent.
        invitee: AgentHandle,
        /// The inviting agent.
        by: AgentHandle,
        /// The session's topic.
        topic: Option<String>,
        /// Inline only in send-and-end (ASP-29).
        initial_message: Option<Box<Message>>,
    },
    /// `session.joined`
    Joined(AgentHandle),
    /// `session.disconnected`: the last connection is lost, and the grace window runs (ASP-49).
    Disconnected(AgentHandle),
    /// `session.reconnected`: back within the grace window (ASP-50).
    Reconnected(AgentHandle),
    /// `session.left`
    Left {
        /// The agent that left.
        agent: AgentHandle,
        /// The reason, if given.
        reason: Option<LeftReason>,
    },
    /// `session.message`
    Message(Box<Message>),
    /// `session.ended`, with the agent that ended it, if any.
    Ended(Option<AgentHandle>),
    /// `session.reopened`, with the agent that reopened it.
    Reopened(AgentHandle),
    /// `contact.requested`
    ContactRequested {
        /// The requesting agent.
        from: AgentHandle,
        /// The requested agent.
        to: AgentHandle,
        /// The message of the request.
        message: Option<String>,
    },
    /// `contact.accepted`, with the agent that accepted.
    ContactAccepted(AgentHandle),
    /// `contact.declined`, with the agent that declined.
    ContactDeclined(AgentHandle),
    /// A type that this client does not know; the payload is in [`Event::json`].
    Unknown,
}

/// The reason why an agent left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftReason {
    /// It left by itself.
    Left,
    /// It stayed away longer than the grace window (ASP-51).
    GraceExpired,
    /// The accord with its network was revoked.
    AccordRevoked,
    /// The network of the session was restored from a backup, and the copy of the other network no longer continues it.
    HostRestored,
    /// A reason that this client does not know.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    session_id: Option<SessionId>,
    request_id: Option<ContactId>,
    event_id: String,
    sequence: Option<u64>,
    created_at: TimestampMs,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct InvitedMembers {
    invitee: AgentHandle,
    by: AgentHandle,
    topic: Option<String>,
    initial_message: Option<Box<Message>>,
}

#[derive(Deserialize)]
struct AgentMembers {
    agent: AgentHandle,
    reason: Option<LeftReason>,
}

#[derive(Deserialize)]
struct ActorMembers {
    by: AgentHandle,
}

#[derive(Deserialize)]
struct EndMembers {
    ended_by: Option<AgentHandle>,
}

#[derive(Deserialize)]
struct ReopenMembers {
    reopened_by: AgentHandle,
}

#[derive(Deserialize)]
struct ContactRequested {
    from: AgentHandle,
    to: AgentHandle,
    message: Option<String>,
}

impl EventBody {
    fn read(kind: &str, payload: &str) -> serde_json::Result<Self> {
        fn parse<'a, T: Deserialize<'a>>(payload: &'a str) -> serde_json::Result<T> {
            serde_json::from_str(payload)
        }
        Ok(match kind {
            "session.invited" => {
                let InvitedMembers { invitee, by, topic, initial_message } = parse(payload)?;
                Self::Invited { invitee, by, topic, initial_message }
            }
            "session.joined" => Self::Joined(parse::<AgentMembers>(payload)?.agent),
            "session.disconnected" => Self::Disconnected(parse::<AgentMembers>(payload)?.agent),
            "session.reconnected" => Self::Reconnected(parse::<AgentMembers>(payload)?.agent),
            "session.left" => {
                let AgentMembers { agent, reason } = parse(payload)?;
                Self::Left { agent, reason }
            }
            "session.message" => Self::Message(parse(payload)?),
            "session.ended" => Self::Ended(parse::<EndMembers>(payload)?.ended_by),
            "session.reopened" => Self::Reopened(parse::<ReopenMembers>(payload)?.reopened_by),
            "contact.requested" => {
                let ContactRequested { from, to, message } = parse(payload)?;
                Self::ContactRequested { from, to, message }
            }
            "contact.accepted" => Self::ContactAccepted(parse::<ActorMembers>(payload)?.by),
            "contact.declined" => Self::ContactDeclined(parse::<ActorMembers>(payload)?.by),
            _ => Self::Unknown,
        })
    }
}

impl Event {
    /// Parses an event with its envelope.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when it is not an event, or a known type has another payload.
    pub fn read(json: &str) -> Result<Self> {
        let raw: Box<RawValue> =
            serde_json::from_str(json).map_err(|e| Error::Unreadable(format!("not JSON ({e})")))?;
        Self::from_raw(raw).map_err(|e| Error::Unreadable(format!("not an event ({e})")))
    }

    fn from_raw(raw: Box<RawValue>) -> serde_json::Result<Self> {
        let envelope: Envelope<'_> = serde_json::from_str(raw.get())?;
        let body = EventBody::read(&envelope.kind, envelope.payload.map_or("null", RawValue::get))?;
        let Envelope { kind, session_id, request_id, event_id, sequence, created_at, payload: _ } = envelope;
        Ok(Self { kind, session_id, request_id, event_id, sequence, created_at, body, raw })
    }

    /// The event's JSON, unchanged.
    pub fn json(&self) -> &str {
        self.raw.get()
    }

    /// The message, if this is a message event.
    pub fn message(&self) -> Option<&Message> {
        if let EventBody::Message(message) = &self.body { Some(message) } else { None }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::from_raw(Box::<RawValue>::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, payload: &str) -> Result<Event> {
        Event::read(&format!(
            r#"{{"type":"{kind}","session_id":"sess_01","event_id":"evt_02","sequence":3,"created_at":4,"payload":{payload},"extra":1}}"#
        ))
    }

    #[test]
    fn asp_31_every_type_is_read() {
        for (kind, payload, shape) in [
            ("session.invited", r#"{"invitee":"@a.b","by":"@c.d","topic":"t"}"#, "Invited"),
            ("session.joined", r#"{"agent":"@a.b"}"#, "Joined"),
            ("session.disconnected", r#"{"agent":"@a.b"}"#, "Disconnected"),
            ("session.reconnected", r#"{"agent":"@a.b"}"#, "Reconnected"),
            ("session.left", r#"{"agent":"@a.b","reason":"grace_expired"}"#, "GraceExpired"),
            ("session.left", r#"{"agent":"@a.b","reason":"new"}"#, "Other"),
            (
                "session.message",
                r#"{"id":"msg_1","session_id":"sess_01","sender":"@a.b","sequence":3,"content":"hi","created_at":4}"#,
                "Message",
            ),
            ("session.ended", "{}", "Ended(None)"),
            ("session.reopened", r#"{"reopened_by":"@a.b"}"#, "Reopened"),
            ("contact.accepted", r#"{"by":"@a.b"}"#, "ContactAccepted"),
            ("future.kind", r#"[1,2]"#, "Unknown"),
        ] {
            let event = event(kind, payload).unwrap();
            assert!(format!("{:?}", event.body).contains(shape), "{kind}: {:?}", event.body);
            assert!(event.json().contains("\"extra\":1"));
        }
    }

    #[test]
    fn a_known_type_with_a_foreign_payload_is_unreadable_and_no_panic() {
        assert!(matches!(event("session.joined", "{}"), Err(Error::Unreadable(_))));
        assert!(matches!(Event::read("[]"), Err(Error::Unreadable(_))));
        assert!(matches!(Event::read("{"), Err(Error::Unreadable(_))));
    }

    #[test]
    fn contact_events_have_no_session() {
        let event = Event::read(
            r#"{"type":"contact.requested","request_id":"req_1","event_id":"evt_1","created_at":1,
                "payload":{"from":"@a.b","to":"@c.d"}}"#,
        )
        .unwrap();
        assert!(event.session_id.is_none() && event.sequence.is_none() && event.request_id.is_some());
    }
}
