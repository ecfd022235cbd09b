//! The problems of a spec, a state, a status (CH-31, CH-32, CH-15).
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are passed")]

use serde_json::{Map, Value, json};

use crate::lint::lint;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The members that have a problem.
fn wrong(kind: &str, payload: Value, current: Option<Value>) -> Vec<String> {
    let verdict = lint(kind, Some("me"), &object(payload), current.map(object).as_ref());
    assert_eq!(verdict.valid, verdict.problems.is_empty());
    assert!(!verdict.stored);
    verdict.problems.into_iter().map(|problem| problem.field).collect()
}

fn concept(id: &str, status: &str) -> Value {
    json!({"id": id, "owner": "me", "status": status, "concept": "a goal"})
}

fn state(concepts: Value) -> Value {
    json!({
        "protocol_version": 2,
        "updated_by": "me",
        "handoff": {"holder": "me", "expected_action": "go on"},
        "concepts": concepts,
        "agents": {"me": {"role": "worker", "status": "working"}},
    })
}

#[test]
fn ch_15_other_kinds_are_free() {
    for kind in ["comms", "log", "anything", "Spec"] {
        assert_eq!(wrong(kind, json!({"x": [1]}), None), [""; 0]);
    }
}

#[test]
fn ch_31_shapes_are_looked_at_member_by_member() {
    let none = [""; 0];
    assert_eq!(wrong("spec", json!({"mission": "m", "rules": ["r"], "links": {"a": "b"}}), None), none);
    assert_eq!(
        wrong("spec", json!({"mission": "", "rules": [1], "links": []}), None),
        ["mission", "rules", "links"]
    );
    assert_eq!(wrong("status", json!({"agent": "me", "phase": "working", "note": "n"}), None), none);
    assert_eq!(wrong("status", json!({"agent": "you", "note": 1}), None), ["phase", "note", "agent"]);
    assert_eq!(wrong("state", state(json!([concept("a-1", "proposed")])), None), none);
    let mut free = state(json!([]));
    free["handoff"]["holder"] = Value::Null;
    assert_eq!(wrong("state", free, None), none, "nobody may hold the work");
    assert_eq!(
        wrong("state", json!({}), None),
        ["protocol_version", "updated_by", "handoff", "concepts", "agents"]
    );
    let mut odd = state(json!([{"id": "Not A Slug", "status": "begun", "suggested_actions": "x"}, 5]));
    odd["protocol_version"] = json!("2");
    odd["handoff"] = json!({"holder": 5});
    odd["agents"] = json!({"me": {"role": "boss"}, "you": 1});
    assert_eq!(
        wrong("state", odd, None),
        [
            "protocol_version",
            "handoff.holder",
            "handoff.expected_action",
            "concepts[0].owner",
            "concepts[0].concept",
            "concepts[0].status",
            "concepts[0].suggested_actions",
            "concepts[0].id",
            "concepts[1]",
            "agents.me.role",
            "agents.me.status",
            "agents.you",
        ]
    );
    let twice = state(json!([concept("a", "proposed"), concept("a", "proposed")]));
    assert_eq!(wrong("state", twice, None), ["concepts[1].id"]);
}

#[test]
fn ch_32_concepts_go_one_way() {
    let standings = ["proposed", "in_progress", "done", "abandoned"];
    let allowed = [
        ("proposed", "proposed"),
        ("proposed", "in_progress"),
        ("in_progress", "in_progress"),
        ("in_progress", "done"),
        ("in_progress", "abandoned"),
        ("done", "done"),
        ("abandoned", "abandoned"),
    ];
    for from in standings {
        for to in standings {
            let found =
                wrong("state", state(json!([concept("a", to)])), Some(state(json!([concept("a", from)]))));
            assert_eq!(found.is_empty(), allowed.contains(&(from, to)), "{from} -> {to}: {found:?}");
        }
        let found = wrong("state", state(json!([concept("a", from)])), Some(state(json!([]))));
        assert_eq!(found.is_empty(), from == "proposed", "a new concept that is {from}: {found:?}");
        let found = wrong("state", state(json!([concept("a", from)])), None);
        assert!(found.is_empty(), "the first state may begin anywhere");
    }
}

#[test]
fn ch_32_finished_concepts_never_change_and_none_is_lost() {
    let mut done = concept("a", "done");
    done["result"] = json!("it works");
    let current = state(json!([done, concept("b", "proposed")]));
    assert!(wrong("state", current.clone(), Some(current.clone())).is_empty());
    let mut reworded = current.clone();
    reworded["concepts"][0]["result"] = json!("it works better");
    assert_eq!(wrong("state", reworded, Some(current.clone())), ["concepts[0]"]);
    let without = state(json!([concept("b", "proposed")]));
    assert_eq!(wrong("state", without, Some(current)), ["concepts"]);
    assert!(
        wrong("state", state(json!([])), Some(json!({"concepts": "odd"}))).is_empty(),
        "an odd current state"
    );
}
