//! The events of a project's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use plenary_kernel::{AllowEntry, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{access::Role, extensions::Extensions};

/// An event of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectEvent {
    /// It was created.
    ProjectCreated(ProjectCreated),
    /// Its description changed.
    ProjectDescribed(ProjectDescribed),
    /// A member got a role.
    MemberSet(MemberSet),
    /// A member lost its role.
    MemberRemoved(MemberRemoved),
    /// It stopped accepting writes.
    ProjectArchived(ArchiveChange),
    /// It accepts writes again.
    ProjectUnarchived(ArchiveChange),
}

/// The description of a project. Absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectDescription {
    /// A display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Data that clients store with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Map<String, Value>>,
    /// Extension members, `x-…` (AP-89); each stays until it is set again.
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

/// See [`ProjectEvent::ProjectCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCreated {
    /// Its id.
    pub project_id: String,
    /// The caller.
    pub by: Actor,
    /// Its owner; absent for some projects of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// The original time, if it was created on another server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<TimestampMs>,
    /// Its description.
    #[serde(flatten)]
    pub about: ProjectDescription,
}

/// See [`ProjectEvent::ProjectDescribed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectDescribed {
    /// The caller.
    pub by: Actor,
    /// The changed fields.
    #[serde(flatten)]
    pub about: ProjectDescription,
}

/// See [`ProjectEvent::MemberSet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSet {
    /// The caller.
    pub by: Actor,
    /// The member.
    pub member: AllowEntry,
    /// The role.
    pub role: Role,
}

/// See [`ProjectEvent::MemberRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRemoved {
    /// The caller.
    pub by: Actor,
    /// The member.
    pub member: AllowEntry,
}

/// Archived or unarchived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveChange {
    /// The caller.
    pub by: Actor,
    /// The original time, if it happened on another server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<TimestampMs>,
}

plenary_engine::stored_forms! {
    ProjectEvent: ProjectCreated, ProjectDescribed, MemberSet, MemberRemoved, ProjectArchived,
    ProjectUnarchived
}
