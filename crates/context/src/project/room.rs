//! Projects as a room of the engine.
//! Must not know: HTTP.

use plenary_accounts::Authority;
use plenary_engine::{Command, Conditions, Decided, LookedUp, Point, Room, SideEvents};
use plenary_kernel::{OwnerName, TimestampMs, Version};
use plenary_log::{Condition, Fault, IndexOp, NewEvent, StreamName};

use super::{
    command::{CreateProject, EditProject},
    decide::{self, InProject},
    event::ProjectEvent,
    state::ProjectState,
};
use crate::{
    Context,
    activity::{event::Activity, room::note},
    index::{PROJECTS, PROJECTS_OF, SHARED},
    key,
    project_names::Home,
    rejection::Rejection,
};

/// The streams `context.project/<project>`, by the project's key.
#[derive(Debug)]
pub struct ProjectRoom;

impl Room for ProjectRoom {
    type State = ProjectState;
    type Event = ProjectEvent;
    const CATEGORY: &'static str = "context.project";
    const SNAPSHOT_FORM: u16 = 1;

    fn evolve(state: &mut ProjectState, _: Version, at: TimestampMs, event: &ProjectEvent) {
        state.evolve(at, event);
    }
    fn payer(_: &str, _: &ProjectState, event: &ProjectEvent) -> Option<OwnerName> {
        match event {
            ProjectEvent::ProjectCreated(event) => event.by.owner(),
            ProjectEvent::ProjectDescribed(event) => event.by.owner(),
            ProjectEvent::MemberSet(event) => event.by.owner(),
            ProjectEvent::ProjectUnarchived(event) => event.by.owner(),
            ProjectEvent::MemberRemoved(_) | ProjectEvent::ProjectArchived(_) => None,
        }
    }
    fn follow(id: &str, version: Version, event: &ProjectEvent) -> Vec<(StreamName, NewEvent)> {
        let activity = match event {
            ProjectEvent::ProjectCreated(_) => Activity::ProjectCreated,
            ProjectEvent::ProjectDescribed(_) => Activity::ProjectUpdated,
            ProjectEvent::MemberSet(_) => Activity::MemberSet,
            ProjectEvent::MemberRemoved(_) => Activity::MemberRemoved,
            ProjectEvent::ProjectArchived(_) => Activity::ProjectArchived,
            ProjectEvent::ProjectUnarchived(_) => Activity::ProjectUnarchived,
        };
        vec![note(activity, id, version, None, None)]
    }
    fn index(id: &str, event: &ProjectEvent) -> Vec<IndexOp> {
        let member = |entry: &str| key::join(&[&key::part(entry), id]);
        match event {
            ProjectEvent::ProjectCreated(event) => {
                let owned = event
                    .owner
                    .as_ref()
                    .map(|owner| IndexOp::put(PROJECTS_OF, key::join(&[owner.as_str(), id])));
                owned.into_iter().chain([IndexOp::put(PROJECTS, id.to_owned())]).collect()
            }
            ProjectEvent::MemberSet(event) => vec![IndexOp::put(SHARED, member(event.member.as_str()))],
            ProjectEvent::MemberRemoved(event) => {
                vec![IndexOp::delete(SHARED, member(event.member.as_str()))]
            }
            ProjectEvent::ProjectDescribed(_)
            | ProjectEvent::ProjectArchived(_)
            | ProjectEvent::ProjectUnarchived(_) => Vec::new(),
        }
    }
}

/// The events that create a project in the same append as the first write into it. A condition of that append requires
/// that the project does not exist.
pub(crate) fn made_beside(id: &str, home: &Home, by: &plenary_accounts::Actor) -> SideEvents {
    let event = decide::made_for(home, by);
    let made = (ProjectRoom::stream(id), event.encode());
    let noted = ProjectRoom::follow(id, Version::ZERO.next(), &event);
    SideEvents {
        events: [made].into_iter().chain(noted).collect(),
        index: ProjectRoom::index(id, &event),
        rows: Vec::new(),
    }
}

impl Context {
    /// The facts for a command in a project, with their conditions. Reads the store if this process does not
    /// know the project.
    pub(crate) async fn in_project(
        &self,
        id: &str,
        authority: &Authority,
        conditions: &mut Vec<Condition>,
    ) -> Result<InProject, Fault> {
        let authority_holds = self.accounts().holds(authority, conditions).await?;
        let mut project = self.projects().look_up(id).await?;
        if !project.state.exists() {
            self.catch_up(self.projects(), id).await?;
            project = self.projects().look_up(id).await?;
        }
        let LookedUp { state, version, upon, .. } = project;
        conditions.push(Condition { stream: ProjectRoom::stream(id), expected: version, upon });
        Ok(InProject { authority_holds, project: state })
    }
}

/// A command on a project with its context.
pub(crate) struct OnProject<'a, C> {
    pub(crate) context: &'a Context,
    pub(crate) command: &'a C,
}

macro_rules! on_project {
    ($name:literal, $command:ty, $decide:path) => {
        impl Command<ProjectRoom> for OnProject<'_, $command> {
            const NAME: &'static str = $name;
            type Reply = ();
            type Rejection = Rejection;
            /// Whether the bearer's token is still valid.
            type Facts = bool;

            async fn facts(&self, _: &ProjectState, conditions: &mut Conditions) -> Result<bool, Fault> {
                let accounts = self.context.accounts();
                accounts.holds(&self.command.authority, conditions).await
            }
            fn decide(
                &self,
                state: &ProjectState,
                is_token_valid: &bool,
                _: &Point,
            ) -> Decided<ProjectRoom, Self> {
                $decide(state, *is_token_valid, self.command)
            }
        }
    };
}

on_project!("create_project", CreateProject, decide::create);
on_project!("edit_project", EditProject, decide::edit);
