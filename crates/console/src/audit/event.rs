//! The events of the audit, and their stored form, which is frozen. Pure.

use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

/// A person wrote in the name of an agent, decided on a request, or changed agents or tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WriteMade {
    /// A ULID.
    pub(crate) id: String,
    /// When the write began.
    pub(crate) at: TimestampMs,
    /// The person, `@owner.name`; or the operator or the owner of the session if no person was signed in.
    pub(crate) person: String,
    /// The console session; absent if the person used a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The agent in whose name the write was made; absent if it was the person's own.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentHandle>,
    /// The id of the operation.
    pub(crate) operation: String,
    /// The path of the request.
    pub(crate) path: String,
    /// The status of the response; 0 before it is known. The last event with an id counts.
    pub(crate) status: u16,
}

impl WriteMade {
    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        written("WriteMade", self)
    }

    /// Reads a stored event. An unknown kind or form is corrupt.
    pub(crate) fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        if stored.kind == "WriteMade" { read(stored) } else { unknown(stored) }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Position, Version};
    use plenary_log::StreamName;

    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let write = WriteMade {
            id: "01".into(),
            at: TimestampMs(7),
            person: "@nick.nick".into(),
            session: Some("02".into()),
            agent: Some("@nick.bot".parse().unwrap()),
            operation: "session.send".into(),
            path: "/sessions/s/messages".into(),
            status: 201,
        };
        let event = write.encode();
        let text = std::str::from_utf8(&event.envelope).unwrap();
        assert_eq!(
            (event.kind, event.form, text),
            (
                "WriteMade",
                1,
                r#"{"id":"01","at":7,"person":"@nick.nick","session":"02","as":"@nick.bot","operation":"session.send","path":"/sessions/s/messages","status":201}"#
            )
        );
        let own = WriteMade { session: None, agent: None, ..write.clone() };
        assert_eq!(
            std::str::from_utf8(&own.encode().envelope).unwrap(),
            r#"{"id":"01","at":7,"person":"@nick.nick","operation":"session.send","path":"/sessions/s/messages","status":201}"#
        );
        let stored = StoredEvent {
            position: Position(1),
            stream: StreamName::new("console.audit", "nick"),
            version: Version(1),
            kind: event.kind.into(),
            form: event.form,
            at: TimestampMs(7),
            envelope: event.envelope,
            payload: event.payload,
        };
        assert_eq!(WriteMade::decode(&stored).unwrap(), write);
        assert!(WriteMade::decode(&StoredEvent { kind: "Other".into(), ..stored }).is_err());
    }
}
