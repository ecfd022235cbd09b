//! An organisation: the fold of its stream. Pure.
//! Must not know: what a role is good for; each protocol decides that.

use std::collections::{BTreeMap, BTreeSet};

use plenary_kernel::{SovereignHandle, TimestampMs};
pub use plenary_wire::accounts::Role;
use serde::{Deserialize, Serialize};

use super::event::OrgEvent;

/// An organisation. The default is a name that no organisation has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgState {
    created_at: Option<TimestampMs>,
    members: BTreeMap<SovereignHandle, BTreeSet<Role>>,
}

impl OrgState {
    /// Whether there is such an organisation.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.created_at.is_some()
    }
    /// When it was made.
    #[must_use]
    pub fn created_at(&self) -> Option<TimestampMs> {
        self.created_at
    }
    /// Its members with their roles.
    #[must_use]
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
