//! Given, when, then: a package and its project, a command, the decision.

use plenary_engine::Decision;
use plenary_kernel::json::Tree;
use serde_json::{Value, json};

use super::samples::{archived, authority, inside, package, project};
use crate::{
    attribution::Attribution,
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    limits::STEPS_MAX,
    package::{
        command::{DepositPackage, MovePackage, Step},
        decide::{DepositOutcome, deposit, go},
        event::PackageEvent,
        state::PackageState,
    },
    project::{decide::InProject, state::ProjectState},
    rejection::Rejection,
    schema::Package,
};

fn depositing(by: &str, package: &Value) -> DepositPackage {
    DepositPackage {
        authority: authority(by),
        package: Package::read(&package.to_string()).unwrap(),
        attribution: Attribution::Own,
        makes_projects: true,
        trace: None,
    }
}

fn from(id: &str) -> Value {
    let mut package = package();
    package["created_by"]["id"] = json!(id);
    package
}

fn after(decision: &Decision<PackageEvent, impl Sized>) -> PackageState {
    let mut state = PackageState::default();
    decision.events.iter().for_each(|event| state.evolve(event));
    state
}

/// A package in a state, and its text.
fn given(status: &str) -> (PackageState, String) {
    let mut package = package();
    package["status"] = json!(status);
    let command = depositing("operator", &package);
    let decision = deposit(&PackageState::default(), &inside(project()), &command).unwrap();
    (after(&decision), package.to_string())
}

#[test]
fn ap_53_ap_35_a_deposit_keeps_the_bytes_and_the_hash() {
    let command = depositing("@nick.a", &package());
    let decision = deposit(&PackageState::default(), &inside(project()), &command).unwrap();
    let hash = ContentHash::of_text(&package().to_string()).unwrap();
    assert_eq!(decision.reply, DepositOutcome { is_new: true, makes_project: false, hash });
    let [PackageEvent::PackageDeposited(event)] = &decision.events[..] else { panic!("{decision:?}") };
    assert_eq!((event.hash, &*event.raw), (hash, package().to_string().as_bytes()));
}

#[test]
fn ap_83_ap_84_the_same_id_again() {
    let facts = inside(project());
    let first = deposit(&PackageState::default(), &facts, &depositing("@nick.a", &package())).unwrap();
    let state = after(&first);
    let mut same = package();
    same["topic"] = Value::Null;
    let again = deposit(&state, &facts, &depositing("@nick.a", &same)).unwrap();
    assert_eq!(again, Decision::unchanged(DepositOutcome { is_new: false, ..first.reply }));
    let mut other = package();
    other["title"] = json!("another");
    let refused = deposit(&state, &facts, &depositing("@nick.a", &other));
    assert_eq!(refused, Err(Rejection::DuplicatePackageId));
    let replay = deposit(&state, &inside(archived()), &depositing("@nick.a", &package())).unwrap();
    assert!(!replay.reply.is_new, "what was written is no write");
}

#[test]
fn a_replay_compares_with_what_was_deposited_and_shows_what_is() {
    let (mut state, text) = given("draft");
    let flag = MovePackage { authority: authority("~nick"), step: Step::Flag(ReviewType::Human), note: None };
    let moved = go(&state, &inside(project()), &text, &flag).unwrap();
    moved.events.iter().for_each(|event| state.evolve(event));
    let command =
        DepositPackage { package: Package::read(&text).unwrap(), ..depositing("operator", &package()) };
    let again = deposit(&state, &inside(project()), &command).unwrap();
    assert_eq!(again.reply.hash, state.0.as_ref().unwrap().hash);
    assert_ne!(again.reply.hash, command.package.hash);
}

#[test]
fn ap_56_ap_57_ap_101_who_may_not_deposit() {
    let refusal = |facts: &InProject, by: &str, package: &Value| {
        deposit(&PackageState::default(), facts, &depositing(by, package)).unwrap_err()
    };
    let known = inside(project());
    assert_eq!(refusal(&known, "@acme.x", &from("x")), Rejection::ProjectNotFound);
    assert_eq!(refusal(&known, "@acme.r", &from("r")), Rejection::NotPermitted);
    assert_eq!(refusal(&known, "@acme.v", &from("v")), Rejection::NotPermitted);
    assert_eq!(refusal(&known, "@nick.a", &from("jordan")), Rejection::NotThatActor("created_by.id"));
    assert_eq!(refusal(&inside(archived()), "@nick.a", &from("a")), Rejection::ProjectArchived);
    let revoked = InProject { authority_holds: false, ..known.clone() };
    assert_eq!(refusal(&revoked, "@nick.a", &from("a")), Rejection::Revoked);
    deposit(&PackageState::default(), &known, &depositing("@acme.w", &from("acme.w"))).unwrap();
    deposit(&PackageState::default(), &known, &depositing("operator", &from("anybody"))).unwrap();
    let open = DepositPackage { attribution: Attribution::Open, ..depositing("@nick.a", &from("jordan")) };
    deposit(&PackageState::default(), &known, &open).unwrap();
}

