//! Adds entries to a coding agent's settings, and removes them again without a trace.
//! Must not know: the entries, and the output.

use serde_json::Value;

use super::{
    coding_agents::CodingAgent,
    plan::{APPROVED, Entry, Form, OWN_MODULE, SERVER, is_ours, is_own_line},
};
use crate::cli::settings::{Document, SettingsError, Step, with_block, without_block};

/// A changed text.
pub(crate) struct Edit {
    pub(crate) text: String,
    /// The members that the change created: their paths, `PATH/-` for an element, `PATH/-TEXT` for an element that is a text.
    pub(crate) created: Vec<String>,
}

/// Recorded when the block says which tools are called without approval.
const APPROVALS: &str = "approvals";

/// Adds every entry. `known` lists what an earlier change created; any other entry with our name is rejected.
pub(crate) fn add_entries(
    agent: CodingAgent,
    text: &str,
    form: &Form,
    known: &[String],
) -> Result<Edit, SettingsError> {
    let entries = match form {
        Form::Toml(block) => {
            // Without our record, an approved tool is the coding agent's own setting.
            let approved = APPROVALS.to_owned();
            let is_own = |header: &str, line: &str| is_own_line(header, line, known.contains(&approved));
            let created = if block.contains(APPROVED) { vec![approved.clone()] } else { Vec::new() };
            return Ok(Edit { text: with_block(text, block, &is_own)?, created });
        }
        Form::Own(module) => {
            if !text.trim().is_empty() && !text.starts_with(OWN_MODULE) {
                return Err(SettingsError("it is not a file of Plenary".to_owned()));
            }
            return Ok(Edit { text: module.clone(), created: Vec::new() });
        }
        Form::Json(entries) => entries,
    };
    let document = Document::read(text)?;
    let is_planned = |(path, text): (Vec<&str>, &str)| {
        entries
            .iter()
            .any(|entry| matches!(entry, Entry::Element(list, value) if *list == path && value == text))
    };
    if entries.iter().all(|entry| is_there(agent, &document, entry)) && texts(known).all(is_planned) {
        return Ok(Edit { text: text.to_owned(), created: known.to_vec() });
    }
    let mut document = Document::read(&remove_entries(agent, text, form, known)?)?;
    let mut created = Vec::new();
    for entry in entries {
        match entry {
            Entry::Member(path, value) => match document.value(&steps(path)) {
                Some(present) if present == *value => {}
                Some(_) => {
                    let member = path.join("/");
                    return Err(SettingsError(format!("`{member}` already exists with another value")));
                }
                None => created.extend(document.put(path, value)?),
            },
            Entry::Element(path, value) => {
                if value.is_string() && elements(&document, path).contains(value) {
                    continue;
                }
                created.extend(document.push(path, value)?);
                created.push(element(path, value));
            }
        }
    }
    Ok(Edit { text: document.text().to_owned(), created })
}

/// Removes our entries, and the members created for them that are empty now.
pub(crate) fn remove_entries(
    agent: CodingAgent,
    text: &str,
    form: &Form,
    created: &[String],
) -> Result<String, SettingsError> {
    let entries = match form {
        Form::Toml(_) => return without_block(text),
        Form::Own(_) if text.starts_with(OWN_MODULE) => return Ok(String::new()),
        Form::Own(_) => return Ok(text.to_owned()),
        Form::Json(entries) => entries,
    };
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = Document::read(text)?;
    // By the record: the plan of now may leave out a text of an earlier one.
    for (path, text) in texts(created).rev() {
        remove_text(&mut document, &path, text);
    }
    for entry in entries.iter().rev() {
        match entry {
            Entry::Member(path, _) => {
                if created.contains(&path.join("/")) {
                    document.remove(&steps(path));
                }
            }
            Entry::Element(path, value) if value == SERVER => {
                if created.contains(&element(path, value)) {
                    remove_text(&mut document, path, SERVER);
                }
            }
            Entry::Element(_, value) if value.is_string() => {}
            Entry::Element(path, _) => remove_hooks(agent, &mut document, path),
        }
    }
    for member in created.iter().rev() {
        document.remove_empty(&steps(&member.split('/').collect::<Vec<_>>()));
    }
    Ok(document.text().to_owned())
}

/// The record of an element; a text is recorded itself, since other elements of the list may be the user's.
fn element(path: &[&str], value: &Value) -> String {
    let path = path.join("/");
    match value.as_str() {
        Some(text) if text != SERVER => format!("{path}/-{text}"),
        Some(_) | None => format!("{path}/-"),
    }
}

/// The recorded texts, each with the path of its list.
fn texts(created: &[String]) -> impl DoubleEndedIterator<Item = (Vec<&str>, &str)> {
    let named = created.iter().filter_map(|created| created.split_once("/-"));
    named.filter(|(_, text)| !text.is_empty()).map(|(path, text)| (path.split('/').collect(), text))
}

fn remove_text(document: &mut Document, path: &[&str], text: &str) {
    let index = elements(document, path).iter().rposition(|element| element == text);
    if let Some(index) = index {
        document.remove(&below(path, &[Step::Index(index)]));
    }
}

/// Whether exactly this entry exists.
fn is_there(agent: CodingAgent, document: &Document, entry: &Entry) -> bool {
    match entry {
        Entry::Member(path, value) => document.value(&steps(path)).is_some_and(|there| there == *value),
        Entry::Element(path, value) if value.is_string() => elements(document, path).contains(value),
        Entry::Element(path, value) => {
            let all = elements(document, path);
            let ours = all.iter().filter(|element| hooks_of(element).iter().any(|hook| is_ours(agent, hook)));
            ours.eq([value])
        }
    }
}

/// The hooks of an element: a group is a list of hooks, or the hook itself.
fn hooks_of(element: &Value) -> Vec<Value> {
    element["hooks"].as_array().cloned().unwrap_or_else(|| vec![element.clone()])
}

fn remove_hooks(agent: CodingAgent, document: &mut Document, path: &[&'static str]) {
    for (index, element) in elements(document, path).iter().enumerate().rev() {
        let hooks = hooks_of(element);
        if hooks.is_empty() {
            continue;
        }
        if hooks.iter().all(|hook| is_ours(agent, hook)) {
            document.remove(&below(path, &[Step::Index(index)]));
            continue;
        }
        for (hook_index, _) in hooks.iter().enumerate().rev().filter(|(_, hook)| is_ours(agent, hook)) {
            document.remove(&below(path, &[Step::Index(index), Step::Key("hooks"), Step::Index(hook_index)]));
        }
    }
}

fn elements(document: &Document, path: &[&str]) -> Vec<Value> {
    match document.value(&steps(path)) {
        Some(Value::Array(elements)) => elements,
        Some(_) | None => Vec::new(),
    }
}

fn steps<'a>(path: &[&'a str]) -> Vec<Step<'a>> {
    path.iter().map(|key| Step::Key(key)).collect()
}

fn below<'a>(path: &[&'a str], more: &[Step<'a>]) -> Vec<Step<'a>> {
    steps(path).into_iter().chain(more.iter().copied()).collect()
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
