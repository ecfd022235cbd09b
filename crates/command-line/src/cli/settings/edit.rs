//! Changes of a JSON text that leave every other byte unchanged; removing an entry exactly undoes adding it.
//! Must not know: files, or the meaning of the settings.

use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};

use super::{
    SettingsError,
    tree::{self, Kind, Node},
};

/// One step on the path to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// The member of this name.
    Key(&'a str),
    /// The element at this index.
    Index(usize),
}

/// A JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    text: String,
}

/// A part of a container that can be removed, and its surroundings.
struct Part {
    from: usize,
    to: usize,
    before: Option<usize>,
}

impl Document {
    /// Parses a text; an empty one counts as an empty object.
    pub(crate) fn read(text: &str) -> Result<Self, SettingsError> {
        let text = if text.trim().is_empty() { format!("{text}{{}}\n") } else { text.to_owned() };
        tree::read(&text)?;
        Ok(Self { text })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn value(&self, path: &[Step<'_>]) -> Option<Value> {
        let root = tree::read(&self.text).ok()?;
        Some(find(&root, path)?.value())
    }

    /// Sets a member, and replaces one of the same name; creates missing objects on the path. Returns the paths of everything
    /// that was created.
    pub(crate) fn put(&mut self, path: &[&str], value: &Value) -> Result<Vec<String>, SettingsError> {
        let (name, parents) = path.split_last().expect("a member has a name");
        let mut created = self.ensure_objects(parents)?;
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        let root = tree::read(&self.text)?;
        if let Some(node) = find(&root, &steps) {
            let (from, to) = (node.from, node.to);
            let text = self.render(value, &self.line_indent(from), self.is_inline(&root));
            self.text.replace_range(from..to, &text);
            return Ok(created);
        }
        self.insert(&steps[..parents.len()], Some(name), value)?;
        created.push(path.join("/"));
        Ok(created)
    }

    /// Adds an element to the array at a path, and creates what is missing. Returns the same as [`Document::put`].
    pub(crate) fn push(&mut self, path: &[&str], value: &Value) -> Result<Vec<String>, SettingsError> {
        let (name, parents) = path.split_last().expect("an array has a name");
        let mut created = self.ensure_objects(parents)?;
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        if self.value(&steps).is_none() {
            self.insert(&steps[..parents.len()], Some(name), &Value::Array(Vec::new()))?;
            created.push(path.join("/"));
        }
        self.insert(&steps, None, value)?;
        Ok(created)
    }

    /// Removes the value at a path; returns false if there is none.
    pub(crate) fn remove(&mut self, path: &[Step<'_>]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let Ok(root) = tree::read(&self.text) else { return false };
        let Some(container) = find(&root, parents) else { return false };
        let Some(part) = part(container, *last) else { return false };
        let (open, only) = (container.from, children(container).len() == 1);
        self.cut(&part, open, only);
        true
    }

    /// Removes the member at a path if it is an empty object or array.
    pub(crate) fn remove_empty(&mut self, path: &[Step<'_>]) -> bool {
        let Ok(root) = tree::read(&self.text) else { return false };
        let is_empty = find(&root, path)
            .is_some_and(|node| !matches!(node.kind, Kind::Plain(_)) && children(node).is_empty());
        is_empty && self.remove(path)
    }

    fn ensure_objects(&mut self, path: &[&str]) -> Result<Vec<String>, SettingsError> {
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        let mut created = Vec::new();
        for end in 1..=path.len() {
            if self.value(&steps[..end]).is_none() {
                self.insert(&steps[..end - 1], Some(path[end - 1]), &Value::Object(serde_json::Map::new()))?;
                created.push(path[..end].join("/"));
            }
        }
        Ok(created)
    }

    /// Appends a member or element to a container.
    fn insert(&mut self, path: &[Step<'_>], key: Option<&str>, value: &Value) -> Result<(), SettingsError> {
        let root = tree::read(&self.text)?;
        let container = find(&root, path).ok_or_else(|| SettingsError::new("it changed in the meantime"))?;
        let fits = match &container.kind {
            Kind::Object(_) => key.is_some(),
            Kind::Array(_) => key.is_none(),
            Kind::Plain(_) => false,
        };
        if !fits {
            let expected = if key.is_some() { "an object" } else { "a list" };
            return Err(SettingsError::new(format!("`{}` in it is not {expected}", display_path(path))));
        }
        let inline = self.is_inline(&root);
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let with_key = |text: &str| match key {
            Some(key) => format!("{}: {text}", Value::from(key)),
            None => text.to_owned(),
        };
        let open = container.from;
        let Some(&(first, last)) =
            children(container).first().zip(children(container).last()).map(|(a, b)| (a.0, b.1)).as_ref()
        else {
            let outer = self.line_indent(open);
            let inner = format!("{outer}{}", self.unit(&root));
            let text = with_key(&self.render(value, &inner, inline));
            let piece = if inline { text } else { format!("{newline}{inner}{text}{newline}{outer}") };
            self.text.insert_str(open + 1, &piece);
            return Ok(());
        };
        let next = tree::skip(&self.text, last)?;
        let comma = self.text.as_bytes().get(next) == Some(&b',');
        let anchor = if comma { next + 1 } else { last };
        let offset = anchor + self.comment_len(anchor);
        let line = self.text[..first].rfind('\n').map_or(0, |newline| newline + 1);
        let own_line = line > open && self.text[line..first].trim().is_empty();
        let piece = if own_line || self.text[anchor..offset].contains("//") {
            let indent = self.line_indent(first);
            format!("{newline}{indent}{}", with_key(&self.render(value, &indent, inline)))
        } else {
            format!(" {}", with_key(&self.render(value, "", true)))
        };
        if comma {
            self.text.insert_str(offset, &format!("{piece},"));
        } else {
            self.text.insert_str(offset, &piece);
            self.text.insert(last, ',');
        }
        Ok(())
    }

    fn cut(&mut self, part: &Part, open: usize, only: bool) {
        let Ok(following) = tree::skip(&self.text, part.to) else { return };
        let has_comma = self.text.as_bytes().get(following) == Some(&b',');
        let blank = self.text[..part.from].trim_end_matches([' ', '\t', '\r', '\n']).len();
        let mut end = part.to;
        if has_comma {
            self.text.remove(following);
        }
        if only {
            let newline = if self.text[end..].starts_with("\r\n") { "\r\n" } else { "\n" };
            let tail = format!("{newline}{}", self.line_indent(open));
            if blank < part.from && self.text[end..].starts_with(&tail) {
                end += tail.len();
            }
        }
        self.text.replace_range(blank..end, "");
        if let Some(before) = part.before.filter(|_| !has_comma)
            && let Ok(comma) = tree::skip(&self.text, before)
            && self.text.as_bytes().get(comma) == Some(&b',')
        {
            self.text.remove(comma);
        }
    }

    /// The length of a comment after `offset` on the same line, which belongs to the text before it.
    fn comment_len(&self, offset: usize) -> usize {
        let line = self.text[offset..].lines().next().unwrap_or_default();
        let bare = line.trim_start_matches([' ', '\t']);
        let blanks = line.len() - bare.len();
        if bare.starts_with("//") {
            line.len()
        } else if bare.starts_with("/*") {
            bare.find("*/").map_or(0, |end| blanks + end + 2)
        } else {
            0
        }
    }

    /// The indent of the line that contains `offset`.
    fn line_indent(&self, offset: usize) -> String {
        let line = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line..offset];
        rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()].to_owned()
    }

    /// One step of indentation, taken from the first line of the root.
    fn unit(&self, root: &Node) -> String {
        let first = children(root).first().map(|(from, _)| self.line_indent(*from));
        first.filter(|indent| !indent.is_empty()).unwrap_or_else(|| "  ".to_owned())
    }

    /// Whether the whole text is on one line.
    fn is_inline(&self, root: &Node) -> bool {
        !children(root).is_empty() && !self.text[root.from..root.to].contains('\n')
    }

    fn render(&self, value: &Value, indent: &str, inline: bool) -> String {
        if inline {
            return value.to_string();
        }
        let unit = tree::read(&self.text).map_or_else(|_| "  ".to_owned(), |root| self.unit(&root));
        let mut bytes = Vec::new();
        let form = PrettyFormatter::with_indent(unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, form);
        value.serialize(&mut serializer).expect("a value is JSON");
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        String::from_utf8(bytes).expect("JSON is UTF-8").replace('\n', &format!("{newline}{indent}"))
    }
}

fn display_path(path: &[Step<'_>]) -> String {
    let keys: Vec<String> = path
        .iter()
        .map(|step| match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Index(index) => index.to_string(),
        })
        .collect();
    keys.join("/")
}

fn find<'a>(root: &'a Node, path: &[Step<'_>]) -> Option<&'a Node> {
    path.iter().try_fold(root, |node, step| match (&node.kind, step) {
        (Kind::Object(members), Step::Key(key)) => {
            Some(&members.iter().rev().find(|member| member.key == *key)?.value)
        }
        (Kind::Array(elements), Step::Index(index)) => elements.get(*index),
        _ => None,
    })
}

/// The start and end of each member or element.
fn children(container: &Node) -> Vec<(usize, usize)> {
    match &container.kind {
        Kind::Object(members) => members.iter().map(|member| (member.from, member.value.to)).collect(),
        Kind::Array(elements) => elements.iter().map(|element| (element.from, element.to)).collect(),
        Kind::Plain(_) => Vec::new(),
    }
}

fn part(container: &Node, step: Step<'_>) -> Option<Part> {
    let index = match (&container.kind, step) {
        (Kind::Object(members), Step::Key(key)) => members.iter().rposition(|member| member.key == key)?,
        (Kind::Array(_), Step::Index(index)) => index,
        _ => return None,
    };
    let all = children(container);
    let (from, to) = *all.get(index)?;
    Some(Part { from, to, before: index.checked_sub(1).map(|before| all[before].1) })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
