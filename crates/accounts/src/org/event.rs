//! The events of an organisation's stream, and their stored form. The forms are frozen. Pure.

use plenary_engine::stored::{read, unknown, written};
use plenary_kernel::SovereignHandle;
use plenary_log::{Fault, NewEvent, StoredEvent};
use serde::{Deserialize, Serialize};

use super::state::Role;
use crate::Actor;

/// An event of an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrgEvent {
    /// The organisation was created.
    OrgRegistered(OrgRegistered),
    /// A member was added, or its roles changed.
    MemberSet(MemberSet),
    /// A member was removed.
    MemberRemoved(MemberRemoved),
}

/// See [`OrgEvent::OrgRegistered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgRegistered {
    /// The creator.
    pub by: Actor,
}

/// See [`OrgEvent::MemberSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSet {
    /// The cause.
    pub by: Actor,
    /// The member.
    pub member: SovereignHandle,
    /// All its new roles.
    pub roles: Vec<Role>,
}

/// See [`OrgEvent::MemberRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRemoved {
    /// The cause.
    pub by: Actor,
    /// The member.
    pub member: SovereignHandle,
}

impl OrgEvent {
    /// The stored form.
    pub(crate) fn encode(&self) -> NewEvent {
        match self {
            Self::OrgRegistered(event) => written("OrgRegistered", event),
            Self::MemberSet(event) => written("MemberSet", event),
            Self::MemberRemoved(event) => written("MemberRemoved", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub(crate) fn decode(stored_event: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored_event.kind {
            "OrgRegistered" => Self::OrgRegistered(read(stored_event)?),
            "MemberSet" => Self::MemberSet(read(stored_event)?),
            "MemberRemoved" => Self::MemberRemoved(read(stored_event)?),
            _ => return unknown(stored_event),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{assert_written, stored};

    #[test]
    fn stored_forms_are_frozen() {
        let by = Actor::Owner("acme".parse().unwrap());
        let member: SovereignHandle = "~nick".parse().unwrap();
        let roles = vec!["admin".parse().unwrap(), "writer".parse().unwrap()];
        let forms = [
            (OrgEvent::OrgRegistered(OrgRegistered { by: by.clone() }), "OrgRegistered", r#"{"by":"~acme"}"#),
            (
                OrgEvent::MemberSet(MemberSet { by: by.clone(), member: member.clone(), roles }),
                "MemberSet",
                r#"{"by":"~acme","member":"~nick","roles":["admin","writer"]}"#,
            ),
            (
                OrgEvent::MemberRemoved(MemberRemoved { by, member }),
                "MemberRemoved",
                r#"{"by":"~acme","member":"~nick"}"#,
            ),
        ];
        for (event, kind, envelope) in forms {
            let written = event.encode();
            assert_written(&written, kind, envelope);
            assert_eq!(OrgEvent::decode(&stored(written.clone())).unwrap(), event);
            let strange = StoredEvent { kind: "OrgLost".into(), ..stored(written) };
            assert!(matches!(OrgEvent::decode(&strange), Err(Fault::Corrupt(_))));
        }
    }
}
