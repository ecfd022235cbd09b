//! The commands on a project. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;
use plenary_kernel::{AllowEntry, OwnerName, TimestampMs};

use super::{decide::default_owner, event::ProjectDescription};
use crate::access::Role;

/// Creates a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateProject {
    /// The caller, with its token.
    pub authority: Authority,
    /// Its id.
    pub project_id: String,
    /// The owner, if it is not the bearer's owner; only the operator may set it.
    pub owner: Option<OwnerName>,
    /// Its description.
    pub about: ProjectDescription,
}

impl CreateProject {
    /// The owner in whose namespace it is created.
    pub fn home(&self) -> OwnerName {
        self.owner.clone().or_else(|| self.authority.by.owner()).unwrap_or_else(default_owner)
    }
}

/// Changes a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditProject {
    /// The caller, with its token.
    pub authority: Authority,
    /// The change.
    pub edit: Edit,
}

/// A change of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Changes the description.
    Describe(ProjectDescription),
    /// Sets the role of a member.
    Share(AllowEntry, Role),
    /// Removes the role of a member.
    Unshare(AllowEntry),
    /// Stops writes; with the original time, if it was archived on another server.
    Archive(Option<TimestampMs>),
    /// Allows writes again.
    Unarchive,
}
