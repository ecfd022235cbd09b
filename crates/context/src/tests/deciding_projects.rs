//! Given, when, then: a project, a creation or change, the result.

use plenary_kernel::TimestampMs;
use serde_json::json;

use super::samples::{archived, authority, project};
use crate::{
    access::Role,
    limits::{ABOUT_BYTES_MAX, MEMBERS_MAX},
    project::{
        command::{CreateProject, Edit, EditProject},
        decide::{create, edit},
        event::{ProjectDescription, ProjectEvent},
        state::ProjectState,
    },
    rejection::Rejection,
};

fn creating(by: &str, owner: Option<&str>) -> CreateProject {
    CreateProject {
        authority: authority(by),
        project_id: "p".into(),
        owner: owner.map(|owner| owner.parse().unwrap()),
        about: ProjectDescription { name: Some("P".into()), ..ProjectDescription::default() },
    }
}

fn named(name: &str) -> Edit {
    Edit::Describe(ProjectDescription { name: Some(name.into()), ..ProjectDescription::default() })
}

fn changed(state: &ProjectState, by: &str, change: Edit) -> Result<ProjectState, Rejection> {
    let decision = edit(state, true, &EditProject { authority: authority(by), edit: change })?;
    let mut state = state.clone();
    decision.events.iter().for_each(|event| state.evolve(TimestampMs(9), event));
    Ok(state)
}

#[test]
fn a_project_is_its_maker_s_owner_s() {
    let owner = |by: &str, owner: Option<&str>| {
        let decision = create(&ProjectState::default(), true, &creating(by, owner))?;
        let [ProjectEvent::ProjectCreated(event)] = &decision.events[..] else { panic!("one event") };
        Ok(event.owner.as_ref().map(ToString::to_string))
    };
    assert_eq!(owner("@nick.a", None), Ok(Some("nick".into())));
    assert_eq!(owner("~nick", Some("nick")), Ok(Some("nick".into())));
    assert_eq!(owner("operator", None), Ok(Some("plenary".into())));
    assert_eq!(owner("operator", Some("ann")), Ok(Some("ann".into())));
    assert_eq!(owner("~nick", Some("ann")), Err(Rejection::NotPermitted));
    assert_eq!(create(&project(), true, &creating("@ann.a", None)), Err(Rejection::ProjectExists));
    assert_eq!(create(&project(), false, &creating("@ann.a", None)), Err(Rejection::Revoked));
}

#[test]
fn ap_2_archiving_is_a_time_and_can_be_taken_back() {
    let closed = changed(&project(), "~nick", Edit::Archive(None)).unwrap();
    assert_eq!(closed.archived_at, Some(TimestampMs(9)));
    assert_eq!(changed(&closed, "~nick", Edit::Archive(None)), Ok(closed.clone()));
    assert_eq!(changed(&closed, "~nick", Edit::Unarchive), Ok(project()));
    assert_eq!(changed(&archived(), "@nick.a", named("x")), Err(Rejection::ProjectArchived));
}

#[test]
fn ap_101_the_owner_shares_and_archives_and_its_agents_describe() {
    let share = |member: &str| Edit::Share(member.parse().unwrap(), Role::Writer);
    for change in
        [share("@acme.*"), Edit::Unshare("@acme.r".parse().unwrap()), Edit::Archive(None), Edit::Unarchive]
    {
        assert_eq!(changed(&project(), "@nick.a", change.clone()), Err(Rejection::NotPermitted));
        assert_eq!(changed(&project(), "@acme.w", change.clone()), Err(Rejection::NotPermitted));
        assert_eq!(changed(&project(), "@ann.a", change), Err(Rejection::ProjectNotFound));
    }
    assert_eq!(changed(&project(), "@nick.a", named("x")).unwrap().name.as_deref(), Some("x"));
    assert_eq!(changed(&project(), "@acme.w", named("x")), Err(Rejection::NotPermitted));
    let shared = changed(&project(), "~nick", share("@acme.*")).unwrap();
    assert!(shared.access(&"@acme.other".parse().unwrap()).write);
    let unshared = changed(&shared, "operator", Edit::Unshare("@acme.*".parse().unwrap())).unwrap();
    assert_eq!(unshared, project());
    let left = changed(&project(), "@acme.w", Edit::Unshare("@acme.w".parse().unwrap())).unwrap();
    assert!(!left.access(&"@acme.w".parse().unwrap()).read, "a member may leave");
}

#[test]
fn a_project_has_no_more_members_than_it_may_have() {
    let mut full = project();
    full.members = (0..MEMBERS_MAX).map(|n| (format!("@o.a{n}").parse().unwrap(), Role::Reader)).collect();
    let share = |member: &str| Edit::Share(member.parse().unwrap(), Role::Writer);
    assert_eq!(changed(&full, "~nick", share("@o.new")), Err(Rejection::ProjectFull));
    changed(&full, "~nick", share("@o.a0")).unwrap();
}

#[test]
fn ap_89_members_of_implementations_stay_until_they_are_set_again_and_are_bounded() {
    let described = |extensions: serde_json::Value| {
        let extensions = extensions.as_object().cloned().unwrap().into();
        Edit::Describe(ProjectDescription { extensions, ..ProjectDescription::default() })
    };
    let first = changed(&project(), "@nick.a", described(json!({"x-a": {"b": null}, "x-b": 1}))).unwrap();
    let second = changed(&first, "@nick.a", described(json!({"x-b": [2]}))).unwrap();
    assert_eq!(json!(second.extensions), json!({"x-a": {"b": null}, "x-b": [2]}));
    let large = json!({"x-c": "c".repeat(ABOUT_BYTES_MAX - 20)});
    assert!(changed(&project(), "@nick.a", described(large.clone())).is_ok());
    assert!(matches!(changed(&second, "@nick.a", described(large)), Err(Rejection::Malformed(_))));
}
