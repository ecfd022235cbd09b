//! The decisions on a project. Pure.
//! Must not know: its content.

use plenary_accounts::Actor;
use plenary_engine::Decision;
use plenary_kernel::OwnerName;

use super::{
    command::{CreateProject, Edit, EditProject},
    event::{
        ArchiveChange, MemberRemoved, MemberSet, ProjectCreated, ProjectDescribed, ProjectDescription,
        ProjectEvent,
    },
    state::ProjectState,
};
use crate::{limits::MEMBERS_MAX, malformed::ContextFault, project_names::Home, rejection::Rejection};

/// The facts for a decision in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InProject {
    /// Whether the bearer's token is still valid.
    pub authority_holds: bool,
    /// The project; the default if there is none.
    pub project: std::sync::Arc<ProjectState>,
}

/// The owner of projects that the operator creates for no other owner (wire.md D.4).
pub(crate) fn default_owner() -> OwnerName {
    "plenary".parse().expect("it is of the grammar of owners")
}

/// The creation of a project by the first write into it (wire.md D.4).
pub fn made_for(home: &Home, by: &Actor) -> ProjectEvent {
    ProjectEvent::ProjectCreated(ProjectCreated {
        project_id: home.project_id.clone(),
        by: by.clone(),
        owner: Some(home.owner.clone()),
        made_at: None,
        about: ProjectDescription::default(),
    })
}

/// The rejection of extension members that exceed the limit of a project.
pub(crate) fn too_many_extensions() -> Rejection {
    ContextFault::field("x-…", "at most 16384 bytes together").into()
}

/// Decides `CreateProject`.
pub fn create(
    state: &ProjectState,
    authority_holds: bool,
    command: &CreateProject,
) -> Result<Decision<ProjectEvent, ()>, Rejection> {
    if !authority_holds {
        return Err(Rejection::Revoked);
    }
    let by = &command.authority.by;
    if command.owner.is_some() && *by != Actor::Operator && command.owner != by.owner() {
        return Err(Rejection::NotPermitted);
    }
    if state.exists() {
        return Err(Rejection::ProjectExists);
    }
    let event = ProjectCreated {
        project_id: command.project_id.clone(),
        by: by.clone(),
        owner: Some(command.home()),
        made_at: None,
        about: command.about.clone(),
    };
    Ok(Decision::new(vec![ProjectEvent::ProjectCreated(event)], ()))
}

/// Whether an edit gives up a membership of the actor itself: an agent that of its handle, an owner those of its agents.
fn is_own_membership(by: &Actor, edit: &Edit) -> bool {
    let Edit::Unshare(member) = edit else { return false };
    let member = member.to_string();
    match by {
        Actor::Agent(agent) => member == agent.as_str(),
        Actor::Owner(owner) => member
            .strip_prefix('@')
            .and_then(|m| m.split_once('.'))
            .is_some_and(|(of, _)| of == owner.as_str()),
        Actor::Operator | Actor::Seed => false,
    }
}

/// Decides `EditProject`: the owner's agents describe, only the owner shares and archives (wire.md D.7), and a member may
/// leave.
pub fn edit(
    state: &ProjectState,
    authority_holds: bool,
    command: &EditProject,
) -> Result<Decision<ProjectEvent, ()>, Rejection> {
    if !authority_holds {
        return Err(Rejection::Revoked);
    }
    let by = command.authority.by.clone();
    let access = state.access(&by);
    if !access.read {
        return Err(Rejection::ProjectNotFound);
    }
    let may = if matches!(command.edit, Edit::Describe(_)) {
        access.edit
    } else {
        access.govern || is_own_membership(&by, &command.edit)
    };
    if !may {
        return Err(Rejection::NotPermitted);
    }
    let event = match &command.edit {
        Edit::Describe(_) if state.archived_at.is_some() => return Err(Rejection::ProjectArchived),
        Edit::Describe(about) if *about == ProjectDescription::default() => None,
        Edit::Describe(about) if state.overflows_with(about) => return Err(too_many_extensions()),
        Edit::Describe(about) => {
            Some(ProjectEvent::ProjectDescribed(ProjectDescribed { by, about: about.clone() }))
        }
        Edit::Share(member, role) if state.members.get(member) == Some(role) => None,
        Edit::Share(member, _)
            if state.members.len() >= MEMBERS_MAX && !state.members.contains_key(member) =>
        {
            return Err(Rejection::ProjectFull);
        }
        Edit::Share(member, role) => {
            Some(ProjectEvent::MemberSet(MemberSet { by, member: member.clone(), role: *role }))
        }
        Edit::Unshare(member) => state
            .members
            .contains_key(member)
            .then(|| ProjectEvent::MemberRemoved(MemberRemoved { by, member: member.clone() })),
        Edit::Archive(at) => {
            let event = ProjectEvent::ProjectArchived(ArchiveChange { by, at: *at });
            state.archived_at.is_none().then_some(event)
        }
        Edit::Unarchive => {
            let event = ProjectEvent::ProjectUnarchived(ArchiveChange { by, at: None });
            state.archived_at.is_some().then_some(event)
        }
    };
    Ok(Decision::new(event.into_iter().collect(), ()))
}
