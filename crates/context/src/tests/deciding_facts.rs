//! Given, when, then: the facts of a subject and predicate, an assertion or an end, the resulting intervals.

use serde_json::{Value, json};

use super::samples::{archived, authority, inside, project, stamp};
use crate::{
    attribution::Attribution,
    fact::{
        command::{AssertFact, InvalidateFact, Source},
        decide::{FactContext, assert as decide_assertion, invalidate},
        document::Assertion,
        event::FactEvent,
        state::FactState,
    },
    moment::Moment,
    project_names::Home,
    rejection::Rejection,
};

/// 2024-05-29T16:26:40.000Z.
const NOW: u64 = 1_717_000_000_000;

fn asserting(by: &str, further: &Value) -> AssertFact {
    let mut fact = json!({"subject": "dashboard", "predicate": "status", "value": "up"});
    for (name, value) in further.as_object().unwrap() {
        fact[name] = value.clone();
    }
    AssertFact {
        authority: authority(by),
        home: Home { owner: "nick".parse().unwrap(), project_id: "proj_dev_relay".into() },
        fact: Assertion::read(&fact.to_string(), |_| true).unwrap(),
        attribution: Attribution::Own,
        makes_projects: true,
        trace: None,
    }
}

fn around(source: Source) -> FactContext {
    FactContext { project: inside(project()), source }
}

/// Asserts at a time, and gives the fact back.
fn assert_at(state: &mut FactState, ms: u64, further: &Value) -> Result<Value, Rejection> {
    let command = asserting("@nick.a", further);
    let decision = decide_assertion(state, &around(Source::Unnamed), &command, &stamp(ms))?;
    decision.events.iter().for_each(|event| state.evolve(event));
    Ok(serde_json::from_str(&decision.reply.document).unwrap())
}

