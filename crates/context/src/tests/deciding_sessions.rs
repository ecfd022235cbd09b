//! Given, when, then: a session in each state, a start or an end, the result: for every bearer and every state of the
//! project (AP-13, AP-14, AP-101).

use plenary_accounts::Actor;
use plenary_kernel::TimestampMs;
use serde_json::json;

use super::samples::{archived, authority, inside, project, stamp};
use crate::{
    attribution::Attribution,
    extensions::Extensions,
    lifecycle::ActorType,
    malformed::ContextFault,
    moment::Moment,
    project::{decide::InProject, state::ProjectState},
    rejection::Rejection,
    session::{
        command::{EndSession, StartSession},
        decide::{end, start},
        event::{SessionEnded, SessionEvent, SessionStarted},
        state::SessionState,
    },
};

/// When the sessions of this file begin, end, and are decided on.
const BEGAN: u64 = 1_000;
const ENDED: u64 = 2_000;
const NOW: u64 = 3_000;

/// Everybody who may ask: of the owner, of other owners with each role, and a stranger.
const BEARERS: [&str; 8] =
    ["@nick.a", "@nick.b", "~nick", "operator", "@acme.w", "@acme.v", "@acme.r", "@ann.a"];

fn moment(ms: u64) -> Moment {
    Moment::of(TimestampMs(ms))
}

fn extensions(value: u64) -> Extensions {
    json!({"x-run": value}).as_object().cloned().unwrap().into()
}

/// A session that `@nick.a` began.
fn begun() -> SessionStarted {
    SessionStarted {
        by: "@nick.a".parse().unwrap(),
        session_id: "sess_1".into(),
        actor_id: "@nick.a".into(),
        actor_type: ActorType::Agent,
        callsign: "coral-heron".into(),
        started_at: moment(BEGAN),
        extensions: extensions(1),
    }
}

/// The states: no session, one that goes on, one that has ended.
fn states() -> [SessionState; 3] {
    let mut running = SessionState::default();
    running.evolve(&SessionEvent::SessionStarted(begun()));
    let mut ended = running.clone();
    let by = || "@nick.a".parse().unwrap();
    let end = SessionEnded { by: by(), ended_at: moment(ENDED), extensions: extensions(2) };
    ended.evolve(&SessionEvent::SessionEnded(end));
    [SessionState::default(), running, ended]
}

fn starting(by: &str, actor_id: Option<&str>, attribution: Attribution) -> StartSession {
    StartSession {
        authority: authority(by),
        session_id: "sess_1".into(),
        callsign: "coral-heron".into(),
        actor_id: actor_id.map(str::to_owned),
        actor_type: None,
        extensions: extensions(1),
        attribution,
    }
}

fn ending(by: &str, ended_at: Option<u64>) -> EndSession {
    EndSession {
        authority: authority(by),
        ended_at: ended_at.map(moment),
        extensions: extensions(2),
        attribution: Attribution::Own,
    }
}

/// What the bearer's place in the project lets it do: nothing that it could see, read only, or write.
fn refusal_of(by: &str) -> Option<Rejection> {
    match by {
        "@ann.a" => Some(Rejection::ProjectNotFound),
        "@acme.v" | "@acme.r" => Some(Rejection::NotPermitted),
        _ => None,
    }
}

fn after(state: &SessionState, events: &[SessionEvent]) -> SessionState {
    let mut state = state.clone();
    events.iter().for_each(|event| state.evolve(event));
    state
}

#[test]
fn ap_13_given_any_project_when_a_session_begins_then_only_writers_of_an_open_one_have_it() {
    for by in BEARERS {
        let begin = |project: &InProject| start(project, &starting(by, None, Attribution::Own), &stamp(NOW));
        let foreign = match refusal_of(by) {
            Some(refusal) => {
                assert_eq!(begin(&inside(project())).unwrap_err(), refusal, "{by}");
                assert_eq!(begin(&inside(archived())).unwrap_err(), refusal, "{by} in an archived project");
                continue;
            }
            None => Rejection::NotThatActor("actor_id"),
        };
        let decision = begin(&inside(project())).unwrap();
        let [SessionEvent::SessionStarted(event)] = &decision.events[..] else { panic!("one event: {by}") };
        let bearer: Actor = by.parse().unwrap();
        assert_eq!((&event.by, event.started_at), (&bearer, moment(NOW)), "{by}");
        assert_eq!((&event.extensions, event.callsign.as_str()), (&extensions(1), "coral-heron"), "AP-89");
        assert_eq!(begin(&inside(archived())).unwrap_err(), Rejection::ProjectArchived, "{by}");
        assert_eq!(begin(&inside(ProjectState::default())).unwrap_err(), Rejection::ProjectNotFound, "{by}");
        let revoked = InProject { authority_holds: false, ..inside(project()) };
        assert_eq!(begin(&revoked).unwrap_err(), Rejection::Revoked, "{by}");
        // Attribution: nobody but the operator begins one for somebody else, unless everybody may.
        for (attribution, may) in [(Attribution::Own, by == "operator"), (Attribution::Open, true)] {
            let command = starting(by, Some("somebody"), attribution);
            let decided = start(&inside(project()), &command, &stamp(NOW)).map(|_| ());
            assert_eq!(decided, if may { Ok(()) } else { Err(foreign.clone()) }, "{by} {attribution:?}");
        }
    }
}