#[test]
fn an_unknown_project_comes_into_being_where_that_is_on() {
    let none = inside(ProjectState::default());
    let command = depositing("@nick.a", &package());
    assert!(deposit(&PackageState::default(), &none, &command).unwrap().reply.makes_project);
    let off = DepositPackage { makes_projects: false, ..command };
    assert_eq!(deposit(&PackageState::default(), &none, &off), Err(Rejection::ProjectNotFound));
}

#[test]
fn ap_6_ap_7_ap_63_ap_64_every_step_from_every_state() {
    let facts = inside(project());
    for from in Status::ALL {
        let (state, text) = given(from.as_str());
        let step = |step| {
            let command = MovePackage { authority: authority("~nick"), step, note: Some("why".into()) };
            go(&state, &facts, &text, &command)
        };
        for to in Status::ALL {
            let went = step(Step::Review(*to));
            assert_eq!(went.is_ok(), from.leads_to(*to), "{from:?} {to:?}");
            if let Err(rejection) = went {
                assert_eq!(rejection, Rejection::InvalidTransition { from: *from, to: *to });
            }
        }
        match step(Step::Flag(ReviewType::Agent)) {
            Err(rejection) => {
                assert_eq!(*from, Status::Complete, "{rejection:?}");
            }
            Ok(decision) => {
                let [PackageEvent::PackageFlagged(event)] = &decision.events[..] else { panic!("one event") };
                assert_eq!((event.status, event.review_type), (Status::AwaitingReview, ReviewType::Agent));
                let mut expected: Value = serde_json::from_str(&text).unwrap();
                expected["status"] = json!("awaiting_review");
                expected["review_type"] = json!("agent");
                assert_eq!(event.hash, ContentHash::of(&Tree::from(&expected)), "0.4 row 2");
                assert_eq!(event.note.as_deref(), Some("why"), "0.4 row 18");
            }
        }
    }
}

#[test]
fn roles_flag_and_review_as_they_say() {
    let (state, text) = given("draft");
    let step = |by: &str, step, project| {
        go(&state, &inside(project), &text, &MovePackage { authority: authority(by), step, note: None })
            .map(|decision| decision.events.len())
    };
    let (flag, review) = (Step::Flag(ReviewType::Human), Step::Review(Status::Complete));
    assert_eq!(step("@acme.w", flag, project()), Ok(1));
    assert_eq!(step("@acme.w", review, project()), Err(Rejection::NotPermitted));
    assert_eq!(step("@acme.v", review, project()), Ok(1));
    assert_eq!(step("@acme.r", flag, project()), Err(Rejection::NotPermitted));
    assert_eq!(step("@acme.x", flag, project()), Err(Rejection::ProjectNotFound));
    assert_eq!(step("@nick.a", review, project()), Ok(1));
    assert_eq!(step("@nick.a", review, archived()), Err(Rejection::ProjectArchived));
    let nothing = go(
        &PackageState::default(),
        &inside(project()),
        "",
        &MovePackage { authority: authority("@nick.a"), step: flag, note: None },
    );
    assert_eq!(nothing, Err(Rejection::PackageNotFound));
}

#[test]
fn a_review_has_no_more_steps_than_it_may_have_and_can_always_be_ended() {
    let (mut state, text) = given("draft");
    let facts = inside(project());
    let step = |state: &PackageState, step| {
        go(state, &facts, &text, &MovePackage { authority: authority("~nick"), step, note: None })
    };
    for _ in 0..STEPS_MAX {
        let went = step(&state, Step::Flag(ReviewType::Human)).unwrap();
        went.events.iter().for_each(|event| state.evolve(event));
    }
    assert_eq!(step(&state, Step::Flag(ReviewType::Human)), Err(Rejection::TooManySteps));
    assert_eq!(step(&state, Step::Review(Status::RevisionRequested)), Err(Rejection::TooManySteps));
    step(&state, Step::Review(Status::Complete)).unwrap();
}
