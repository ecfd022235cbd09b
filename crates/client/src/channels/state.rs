//! The state of a channel, and the next one at a handoff (CH-17, CH-31, CH-33). Pure.
//! Must not know: where a state is read from or posted to.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

/// The members of an object, unchanged: numbers keep their digits, unknown members their values.
type Members = BTreeMap<String, Box<RawValue>>;

/// The current state is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the channel's state is not a JSON object")]
pub struct NotAState;

/// The state that follows `current` when `by` hands the work to `holder`, with `action` as the expected action; all
/// other members stay unchanged. Without a current state, a new one of version 2.
///
/// # Errors
/// [`NotAState`] when `current` is not an object.
pub fn handed_over(
    current: Option<&RawValue>,
    author: &str,
    holder: &str,
    action: &str,
) -> Result<Box<RawValue>, NotAState> {
    let mut state: Members = match current {
        Some(current) => serde_json::from_str(current.get()).map_err(|_| NotAState)?,
        None => [("protocol_version", "2"), ("concepts", "[]"), ("agents", "{}")]
            .into_iter()
            .map(|(name, json)| (name.to_owned(), raw(&serde_json::from_str::<&RawValue>(json).ok())))
            .collect(),
    };
    // A value that is not an object does not count as a handoff.
    let before = state.get("handoff").map(|handoff| serde_json::from_str(handoff.get()));
    let mut handoff: Members = before.and_then(Result::ok).unwrap_or_default();
    handoff.insert("holder".to_owned(), raw(&holder));
    handoff.insert("expected_action".to_owned(), raw(&action));
    state.insert("handoff".to_owned(), raw(&handoff));
    state.insert("updated_by".to_owned(), raw(&author));
    Ok(raw(&state))
}

fn raw<T: serde::Serialize>(value: &T) -> Box<RawValue> {
    to_raw_value(value).expect("strings and objects of JSON can be written")
}

/// The holder of the work in this state, and the expected action; `None` without a holder.
pub fn handoff_of(state: &RawValue) -> Option<(String, String)> {
    let state: Members = serde_json::from_str(state.get()).ok()?;
    let handoff: Members = serde_json::from_str(state.get("handoff")?.get()).ok()?;
    let text = |name: &str| serde_json::from_str::<String>(handoff.get(name)?.get()).ok();
    let holder = text("holder").filter(|holder| !holder.is_empty())?;
    Some((holder, text("expected_action").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn next(current: Option<&str>) -> Result<Box<RawValue>, NotAState> {
        let current = current.map(|json| serde_json::from_str::<&RawValue>(json).unwrap());
        handed_over(current, "@nick.ann", "@acme.bob", "review it")
    }

    #[test]
    fn ch_33_a_handoff_changes_holder_action_and_author_and_keeps_all_else() {
        let current = r#"{"protocol_version": 2, "updated_by": "x", "colour": {"b": 1, "a": [1.10, 12345678901234567890123]},
            "handoff": {"holder": "x", "expected_action": "y", "since": 1e400},
            "concepts": [{"id": "lexer", "owner": "x", "status": "done", "concept": "a lexer", "result": "\u00e9"}],
            "agents": {"x": {"role": "worker", "status": "working"}}}"#;
        let next = next(Some(current)).unwrap();
        for expected in [
            r#""colour":{"b": 1, "a": [1.10, 12345678901234567890123]}"#,
            r#""since":1e400"#,
            r#""concepts":[{"id": "lexer", "owner": "x", "status": "done", "concept": "a lexer", "result": "\u00e9"}]"#,
            r#""agents":{"x": {"role": "worker", "status": "working"}}"#,
            r#""updated_by":"@nick.ann""#,
            r#""holder":"@acme.bob""#,
            r#""expected_action":"review it""#,
            r#""protocol_version":2"#,
        ] {
            assert!(next.get().contains(expected), "{expected}: {next}");
        }
        let members: Members = serde_json::from_str(next.get()).unwrap();
        assert_eq!(members.len(), 6, "{next}");
    }

    #[test]
    fn ch_31_without_a_state_a_handoff_begins_one() {
        let fresh: Value = serde_json::from_str(next(None).unwrap().get()).unwrap();
        let expected = json!({
            "protocol_version": 2, "updated_by": "@nick.ann", "concepts": [], "agents": {},
            "handoff": {"holder": "@acme.bob", "expected_action": "review it"},
        });
        assert_eq!(fresh, expected);
        assert_eq!(next(Some("[]")).unwrap_err(), NotAState);
        let odd = next(Some(r#"{"handoff": "nobody"}"#)).unwrap();
        assert_eq!(handoff_of(&odd), Some(("@acme.bob".to_owned(), "review it".to_owned())));
    }

    #[test]
    fn nobody_holds_what_names_no_holder() {
        let handoff = |json: &str| handoff_of(serde_json::from_str(json).unwrap());
        for state in
            ["{}", r#"{"handoff":{}}"#, r#"{"handoff":{"holder":null}}"#, r#"{"handoff":{"holder":""}}"#]
        {
            assert_eq!(handoff(state), None, "{state}");
        }
        assert_eq!(handoff(r#"{"handoff":{"holder":"x"}}"#), Some(("x".to_owned(), String::new())));
    }
}
