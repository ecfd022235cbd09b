//! JSON as people write it, with comments and trailing commas: its parts and their positions.
//! Must not know: how a text is changed.

use serde_json::Value;

use super::SettingsError;

/// Maximum nesting depth.
const DEPTH_MAX: usize = 64;

/// A value in a text.
#[derive(Debug)]
pub(super) struct Node {
    /// The offset of its first byte.
    pub(super) from: usize,
    /// The offset after its last byte.
    pub(super) to: usize,
    /// Its kind.
    pub(super) kind: Kind,
}

/// The kind of a value.
#[derive(Debug)]
pub(super) enum Kind {
    /// An object's members.
    Object(Vec<Member>),
    /// An array's elements.
    Array(Vec<Node>),
    /// A string, number or literal.
    Plain(Value),
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    /// Its name.
    pub(super) key: String,
    /// The offset of its name.
    pub(super) from: usize,
    /// Its value.
    pub(super) value: Node,
}

impl Node {
    /// The value itself; if several members have one name, the last counts.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().map(|member| (member.key.clone(), member.value.value())).collect()
            }
            Kind::Array(elements) => elements.iter().map(Self::value).collect(),
            Kind::Plain(value) => value.clone(),
        }
    }
}

/// Parses a whole text.
pub(super) fn read(text: &str) -> Result<Node, SettingsError> {
    let begin = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let node = value(text, skip(text, begin)?, 0)?;
    let end = skip(text, node.to)?;
    if end < text.len() { Err(odd(text, end, "the end")) } else { Ok(node) }
}

/// The offset after white space and comments.
pub(super) fn skip(text: &str, mut at: usize) -> Result<usize, SettingsError> {
    loop {
        let rest = &text[at..];
        let bare = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        at += rest.len() - bare.len();
        if bare.starts_with("//") {
            at += bare.find('\n').unwrap_or(bare.len());
        } else if bare.starts_with("/*") {
            at += bare.find("*/").ok_or_else(|| odd(text, at, "the end of a comment"))? + 2;
        } else {
            return Ok(at);
        }
    }
}

fn odd(text: &str, at: usize, wanted: &str) -> SettingsError {
    let line = text[..at].matches('\n').count() + 1;
    SettingsError::new(format!("it is not JSON: {wanted} is missing in line {line}"))
}

fn value(text: &str, at: usize, depth: usize) -> Result<Node, SettingsError> {
    if depth > DEPTH_MAX {
        return Err(SettingsError::new("it is nested too deeply"));
    }
    match text.as_bytes().get(at) {
        Some(b'{') => {
            let mut members = Vec::new();
            let to = list(text, at, b'}', |at| {
                let (key, end) = string(text, at)?;
                let colon = skip(text, end)?;
                if text.as_bytes().get(colon) != Some(&b':') {
                    return Err(odd(text, colon, "`:`"));
                }
                let value = value(text, skip(text, colon + 1)?, depth + 1)?;
                let to = value.to;
                members.push(Member { key, from: at, value });
                Ok(to)
            })?;
            Ok(Node { from: at, to, kind: Kind::Object(members) })
        }
        Some(b'[') => {
            let mut elements = Vec::new();
            let to = list(text, at, b']', |at| {
                let element = value(text, at, depth + 1)?;
                let to = element.to;
                elements.push(element);
                Ok(to)
            })?;
            Ok(Node { from: at, to, kind: Kind::Array(elements) })
        }
        Some(b'"') => {
            let (word, to) = string(text, at)?;
            Ok(Node { from: at, to, kind: Kind::Plain(Value::String(word)) })
        }
        _ => {
            let rest = &text[at..];
            let length =
                rest.find([',', ']', '}', ' ', '\t', '\r', '\n', '/', '"', '{', '[']).unwrap_or(rest.len());
            let plain = serde_json::from_str(&rest[..length]).map_err(|_| odd(text, at, "a value"))?;
            Ok(Node { from: at, to: at + length, kind: Kind::Plain(plain) })
        }
    }
}

/// The items between brackets. `one` parses each and returns the offset of its end; a trailing comma is allowed.
fn list(
    text: &str,
    open: usize,
    close: u8,
    mut one: impl FnMut(usize) -> Result<usize, SettingsError>,
) -> Result<usize, SettingsError> {
    let mut at = skip(text, open + 1)?;
    loop {
        if text.as_bytes().get(at) == Some(&close) {
            return Ok(at + 1);
        }
        at = skip(text, one(at)?)?;
        match text.as_bytes().get(at) {
            Some(b',') => at = skip(text, at + 1)?,
            Some(other) if *other == close => {}
            _ => return Err(odd(text, at, &format!("`,` or `{}`", char::from(close)))),
        }
    }
}

fn string(text: &str, at: usize) -> Result<(String, usize), SettingsError> {
    let missing = || odd(text, at, "a text in quotes");
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'"') {
        return Err(missing());
    }
    let mut end = at + 1;
    while *bytes.get(end).ok_or_else(missing)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let quoted = text.get(at..=end).ok_or_else(missing)?;
    Ok((serde_json::from_str(quoted).map_err(|_| missing())?, end + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_commas_at_ends_are_read() {
        let text = "\u{feff}// a\n{\"a\": [1, 2.5e1, /* b */ true,], \"b\\n\": {\"c\": null}, \"a\": \"ü\\u00fc\", } // c";
        assert_eq!(read(text).unwrap().value(), json!({"a": "üü", "b\n": {"c": null}}));
        assert_eq!(read("[]").unwrap().value(), json!([]));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        for bad in [
            "",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "[1 2]",
            "{a:1}",
            "[1]]",
            "/*",
            "\"\\",
            "[,]",
            "{\"a\":01}",
            "\"ü\\ü\"",
        ] {
            let Err(SettingsError(why)) = read(bad) else { panic!("{bad}") };
            assert!(why.starts_with("it is not JSON"), "{why}");
        }
        let Err(SettingsError(why)) = read("{\n\"a\": 1\n\"b\": 2}") else { panic!() };
        assert!(why.ends_with("line 3"), "{why}");
        assert!(read(&"[".repeat(100)).is_err());
    }
}
