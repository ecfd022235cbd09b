//! Names that the published implementation uses and the document does not (wire.md 0.4 row 14). Only shapes outside
//! the document are mapped; everything else keeps its bytes.
//! Must not know: the decision on a record.

use serde_json::{Map, Value, json};

use crate::schema::{PACKAGE_TYPES, RELAY_VERSION};

/// The published implementation's words for states, and the document's.
const STATES: [(&str, &str); 5] = [
    ("in_progress", "draft"),
    ("blocked", "draft"),
    ("pending_review", "awaiting_review"),
    ("approved", "complete"),
    ("rejected", "revision_requested"),
];
/// The published implementation's names for members of a fact, and the document's.
const TERMS: [(&str, &str); 3] = [("relation", "predicate"), ("object", "value"), ("ended_at", "valid_to")];

/// A package with the document's names; `None` if nothing changes.
pub(crate) fn package(data: &str) -> Option<String> {
    let mut package: Map<String, Value> = serde_json::from_str(data).ok()?;
    let before = package.clone();
    let word = |package: &Map<String, Value>, name: &str| {
        package.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    if let Some(status) = word(&package, "status")
        && let Some((_, known)) = STATES.iter().find(|(theirs, _)| *theirs == status)
    {
        package.insert("status".into(), json!(known));
        package.insert("x-status".into(), json!(status));
    }
    if let Some(kind) = word(&package, "package_type")
        && !PACKAGE_TYPES.contains(&kind.as_str())
        && !kind.starts_with("x-")
    {
        package.insert("package_type".into(), json!(format!("x-{kind}")));
    }
    package.entry("relay_version").or_insert_with(|| json!(RELAY_VERSION));
    package.entry("review_type").or_insert_with(|| json!("none"));
    package.entry("package_type").or_insert_with(|| json!("standard"));
    moment(&mut package, "created_at");
    (package != before).then(|| Value::Object(package).to_string())
}

/// The same for a fact.
pub(crate) fn fact(data: &str) -> Option<String> {
    let mut fact: Map<String, Value> = serde_json::from_str(data).ok()?;
    let before = fact.clone();
    for (theirs, known) in TERMS {
        if !fact.contains_key(known)
            && let Some(value) = fact.remove(theirs)
        {
            fact.insert(known.into(), value);
        }
    }
    if !fact.contains_key("created_at")
        && let Some(since) = fact.get("valid_from").cloned()
    {
        fact.insert("created_at".into(), since);
    }
    for name in ["valid_from", "valid_to", "created_at"] {
        moment(&mut fact, name);
    }
    (fact != before).then(|| Value::Object(fact).to_string())
}

/// The same for a project, which may have its id only as `id`.
pub(crate) fn project(data: &str) -> Option<String> {
    let mut project: Map<String, Value> = serde_json::from_str(data).ok()?;
    let before = project.clone();
    if !project.contains_key("project_id")
        && let Some(id) = project.get("id").cloned()
    {
        project.insert("project_id".into(), id);
    }
    for name in ["created_at", "archived_at"] {
        moment(&mut project, name);
    }
    (project != before).then(|| Value::Object(project).to_string())
}

/// Converts the time format of a database, `2026-04-18 20:00:00+00`, to RFC 3339.
fn moment(object: &mut Map<String, Value>, name: &str) {
    let Some(text) = object.get(name).and_then(Value::as_str) else { return };
    let Some((day, time)) = text.split_once(' ') else { return };
    let time =
        time.strip_suffix("+00").or_else(|| time.strip_suffix("+00:00")).or_else(|| time.strip_suffix('Z'));
    if let Some(time) = time {
        let text = format!("{day}T{time}Z");
        object.insert(name.into(), json!(text));
    }
}
