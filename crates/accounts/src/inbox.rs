//! An agent's inbox: news outside sessions. The agent's connections read the stream `accounts.inbox/<handle>` from
//! their cursor like any other.
//! Must not know: the connected agents, or who may answer a request.

use bytes::Bytes;
use plenary_engine::stored::{corrupt, read, unknown, written_with};
use plenary_kernel::{AgentHandle, ContactId, EventId};
use plenary_log::{Fault, NewEvent, StoredEvent, StreamName};
use serde::{Deserialize, Serialize};

/// The category of the inboxes.
pub const INBOX: &str = "accounts.inbox";
/// Where a notice goes that its addressee must not get: the same work is done, and nobody reads it.
pub(crate) const WITHHELD: &str = "accounts.withheld";

/// What happened to a contact request, for one of its two agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    Requested,
    Accepted,
    Declined,
}

/// A notice before it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    pub(crate) id: EventId,
    pub(crate) request: ContactId,
    pub(crate) from: AgentHandle,
    pub(crate) to: AgentHandle,
    /// The message of a request: stored as the payload.
    #[serde(skip)]
    pub(crate) message: Option<String>,
}

impl Notice {
    /// The notice for the inbox of `reader`, or for nobody's when it is withheld.
    pub(crate) fn event(
        &self,
        kind: NoticeKind,
        reader: &AgentHandle,
        withheld: bool,
    ) -> (StreamName, NewEvent) {
        let kind = match kind {
            NoticeKind::Requested => "ContactRequested",
            NoticeKind::Accepted => "ContactAccepted",
            NoticeKind::Declined => "ContactDeclined",
        };
        let payload = Bytes::from(self.message.clone().unwrap_or_default());
        let category = if withheld { WITHHELD } else { INBOX };
        (StreamName::new(category, reader.as_str()), written_with(kind, self, payload))
    }
}

#[derive(Serialize)]
struct OnTheWire<'a, P> {
    r#type: &'static str,
    request_id: &'a ContactId,
    event_id: &'a EventId,
    created_at: u64,
    payload: P,
}

#[derive(Serialize)]
struct ContactRequestNews<'a> {
    from: &'a AgentHandle,
    to: &'a AgentHandle,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct ContactAnswerNews<'a> {
    by: &'a AgentHandle,
}

/// Somebody asks an agent for contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContactRequestNotice {
    pub(crate) request: ContactId,
    /// The requesting agent.
    pub(crate) from: AgentHandle,
    /// What it says, if anything.
    pub(crate) message: Option<String>,
}

/// The stream of an agent's inbox.
pub fn inbox_of(handle: &AgentHandle) -> StreamName {
    StreamName::new(INBOX, handle.as_str())
}

/// The request that a stored notice reports; `None` if it reports an answer.
pub(crate) fn contact_request(event: &StoredEvent) -> Result<Option<ContactRequestNotice>, Fault> {
    let Notice { request, from, .. } = read(event)?;
    match &*event.kind {
        "ContactRequested" => {
            let message = String::from_utf8_lossy(&event.payload).into_owned();
            let message = Some(message).filter(|message| !message.is_empty());
            Ok(Some(ContactRequestNotice { request, from, message }))
        }
        "ContactAccepted" | "ContactDeclined" => Ok(None),
        _ => unknown(event),
    }
}

/// A stored notice as the event of the wire: `{type, request_id, event_id, created_at, payload}` (wire.md 2.1).
pub fn notice(event: &StoredEvent) -> Result<Bytes, Fault> {
    let Notice { id, request, from, to, .. } = &read(event)?;
    let text = |r#type, payload| {
        let wire = OnTheWire { r#type, request_id: request, event_id: id, created_at: event.at.0, payload };
        serde_json::to_vec(&wire)
    };
    let bytes = match &*event.kind {
        "ContactRequested" => {
            let message = std::str::from_utf8(&event.payload).map_err(|_| corrupt(event, "message"))?;
            let message = Some(message).filter(|message| !message.is_empty());
            let payload = ContactRequestNews { from, to, message };
            let wire = OnTheWire {
                r#type: "contact.requested",
                request_id: request,
                event_id: id,
                created_at: event.at.0,
                payload,
            };
            serde_json::to_vec(&wire)
        }
        "ContactAccepted" => text("contact.accepted", ContactAnswerNews { by: to }),
        "ContactDeclined" => text("contact.declined", ContactAnswerNews { by: to }),
        _ => return unknown(event),
    };
    bytes.map(Bytes::from).map_err(|error| corrupt(event, &error.to_string()))
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::stored;

    use super::*;

    fn a_notice(message: Option<&str>) -> Notice {
        Notice {
            id: "evt_01".parse().unwrap(),
            request: "req_01".parse().unwrap(),
            from: "@alice.bot".parse().unwrap(),
            to: "@bob.bot".parse().unwrap(),
            message: message.map(str::to_owned),
        }
    }

    #[test]
    fn stored_forms_and_the_wire_are_frozen() {
        let envelope = r#"{"id":"evt_01","request":"req_01","from":"@alice.bot","to":"@bob.bot"}"#;
        let head = r#""request_id":"req_01","event_id":"evt_01","created_at":1000,"payload""#;
        let reader = "@bob.bot".parse().unwrap();
        for (kind, message, stored_kind, wire) in [
            (
                NoticeKind::Requested,
                Some("say \"hi\""),
                "ContactRequested",
                format!(
                    r#"{{"type":"contact.requested",{head}:{{"from":"@alice.bot","to":"@bob.bot","message":"say \"hi\""}}}}"#
                ),
            ),
            (
                NoticeKind::Requested,
                None,
                "ContactRequested",
                format!(r#"{{"type":"contact.requested",{head}:{{"from":"@alice.bot","to":"@bob.bot"}}}}"#),
            ),
            (
                NoticeKind::Accepted,
                None,
                "ContactAccepted",
                format!(r#"{{"type":"contact.accepted",{head}:{{"by":"@bob.bot"}}}}"#),
            ),
            (
                NoticeKind::Declined,
                None,
                "ContactDeclined",
                format!(r#"{{"type":"contact.declined",{head}:{{"by":"@bob.bot"}}}}"#),
            ),
        ] {
            let (stream, event) = a_notice(message).event(kind, &reader, false);
            assert_eq!(stream.as_str(), "accounts.inbox/@bob.bot");
            let text = std::str::from_utf8(&event.envelope).unwrap();
            assert_eq!((event.kind, event.form, text), (stored_kind, 1, envelope));
            assert_eq!(event.payload, message.unwrap_or_default());
            assert_eq!(std::str::from_utf8(&notice(&stored(event)).unwrap()).unwrap(), wire);
        }
        let (stream, event) = a_notice(None).event(NoticeKind::Accepted, &reader, true);
        assert_eq!(stream.as_str(), "accounts.withheld/@bob.bot");
        let other = StoredEvent { kind: "ContactForgotten".into(), ..stored(event) };
        assert!(matches!(notice(&other), Err(Fault::Corrupt(_))));
    }
}
