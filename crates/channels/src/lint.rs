//! Validation of a `spec`, `state` or `status` before it is posted (CH-31, CH-32). The shapes are advice: the server also
//! stores invalid events. Pure.
//! Must not know: the caller, any part of the channel except its current state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::wire::{Problem, Verdict};

const ROLES: &[&str] = &["orchestrator", "worker", "peer", "observer"];
const STANDINGS: &[&str] = &["ready", "working", "blocked", "done", "dead"];
const CONCEPT_STANDINGS: &[&str] = &["proposed", "in_progress", "done", "abandoned"];

type Object = Map<String, Value>;

/// The problems found so far.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.0.push(Problem { field: field.into(), problem: problem.into() });
    }

    /// Requires a text that is not empty.
    fn text<'a>(&mut self, object: &'a Object, path: &str, name: &str) -> Option<&'a str> {
        match object.get(name) {
            Some(Value::String(text)) if !text.is_empty() => return Some(text),
            Some(_) => self.add(format!("{path}{name}"), "must be a string that is not empty"),
            None => self.add(format!("{path}{name}"), "is missing"),
        }
        None
    }

    /// Requires one of these texts.
    fn one_of(&mut self, object: &Object, path: &str, name: &str, allowed: &[&str]) {
        match object.get(name).map(Value::as_str) {
            Some(Some(text)) if allowed.contains(&text) => {}
            Some(_) => self.add(format!("{path}{name}"), format!("must be one of {}", allowed.join(", "))),
            None => self.add(format!("{path}{name}"), format!("is missing; one of {}", allowed.join(", "))),
        }
    }

    fn texts(&mut self, value: Option<&Value>, field: &str) {
        let Some(value) = value else { return };
        if !value.as_array().is_some_and(|items| items.iter().all(Value::is_string)) {
            self.add(field, "must be a list of strings");
        }
    }
}

/// All problems of an event of this kind. `current` is the channel's newest state.
pub fn lint(kind: &str, author: Option<&str>, payload: &Object, current: Option<&Object>) -> Verdict {
    let mut found = Problems::default();
    match kind {
        "spec" => spec(&mut found, payload),
        "state" => state(&mut found, payload, current),
        "status" => status(&mut found, author, payload),
        _ => {}
    }
    Verdict { valid: found.0.is_empty(), stored: false, problems: found.0 }
}

fn spec(found: &mut Problems, payload: &Object) {
    found.text(payload, "", "mission");
    found.texts(payload.get("rules"), "rules");
    let links = payload
        .get("links")
        .map(|links| links.as_object().is_some_and(|links| links.values().all(Value::is_string)));
    if links == Some(false) {
        found.add("links", "must be an object of strings");
    }
}

fn status(found: &mut Problems, author: Option<&str>, payload: &Object) {
    let agent = found.text(payload, "", "agent");
    found.text(payload, "", "phase");
    if payload.get("note").is_some_and(|note| !note.is_string()) {
        found.add("note", "must be a string");
    }
    if let (Some(agent), Some(author)) = (agent, author)
        && agent != author
    {
        found.add("agent", format!("is not the author, {author}; liveness follows the author"));
    }
}

fn state(found: &mut Problems, payload: &Object, current: Option<&Object>) {
    if payload.get("protocol_version") != Some(&Value::from(2)) {
        found.add("protocol_version", "must be 2");
    }
    found.text(payload, "", "updated_by");
    match payload.get("handoff").map(Value::as_object) {
        Some(Some(handoff)) => {
            if !handoff.get("holder").is_some_and(Value::is_null) {
                found.text(handoff, "handoff.", "holder");
            }
            found.text(handoff, "handoff.", "expected_action");
        }
        Some(None) => found.add("handoff", "must be an object"),
        None => found.add("handoff", "is missing; {holder, expected_action}"),
    }
    match payload.get("concepts").map(Value::as_array) {
        Some(Some(concepts)) => self::concepts(found, concepts, current),
        Some(None) => found.add("concepts", "must be a list"),
        None => found.add("concepts", "is missing; a list, which may be empty"),
    }
    match payload.get("agents").map(Value::as_object) {
        Some(Some(agents)) => {
            for (id, agent) in agents {
                let path = format!("agents.{id}");
                let Some(agent) = agent.as_object() else {
                    found.add(path, "must be an object, {role, status}");
                    continue;
                };
                found.one_of(agent, &format!("{path}."), "role", ROLES);
                found.one_of(agent, &format!("{path}."), "status", STANDINGS);
            }
        }
        Some(None) => found.add("agents", "must be an object"),
        None => found.add("agents", "is missing; an object, which may be empty"),
    }
}

/// Whether a text is lower-case words or numbers joined by hyphens.
fn is_slug(text: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split('-').all(plain)
}

fn concepts(found: &mut Problems, concepts: &[Value], current: Option<&Object>) {
    let before = current.map(known_concepts);
    let mut seen = BTreeSet::new();
    for (n, concept) in concepts.iter().enumerate() {
        let path = format!("concepts[{n}].");
        let Some(concept) = concept.as_object() else {
            found.add(format!("concepts[{n}]"), "must be an object");
            continue;
        };
        found.text(concept, &path, "owner");
        found.text(concept, &path, "concept");
        found.one_of(concept, &path, "status", CONCEPT_STANDINGS);
        found.texts(concept.get("suggested_actions"), &format!("{path}suggested_actions"));
        let Some(id) = found.text(concept, &path, "id") else { continue };
        if !is_slug(id) {
            found.add(format!("{path}id"), "must be a slug: lower-case words joined by hyphens");
        }
        if !seen.insert(id) {
            found.add(format!("{path}id"), format!("stands twice: {id}"));
        }
        if let Some(before) = &before {
            step(found, &path, before.get(id).copied(), concept);
        }
    }
    for id in before.into_iter().flatten().map(|(id, _)| id).filter(|id| !seen.contains(id)) {
        found.add(
            "concepts",
            format!("{id} is missing; the newest state counts as a whole, so keep every concept"),
        );
    }
}

fn known_concepts(current: &Object) -> BTreeMap<&str, &Object> {
    let concepts = current.get("concepts").and_then(Value::as_array).into_iter().flatten();
    let named = concepts.filter_map(|concept| {
        let concept = concept.as_object()?;
        Some((concept.get("id")?.as_str()?, concept))
    });
    named.collect()
}

/// The transitions: proposed -> in_progress -> done | abandoned. A finished concept never changes.
fn step(found: &mut Problems, path: &str, before: Option<&Object>, after: &Object) {
    fn standing(concept: &Object) -> &str {
        concept.get("status").and_then(Value::as_str).unwrap_or_default()
    }
    let to = standing(after);
    let Some(before) = before else {
        if to != "proposed" && CONCEPT_STANDINGS.contains(&to) {
            found.add(format!("{path}status"), format!("a new concept must be proposed, not {to}"));
        }
        return;
    };
    let from = standing(before);
    match (from, to) {
        ("done" | "abandoned", _) if before != after => {
            found.add(
                path.trim_end_matches('.'),
                format!("is already {from}; a finished concept cannot change"),
            );
        }
        ("proposed", "done" | "abandoned") => {
            found.add(format!("{path}status"), format!("must be in_progress before it is {to}"));
        }
        ("in_progress", "proposed") => {
            found.add(format!("{path}status"), "cannot go back from in_progress to proposed");
        }
        _ => {}
    }
}
