//! Entries put into a coding agent's settings, and taken out again so that nothing of them is left.
//! Must not know: which entries; what is said of it.

use serde_json::Value;

use super::{
    coding::CodingAgent,
    plan::{Entry, Form, is_ours},
};
use crate::cli::settings::{Document, Odd, Step, with_block, without_block};

/// What a change makes of a text.
pub(crate) struct Changed {
    /// The text.
    pub(crate) text: String,
    /// What was not there before: the ways to members, `WAY/-` for an element.
    pub(crate) made: Vec<String>,
}

/// Puts everything in. `known` is what an earlier change had made; what else is there by our name is refused.
pub(crate) fn put_in(agent: CodingAgent, text: &str, form: &Form, known: &[String]) -> Result<Changed, Odd> {
    let entries = match form {
        Form::Toml(block) => return Ok(Changed { text: with_block(text, block)?, made: Vec::new() }),
        Form::Json(entries) => entries,
    };
    let document = Document::read(text)?;
    if entries.iter().all(|entry| is_there(agent, &document, entry)) {
        return Ok(Changed { text: text.to_owned(), made: known.to_vec() });
    }
    let mut document = Document::read(&take_out(agent, text, form, known)?)?;
    let mut made = Vec::new();
    for entry in entries {
        match entry {
            Entry::Member(path, value) => match document.value(&steps(path)) {
                Some(there) if there == *value => {}
                Some(_) => {
                    let way = path.join("/");
                    return Err(Odd(format!("`{way}` is there already and says something else")));
                }
                None => made.extend(document.put(path, value)?),
            },
            Entry::Element(path, value) => {
                if value.is_string() && elements(&document, path).contains(value) {
                    continue;
                }
                made.extend(document.push(path, value)?);
                made.push(format!("{}/-", path.join("/")));
            }
        }
    }
    Ok(Changed { text: document.text().to_owned(), made })
}

/// Takes out what is ours, and what was made for it and is empty now.
pub(crate) fn take_out(agent: CodingAgent, text: &str, form: &Form, made: &[String]) -> Result<String, Odd> {
    let entries = match form {
        Form::Toml(_) => return Ok(without_block(text)),
        Form::Json(entries) => entries,
    };
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let mut document = Document::read(text)?;
    for entry in entries.iter().rev() {
        match entry {
            Entry::Member(path, _) => {
                if made.contains(&path.join("/")) {
                    document.remove(&steps(path));
                }
            }
            Entry::Element(path, value) if value.is_string() => {
                let at = elements(&document, path).iter().rposition(|element| element == value);
                if let Some(at) = at.filter(|_| made.contains(&format!("{}/-", path.join("/")))) {
                    document.remove(&below(path, &[Step::At(at)]));
                }
            }
            Entry::Element(path, _) => remove_hooks(agent, &mut document, path),
        }
    }
    for way in made.iter().rev() {
        document.remove_empty(&steps(&way.split('/').collect::<Vec<_>>()));
    }
    Ok(document.text().to_owned())
}

/// Whether an entry is there just so.
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

/// A group is a list of hooks, or the hook itself.
fn hooks_of(element: &Value) -> Vec<Value> {
    element["hooks"].as_array().cloned().unwrap_or_else(|| vec![element.clone()])
}

fn remove_hooks(agent: CodingAgent, document: &mut Document, path: &[&'static str]) {
    for (at, element) in elements(document, path).iter().enumerate().rev() {
        let hooks = hooks_of(element);
        if hooks.is_empty() {
            continue;
        }
        if hooks.iter().all(|hook| is_ours(agent, hook)) {
            document.remove(&below(path, &[Step::At(at)]));
            continue;
        }
        for (inner, _) in hooks.iter().enumerate().rev().filter(|(_, hook)| is_ours(agent, hook)) {
            document.remove(&below(path, &[Step::At(at), Step::Key("hooks"), Step::At(inner)]));
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
