//! The events of an organisation's stream, and their stored form. The forms are frozen. Pure.

use plenary_kernel::SovereignHandle;
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

plenary_engine::stored_forms!(OrgEvent: OrgRegistered, MemberSet, MemberRemoved);

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn stored_forms_are_frozen() {
        assert_frozen::<OrgEvent>(&[
            ("OrgRegistered", r#"{"by":"~acme"}"#),
            ("MemberSet", r#"{"by":"~acme","member":"~nick","roles":["admin","writer"]}"#),
            ("MemberRemoved", r#"{"by":"~acme","member":"~nick"}"#),
        ]);
    }
}
