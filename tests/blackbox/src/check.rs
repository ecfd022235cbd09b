//! What must hold of any list of events, wherever it came from.

use serde_json::Value;

/// The `sequence` of each event.
#[track_caller]
pub fn sequences(events: &[Value]) -> Vec<i64> {
    let number = |event: &Value| event["sequence"].as_i64().unwrap_or_else(|| panic!("no sequence: {event}"));
    events.iter().map(number).collect()
}

/// The types, without the `session.` in front.
pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap_or("?").trim_start_matches("session.")).collect()
}

/// The contents of the messages among the events, in order.
pub fn content_of(events: &[Value]) -> Vec<&str> {
    let messages = events.iter().filter(|event| event["type"] == "session.message");
    messages.filter_map(|event| event["payload"]["content"].as_str()).collect()
}

/// Demands `first, first + 1, …` without gap or repeat.
#[track_caller]
pub fn assert_gapless(events: &[Value], first: i64) {
    let actual = sequences(events);
    let expected: Vec<i64> = (first..).take(actual.len()).collect();
    assert_eq!(actual, expected, "sequences rise by one: {:?}", kinds(events));
}

/// Demands every key of `needed`, and none that is in neither list.
#[track_caller]
pub fn assert_keys(object: &Value, needed: &[&str], allowed: &[&str]) {
    let members = object.as_object().unwrap_or_else(|| panic!("not an object: {object}"));
    for key in needed {
        assert!(members.contains_key(*key), "{key} is missing: {object}");
    }
    for key in members.keys() {
        let is_allowed = needed.contains(&key.as_str()) || allowed.contains(&key.as_str());
        assert!(is_allowed, "{key} does not belong here: {object}");
    }
}
