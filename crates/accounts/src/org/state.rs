//! An organisation: the fold of its stream. Pure.
//! Must not know: the meaning of a role; each protocol decides that.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use plenary_kernel::{MalformedText, OwnerName, SovereignHandle, TimestampMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::OrgEvent;

/// A role in an organisation, of the owner grammar (wire.md D.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Role(OwnerName);

impl Role {
    /// The text of the role.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Role {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        text.parse().map(Self).map_err(|malformed: MalformedText| MalformedText { what: "role", ..malformed })
    }
}

/// An organisation. The default is a name that no organisation has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgState {
    created_at: Option<TimestampMs>,
    members: BTreeMap<SovereignHandle, BTreeSet<Role>>,
}

impl OrgState {
    /// Whether the organisation exists.
    pub fn exists(&self) -> bool {
        self.created_at.is_some()
    }
    /// Its time of creation.
    pub fn created_at(&self) -> Option<TimestampMs> {
        self.created_at
    }
    /// Its members with their roles.
    pub fn members(&self) -> &BTreeMap<SovereignHandle, BTreeSet<Role>> {
        &self.members
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &OrgEvent) {
        match event {
            OrgEvent::OrgRegistered(_) => self.created_at = Some(at),
            OrgEvent::MemberSet(event) => {
                self.members.insert(event.member.clone(), event.roles.iter().cloned().collect());
            }
            OrgEvent::MemberRemoved(event) => {
                self.members.remove(&event.member);
            }
        }
    }
}
