//! The results of the tools of this set, with the members that a client needs to continue; a result too large for one
//! answer has none of them, so none is required.
//! Must not know: how a result is computed.

use std::sync::Arc;

use serde_json::{Map, Value, json};

const TEXT: &str = "string";
const NUMBER: &str = "integer";
const LIST: &str = "array";
const YES_OR_NO: &str = "boolean";
const OBJECT: &str = "object";

/// The members of each tool's results that have the same type for all arguments.
const MEMBERS: [(&str, &[(&str, &str)]); 12] = [
    ("ask", &[("answers", LIST), ("session_id", TEXT), ("timed_out", YES_OR_NO)]),
    ("ask_person", &[("answer", OBJECT), ("request_id", TEXT), ("state", TEXT), ("timed_out", YES_OR_NO)]),
    ("channel", &[("channels", LIST), ("events", LIST)]),
    ("deposit", &[("package_id", TEXT), ("project_id", TEXT)]),
    ("hand_over", &[("frame_id", TEXT), ("session_id", TEXT)]),
    ("inbox", &[("cursor", TEXT), ("items", LIST), ("unread", NUMBER)]),
    ("lock", &[("claims", LIST), ("lease_id", TEXT), ("released", NUMBER)]),
    ("note_fact", &[("fact_id", TEXT), ("invalidated", NUMBER), ("package_id", TEXT)]),
    ("read", &[("events", LIST), ("next", OBJECT), ("session_id", TEXT), ("sessions", LIST)]),
    ("run_agent", &[("run_id", TEXT), ("status", TEXT)]),
    ("send", &[("sequence", NUMBER), ("session_id", TEXT)]),
    ("whoami", &[("agents", LIST), ("me", TEXT), ("next", OBJECT)]),
];

/// The schema of a tool's structured result.
pub(super) fn of(tool: &str) -> Arc<Map<String, Value>> {
    let known = MEMBERS.iter().find(|(name, _)| *name == tool).map(|(_, members)| *members);
    with(known.unwrap_or_default())
}

/// An object with members of these types.
pub(in crate::tools) fn with(members: &[(&str, &str)]) -> Arc<Map<String, Value>> {
    let mut schema = Map::from_iter([("type".to_owned(), json!(OBJECT))]);
    if !members.is_empty() {
        let members: Map<String, Value> =
            members.iter().map(|(name, kind)| ((*name).to_owned(), json!({"type": kind}))).collect();
        schema.insert("properties".to_owned(), members.into());
    }
    Arc::new(schema)
}
