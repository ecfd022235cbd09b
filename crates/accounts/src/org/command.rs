//! The commands on an organisation's stream. Pure.
//! Must not know: permissions; the decider checks them.

use std::collections::BTreeSet;

use plenary_kernel::{OwnerName, SovereignHandle};
use serde::{Deserialize, Serialize};

use super::state::Role;
use crate::Authority;

/// Changes an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditOrg {
    /// The authority.
    pub authority: Authority,
    /// The organisation: an owner's name.
    pub org: OwnerName,
    /// The change.
    pub edit: OrgEdit,
}

/// One change of an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrgEdit {
    /// Creates it, and its owner if that is new.
    Register,
    /// Adds a member, or sets its roles.
    SetMember(SovereignHandle, BTreeSet<Role>),
    /// Removes a member.
    RemoveMember(SovereignHandle),
}

/// The facts of `EditOrg` from other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgFacts {
    /// Whether the authority's token is still valid.
    pub is_authorized: bool,
    /// Whether the owner of that name exists.
    pub owner_exists: bool,
}

/// The outcome of `EditOrg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgEdited {
    /// Whether the organisation is new.
    pub is_new: bool,
    /// Whether its owner is created with it.
    pub makes_owner: bool,
}