fn invalidate_at(state: &mut FactState, ms: u64, object: Option<&str>) -> u64 {
    let command = InvalidateFact { authority: authority("@nick.a"), object: object.map(str::to_owned) };
    let decision = invalidate(state, &inside(project()), &command, &stamp(ms)).unwrap();
    decision.events.iter().for_each(|event| state.evolve(event));
    decision.reply
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

#[test]
fn ap_47_ap_48_a_new_fact_ends_the_current_one_where_it_begins() {
    let mut state = FactState::default();
    let first = assert_at(&mut state, NOW, &json!({})).unwrap();
    assert_eq!(first["valid_from"], "2024-05-29T16:26:40.000000Z");
    assert!(
        first["fact_id"].as_str().unwrap().strip_prefix("fact_").is_some_and(|hex| hex.len() == 32),
        "AP-43"
    );
    let command = asserting("@nick.a", &json!({"value": "down"}));
    let decision = decide_assertion(&state, &around(Source::Unnamed), &command, &stamp(NOW + 5)).unwrap();
    let [FactEvent::FactAsserted(event)] = &decision.events[..] else { panic!("one event: AP-49") };
    assert_eq!(event.supersedes, Some(moment("2024-05-29T16:26:40Z")));
    assert_eq!(event.valid_from, moment("2024-05-29T16:26:40.005Z"));
}

#[test]
fn ap_75_the_server_s_own_times_rise_whatever_the_clock_says() {
    let mut state = FactState::default();
    let from = |fact: &Value| moment(fact["valid_from"].as_str().unwrap());
    let first = from(&assert_at(&mut state, NOW, &json!({})).unwrap());
    let second = from(&assert_at(&mut state, NOW, &json!({})).unwrap());
    assert_eq!(second, first.plus_micro(), "0.4 row 11");
    let third = from(&assert_at(&mut state, NOW - 60_000, &json!({})).unwrap());
    assert_eq!(third, second.plus_micro(), "a clock that went back");
    assert_eq!(invalidate_at(&mut state, NOW - 60_000, None), 1);
    let end = state.ended.unwrap();
    assert!(end > third, "no interval is empty");
    assert_eq!(from(&assert_at(&mut state, NOW - 60_000, &json!({})).unwrap()), end);
}

#[test]
fn a_fact_never_begins_inside_another_or_in_the_future() {
    let mut state = FactState::default();
    let at = |text: &str| json!({"valid_from": text});
    assert_at(&mut state, NOW, &at("2024-05-01T00:00:00Z")).unwrap();
    for text in [
        "2024-05-01T00:00:00Z",
        "2024-05-01T00:00:00.000+00:00",
        "2024-04-30T00:00:00Z",
        "2024-05-29T16:26:40.001Z",
    ] {
        let refused = assert_at(&mut state.clone(), NOW, &at(text));
        assert!(matches!(refused, Err(Rejection::InvalidValidFrom(_))), "{text}");
    }
    assert_at(&mut state, NOW, &at("2024-05-02T00:00:00Z")).unwrap();
    assert_eq!(state.ended, Some(moment("2024-05-02T00:00:00Z")));
    assert_eq!(invalidate_at(&mut state, NOW, None), 1);
    assert!(matches!(
        assert_at(&mut state, NOW + 1, &at("2024-05-29T16:26:39Z")),
        Err(Rejection::InvalidValidFrom(_))
    ));
    assert_at(&mut state, NOW + 1, &at("2024-05-29T16:26:40Z")).unwrap();
}

#[test]
fn ap_52_ap_66_ap_67_invalidation_counts_and_minds_the_object() {
    let mut state = FactState::default();
    assert_eq!(invalidate_at(&mut state, NOW, None), 0);
    assert_at(&mut state, NOW, &json!({})).unwrap();
    assert_eq!(invalidate_at(&mut state, NOW + 1, Some("down")), 0);
    assert!(state.current.is_some());
    assert_eq!(invalidate_at(&mut state, NOW + 1, Some("up")), 1);
    assert_eq!((state.current.is_none(), state.ended), (true, Some(moment("2024-05-29T16:26:40.001Z"))));
    assert_eq!(invalidate_at(&mut state, NOW + 2, None), 0);
}

#[test]
fn ap_75_now_is_not_the_future() {
    let at = |text: &str| assert_at(&mut FactState::default(), NOW, &json!({"valid_from": text}));
    at("2024-05-29T16:26:40.000999Z").unwrap();
    at("2024-05-29T16:26:40.000999999Z").unwrap();
    assert!(matches!(at("2024-05-29T16:26:40.001Z"), Err(Rejection::InvalidValidFrom(_))));
}

#[test]
fn ap_45_ap_57_who_asserts() {
    let decide = |by: &str, further: Value, source: Source| {
        let command = asserting(by, &further);
        let decision = decide_assertion(&FactState::default(), &around(source), &command, &stamp(NOW))?;
        let fact: Value = serde_json::from_str(&decision.reply.document).unwrap();
        Ok(fact["asserted_by"]["id"].as_str().unwrap().to_owned())
    };
    let jordan = || Source::By(r#"{"id":"jordan","type":"human","x-a":[1.50]}"#.into());
    let by = |id: &str| json!({"asserted_by": {"id": id, "type": "agent"}});
    assert_eq!(decide("@nick.a", json!({}), jordan()), Ok("jordan".into()));
    assert_eq!(decide("@nick.a", json!({}), Source::Unnamed), Ok("@nick.a".into()));
    assert_eq!(decide("~nick", json!({}), Source::Unnamed), Ok("nick".into()));
    assert_eq!(decide("@nick.a", by("a"), jordan()), Ok("a".into()));
    assert_eq!(decide("@nick.a", by("jordan"), jordan()), Err(Rejection::NotThatActor("asserted_by.id")));
    assert_eq!(decide("operator", by("jordan"), Source::Unnamed), Ok("jordan".into()));
    assert_eq!(decide("@nick.a", json!({}), Source::Absent), Err(Rejection::unknown_source()));
    assert_eq!(decide("@acme.r", json!({}), Source::Unnamed), Err(Rejection::NotPermitted));
    assert_eq!(decide("@acme.x", json!({}), Source::Unnamed), Err(Rejection::ProjectNotFound));
}

#[test]
fn ap_56_an_archived_project_takes_no_facts() {
    let closed = FactContext { project: inside(archived()), source: Source::Unnamed };
    let refused =
        decide_assertion(&FactState::default(), &closed, &asserting("@nick.a", &json!({})), &stamp(NOW));
    assert_eq!(refused, Err(Rejection::ProjectArchived));
    let command = InvalidateFact { authority: authority("@nick.a"), object: None };
    let refused = invalidate(&FactState::default(), &closed.project, &command, &stamp(NOW));
    assert_eq!(refused, Err(Rejection::ProjectArchived));
}