#[test]
fn ap_13_given_any_state_when_a_session_is_ended_then_it_ends_once_and_by_its_own() {
    let early = || Rejection::from(ContextFault::field("ended_at", "not before the session's start"));
    for by in BEARERS {
        let is_its_own = matches!(by, "@nick.a" | "operator");
        for (state, name) in states().iter().zip(["none", "running", "ended"]) {
            for asked in [None, Some(BEGAN - 1), Some(BEGAN), Some(ENDED), Some(NOW), Some(NOW * 1_000)] {
                // What is expected, in the order in which it is looked at.
                let expected = match (refusal_of(by), name, asked) {
                    (Some(refusal), _, _) => Err(refusal),
                    (None, "none", _) => Err(Rejection::SessionNotFound),
                    (None, _, _) if !is_its_own => Err(Rejection::NotPermitted),
                    (None, "running", None) => Ok(NOW),
                    (None, "running", Some(at)) if at < BEGAN => Err(early()),
                    (None, "running", Some(at)) => Ok(at),
                    (None, _, None | Some(ENDED)) => Ok(ENDED),
                    (None, _, Some(_)) => Err(Rejection::SessionEnded),
                };
                let decided = end(state, &inside(project()), &ending(by, asked), &stamp(NOW));
                let then = decided.map(|decision| {
                    let is_new = name == "running";
                    assert_eq!(decision.events.len(), usize::from(is_new), "{by} {name} {asked:?}");
                    let state = after(state, &decision.events);
                    let kept = state.started.as_ref().map(|started| started.extensions.clone());
                    assert_eq!(kept, Some(extensions(2)), "AP-89");
                    state.ended_at
                });
                assert_eq!(then, expected.map(|at| Some(moment(at))), "{by} {name} {asked:?}");
            }
        }
    }
}

#[test]
fn ap_89_given_an_ended_session_when_other_extensions_are_sent_then_they_are_refused_and_not_dropped() {
    let [_, _, ended] = states();
    for (sent, expected) in [
        (Extensions::default(), Ok(())),
        (extensions(2), Ok(())),
        (extensions(3), Err(Rejection::SessionEnded)),
        (json!({"x-other": 1}).as_object().cloned().unwrap().into(), Err(Rejection::SessionEnded)),
    ] {
        let command = EndSession { extensions: sent.clone(), ..ending("@nick.a", None) };
        let decided = end(&ended, &inside(project()), &command, &stamp(NOW)).map(|_| ());
        assert_eq!(decided, expected, "{sent:?}");
    }
}

#[test]
fn ap_13_given_another_project_or_token_when_a_session_is_ended_then_it_goes_on() {
    let [none, running, ended] = states();
    for state in [&none, &running, &ended] {
        let revoked = InProject { authority_holds: false, ..inside(project()) };
        let command = ending("@nick.a", None);
        assert_eq!(end(state, &revoked, &command, &stamp(NOW)).unwrap_err(), Rejection::Revoked);
        let absent = inside(ProjectState::default());
        assert_eq!(end(state, &absent, &command, &stamp(NOW)).unwrap_err(), Rejection::ProjectNotFound);
    }
    // A session that goes on when its project is archived may still end: what happened is not kept open.
    let decision = end(&running, &inside(archived()), &ending("@nick.a", None), &stamp(NOW)).unwrap();
    assert_eq!(after(&running, &decision.events).ended_at, Some(moment(NOW)));
}

#[test]
fn ap_13_a_clock_that_stands_behind_the_start_ends_a_session_at_its_start() {
    let [_, running, _] = states();
    let decision = end(&running, &inside(project()), &ending("@nick.a", None), &stamp(BEGAN - 500)).unwrap();
    assert_eq!(after(&running, &decision.events).ended_at, Some(moment(BEGAN)));
}
