//! The commands on a project. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;
use plenary_kernel::{AllowEntry, OwnerName, TimestampMs};

use super::{decide::nobodys, event::ProjectDescription};
use crate::access::Role;

/// Makes a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateProject {
    /// In whose name.
    pub authority: Authority,
    /// Its id.
    pub project_id: String,
    /// Whose it is to be, where that is not the bearer's owner; only the operator may say so.
    pub owner: Option<OwnerName>,
    /// What it is about.
    pub about: ProjectDescription,
}

impl CreateProject {
    /// The owner in whose namespace it is to be.
    #[must_use]
    pub fn home(&self) -> OwnerName {
        self.owner.clone().or_else(|| self.authority.by.owner()).unwrap_or_else(nobodys)
    }
}

/// Changes a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditProject {
    /// In whose name.
    pub authority: Authority,
    /// What is changed.
    pub edit: Edit,
}

/// A change of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// What it is about.
    Describe(ProjectDescription),
    /// Somebody's role.
    Share(AllowEntry, Role),
    /// Removes a role.
    Unshare(AllowEntry),
    /// Takes no more writes; since when, where that was on another server.
    Archive(Option<TimestampMs>),
    /// Takes writes again.
    Unarchive,
}
