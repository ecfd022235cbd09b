//! The published implementation's names.

use serde_json::{Value, json};

use crate::transfer::reference::{fact, package, project};

fn mapped(map: fn(&str) -> Option<String>, value: &Value) -> Value {
    map(&value.to_string()).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

#[test]
fn ap_80_states_and_types_of_others_get_the_documents_names() {
    let base = json!({"relay_version": "0.1", "review_type": "none", "package_type": "standard"});
    let with = |name: &str, value: &str| {
        let mut package = base.clone();
        package[name] = json!(value);
        mapped(package_of, &package)
    };
    for (theirs, known) in [
        ("pending_review", "awaiting_review"),
        ("approved", "complete"),
        ("rejected", "revision_requested"),
        ("in_progress", "draft"),
        ("blocked", "draft"),
    ] {
        let found = with("status", theirs);
        assert_eq!((&found["status"], &found["x-status"]), (&json!(known), &json!(theirs)));
    }
    assert_eq!(with("package_type", "lattice_node")["package_type"], "x-lattice_node");
    for known in ["decision", "x-own"] {
        assert_eq!(with("package_type", known), Value::Null, "nothing is to be changed");
    }
    assert_eq!(with("created_at", "2026-04-18 20:00:00.5+00")["created_at"], "2026-04-18T20:00:00.5Z");
    assert_eq!(with("created_at", "2026-04-18 20:00:00+02"), Value::Null, "not in UTC");
    assert_eq!(mapped(package_of, &json!({"title": "t"}))["relay_version"], "0.1");
}

fn package_of(data: &str) -> Option<String> {
    package(data)
}

#[test]
fn ap_80_facts_and_projects_of_others_get_the_documents_names() {
    let theirs = json!({"relation": "p", "object": "v", "ended_at": "2026-04-11T12:00:00Z", "valid_from": "2026-04-10T12:00:00Z"});
    let ours = json!({"predicate": "p", "value": "v", "valid_to": "2026-04-11T12:00:00Z",
        "valid_from": "2026-04-10T12:00:00Z", "created_at": "2026-04-10T12:00:00Z"});
    assert_eq!(mapped(fact, &theirs), ours);
    assert_eq!(mapped(fact, &ours), Value::Null);
    let both = json!({"predicate": "p", "relation": "other", "created_at": "2026-04-10T12:00:00Z"});
    assert_eq!(mapped(fact, &both), Value::Null, "the document's own member counts");
    assert_eq!(mapped(project, &json!({"id": "p"})), json!({"id": "p", "project_id": "p"}));
}
