//! JSON as people write it, with comments and trailing commas: its parts and their positions.
//! Must not know: how a text is changed.

use serde_json::Value;

use super::SettingsError;

const DEPTH_MAX: usize = 64;

/// A value in a text.
#[derive(Debug)]
pub(super) struct Node {
    /// The offset of its first byte.
    pub(super) from: usize,
    /// The offset after its last byte.
    pub(super) to: usize,
    pub(super) kind: Kind,
}

/// The kind of a value.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// A string, number or literal.
    Plain(Value),
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    /// The offset of its name.
    pub(super) from: usize,
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
    if end < text.len() { Err(error(text, end, "the end")) } else { Ok(node) }
}

/// The offset after white space and comments.
pub(super) fn skip(text: &str, mut offset: usize) -> Result<usize, SettingsError> {
    loop {
        let rest = &text[offset..];
        let bare = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        offset += rest.len() - bare.len();
        if bare.starts_with("//") {
            offset += bare.find('\n').unwrap_or(bare.len());
        } else if bare.starts_with("/*") {
            offset += bare.find("*/").ok_or_else(|| error(text, offset, "the end of a comment"))? + 2;
        } else {
            return Ok(offset);
        }
    }
}

fn error(text: &str, offset: usize, expected: &str) -> SettingsError {
    let line = text[..offset].matches('\n').count() + 1;
    SettingsError::new(format!("it is not JSON: {expected} is missing in line {line}"))
}

fn value(text: &str, offset: usize, depth: usize) -> Result<Node, SettingsError> {
    if depth > DEPTH_MAX {
        return Err(SettingsError::new("it is nested too deeply"));
    }
    match text.as_bytes().get(offset) {
        Some(b'{') => {
            let mut members = Vec::new();
            let to = list(text, offset, b'}', |offset| {
                let (key, end) = string(text, offset)?;
                let colon = skip(text, end)?;
                if text.as_bytes().get(colon) != Some(&b':') {
                    return Err(error(text, colon, "`:`"));
                }
                let value = value(text, skip(text, colon + 1)?, depth + 1)?;
                let to = value.to;
                members.push(Member { key, from: offset, value });
                Ok(to)
            })?;
            Ok(Node { from: offset, to, kind: Kind::Object(members) })
        }
        Some(b'[') => {
            let mut elements = Vec::new();
            let to = list(text, offset, b']', |offset| {
                let element = value(text, offset, depth + 1)?;
                let to = element.to;
                elements.push(element);
                Ok(to)
            })?;
            Ok(Node { from: offset, to, kind: Kind::Array(elements) })
        }
        Some(b'"') => {
            let (text_value, to) = string(text, offset)?;
            Ok(Node { from: offset, to, kind: Kind::Plain(Value::String(text_value)) })
        }
        _ => {
            let rest = &text[offset..];
            let length =
                rest.find([',', ']', '}', ' ', '\t', '\r', '\n', '/', '"', '{', '[']).unwrap_or(rest.len());
            let plain = serde_json::from_str(&rest[..length]).map_err(|_| error(text, offset, "a value"))?;
            Ok(Node { from: offset, to: offset + length, kind: Kind::Plain(plain) })
        }
    }
}

/// The items between brackets. `item` parses each and returns the offset of its end; a trailing comma is allowed.
fn list(
    text: &str,
    open: usize,
    close: u8,
    mut item: impl FnMut(usize) -> Result<usize, SettingsError>,
) -> Result<usize, SettingsError> {
    let mut offset = skip(text, open + 1)?;
    loop {
        if text.as_bytes().get(offset) == Some(&close) {
            return Ok(offset + 1);
        }
        offset = skip(text, item(offset)?)?;
        match text.as_bytes().get(offset) {
            Some(b',') => offset = skip(text, offset + 1)?,
            Some(other) if *other == close => {}
            _ => return Err(error(text, offset, &format!("`,` or `{}`", char::from(close)))),
        }
    }
}

fn string(text: &str, offset: usize) -> Result<(String, usize), SettingsError> {
    let missing = || error(text, offset, "a text in quotes");
    let bytes = text.as_bytes();
    if bytes.get(offset) != Some(&b'"') {
        return Err(missing());
    }
    let mut end = offset + 1;
    while *bytes.get(end).ok_or_else(missing)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let quoted = text.get(offset..=end).ok_or_else(missing)?;
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
