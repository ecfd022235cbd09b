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
    /// Makes it, and its owner when that is new.
    Register,
    /// Takes a member in, or sets its roles.
    SetMember(SovereignHandle, BTreeSet<Role>),
    /// Takes a member out.
    RemoveMember(SovereignHandle),
}

/// What `EditOrg` must know of other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgFacts {
    /// Whether the authority's token is still valid.
    pub authority_holds: bool,
    /// Whether the owner of that name is there already.
    pub owner_exists: bool,
}

/// What became of `EditOrg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgEdited {
    /// Whether the organisation is new.
    pub is_new: bool,
    /// Whether its owner comes into being with it.
    pub makes_owner: bool,
}
