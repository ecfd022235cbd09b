//! A project: the fold of its stream. Pure.
//! Must not know: its content.

use std::collections::BTreeMap;

use plenary_accounts::Actor;
use plenary_kernel::{AllowEntry, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{ProjectDescription, ProjectEvent};
use crate::{
    access::{Access, Role},
    extensions::Extensions,
};

/// A project. The default means that no project has the id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectState {
    /// Its id.
    pub project_id: String,
    /// When it was made.
    pub created_at: Option<TimestampMs>,
    /// Its owner.
    pub owner: Option<OwnerName>,
    /// A display name.
    pub name: Option<String>,
    /// A description for people.
    pub description: String,
    /// Data that clients store with it.
    pub settings: Map<String, Value>,
    /// Extension members, `x-…`.
    #[serde(default)]
    pub extensions: Extensions,
    /// When it was archived; an archived project accepts no writes (AP-2).
    pub archived_at: Option<TimestampMs>,
    /// The roles of members of other owners.
    pub members: BTreeMap<AllowEntry, Role>,
}

impl ProjectState {
    /// Whether there is such a project.
    pub fn exists(&self) -> bool {
        self.created_at.is_some()
    }

    /// The rights of the bearer of a token; none if there is no project.
    pub fn access(&self, by: &Actor) -> Access {
        if !self.exists() {
            return Access::default();
        }
        Access::of(by, self.owner.as_ref(), self.members.iter())
    }

    fn describe(&mut self, about: &ProjectDescription) {
        let ProjectDescription { name, description, settings, extensions } = about.clone();
        self.name = name.or(self.name.take());
        self.description = description.unwrap_or_else(|| std::mem::take(&mut self.description));
        self.settings = settings.unwrap_or_else(|| std::mem::take(&mut self.settings));
        self.extensions.extend(extensions);
    }

    /// Whether these extension members, with the existing ones, would exceed the limit.
    pub fn overflows_with(&self, about: &ProjectDescription) -> bool {
        let mut extensions = self.extensions.clone();
        extensions.extend(about.extensions.clone());
        extensions.are_too_large()
    }

    /// The project after an event.
    pub fn evolve(&mut self, at: TimestampMs, event: &ProjectEvent) {
        match event {
            ProjectEvent::ProjectCreated(event) => {
                self.project_id.clone_from(&event.project_id);
                self.created_at = event.made_at.or(Some(at));
                self.owner.clone_from(&event.owner);
                self.describe(&event.about);
            }
            ProjectEvent::ProjectDescribed(event) => self.describe(&event.about),
            ProjectEvent::MemberSet(event) => {
                self.members.insert(event.member.clone(), event.role);
            }
            ProjectEvent::MemberRemoved(event) => {
                self.members.remove(&event.member);
            }
            ProjectEvent::ProjectArchived(event) => self.archived_at = event.at.or(Some(at)),
            ProjectEvent::ProjectUnarchived(_) => self.archived_at = None,
        }
    }
}
