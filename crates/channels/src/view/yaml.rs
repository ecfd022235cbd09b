//! Converts JSON to YAML in block style, with members in order. A string that a YAML 1.1 or 1.2 parser could read as another
//! type is quoted as in JSON.
//! Must not know: the content.

use std::fmt::{self, Write as _};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// The YAML of a JSON text.
pub(super) fn from_json(json: &str) -> String {
    let node: Node = serde_json::from_str(json).expect("it was just written as JSON");
    let mut out = String::with_capacity(json.len() * 2);
    node.write(&mut out, 0, Position::Line);
    out
}

/// Where a value begins: on a new line, after the name of a member, or after the dash of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Line,
    Member,
    Item,
}

/// A JSON value whose members keep their order.
enum Node {
    Plain(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Plain("null".into()))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Plain(value.to_string()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Plain(value.to_string()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Plain(value.to_string()))
    }
    /// YAML 1.1 requires a decimal point and a signed exponent: `1.0e+300`, where JSON permits `1e300`.
    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        let text =
            serde_json::Number::from_f64(value).map_or_else(|| "null".into(), |number| number.to_string());
        let Some((digits, power)) = text.split_once('e') else { return Ok(Node::Plain(text)) };
        let point = if digits.contains('.') { "" } else { ".0" };
        let sign = if power.starts_with(['-', '+']) { "" } else { "+" };
        Ok(Node::Plain(format!("{digits}{point}e{sign}{power}")))
    }
    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = members.next_entry()? {
            map.push(member);
        }
        Ok(Node::Map(map))
    }
}

impl Node {
    /// Writes the value and a line break.
    fn write(&self, out: &mut String, depth: usize, position: Position) {
        match self {
            Self::Plain(text) => line(out, depth, position, text),
            Self::Text(text) if is_block(text) => block(out, depth, position, text),
            Self::Text(text) => line(out, depth, position, &scalar(text)),
            Self::List(items) if items.is_empty() => line(out, depth, position, "[]"),
            Self::Map(members) if members.is_empty() => line(out, depth, position, "{}"),
            Self::List(items) => {
                if position != Position::Line {
                    out.push('\n');
                }
                for item in items {
                    indent(out, depth);
                    out.push('-');
                    item.write(out, depth + 1, Position::Item);
                }
            }
            Self::Map(members) => {
                if position == Position::Member {
                    out.push('\n');
                }
                for (n, (name, value)) in members.iter().enumerate() {
                    match (n, position) {
                        (0, Position::Item) => out.push(' '),
                        _ => indent(out, depth),
                    }
                    out.push_str(&scalar(name));
                    out.push(':');
                    value.write(out, depth + 1, Position::Member);
                }
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn line(out: &mut String, depth: usize, position: Position, text: &str) {
    match position {
        Position::Line => indent(out, depth),
        Position::Member | Position::Item => out.push(' '),
    }
    out.push_str(text);
    out.push('\n');
}

/// Whether a text is written as a literal block: it has several lines, or quoting would fill it with backslashes, as in a
/// command.
fn is_block(text: &str) -> bool {
    let plain = |c: char| c == '\n' || c == '\t' || (!c.is_control() && !is_odd(c));
    let is_command = text.len() > BLOCK_BYTES_MIN && text.contains(['"', '\\']);
    (text.contains('\n') || is_command)
        && text.chars().all(plain)
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with('\n')
        && text.lines().all(|line| !line.ends_with([' ', '\t']) && !line.starts_with('\t'))
}

fn block(out: &mut String, depth: usize, position: Position, text: &str) {
    line(out, depth, position, "|-");
    for part in text.split('\n') {
        if !part.is_empty() {
            indent(out, depth.max(1));
            out.push_str(part);
        }
        out.push('\n');
    }
}

/// Characters that some YAML parsers reject or change.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A text on one line: bare if it is unambiguous, otherwise quoted.
fn scalar(text: &str) -> String {
    if is_bare(text) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || is_odd(c) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A text on one line becomes a block only if it has more bytes than this.
const BLOCK_BYTES_MIN: usize = 40;

/// Texts with another meaning in YAML 1.1 or 1.2, in any case.
const RESERVED: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];

/// A letter or underscore first, then letters, digits and signs without a meaning in YAML, with single spaces between words.
fn is_bare(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-./(),;+=".contains(c))
    };
    text.len() <= 256
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.split(' ').all(part)
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn back(value: &Value) -> Value {
        let yaml = from_json(&value.to_string());
        serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
    }

    #[test]
    fn members_keep_their_order_and_stand_in_blocks() {
        let json = r#"{"z":"a b","a":[1,{"x":[]},[2,"3"]],"m":{},"t":"one\ntwo","e":""}"#;
        let yaml =
            "z: a b\na:\n  - 1\n  - x: []\n  -\n    - 2\n    - \"3\"\nm: {}\nt: |-\n  one\n  two\ne: \"\"\n";
        assert_eq!(from_json(json), yaml);
    }

    #[test]
    fn ch_22_what_would_read_as_another_type_is_quoted() {
        for text in [
            "yes",
            "No",
            "ON",
            "off",
            "true",
            "FALSE",
            "null",
            "~",
            "",
            "y",
            "N",
            "1",
            "-1",
            "1.5",
            "1e3",
            "0x1f",
            "0o7",
            "012",
            "1_000",
            "12:30:45",
            "2026-11-21",
            "2026-11-21T10:00:00Z",
            ".inf",
            ".NaN",
            "nan",
            "<<",
            "=",
            "- a",
            "a: b",
            "a #b",
            "# a",
            "[a]",
            "{a}",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "@a.b",
            "`a`",
            "%a",
            "?",
            "'",
            "\"",
            " a",
            "a ",
            "a\tb",
            "a\u{85}b",
            "\u{feff}a",
            "a:",
            "---",
            "...",
        ] {
            let yaml = from_json(&json!({ "k": text }).to_string());
            assert!(yaml.starts_with("k: \""), "{text:?} is not quoted: {yaml}");
            assert_eq!(back(&json!({ "k": text })), json!({ "k": text }));
        }
        assert_eq!(from_json(r#"{"yes":1,"2":2}"#), "\"yes\": 1\n\"2\": 2\n");
        assert_eq!(from_json("[1e300,1.5,-2e-7]"), "- 1.0e+300\n- 1.5\n- -2.0e-7\n");
    }

    #[test]
    fn lines_stay_lines() {
        for text in
            ["a\nb", "a\n\nb", "a\n  b\nc: d\n# e", "a\nb\n", "\na\nb", " a\nb", "a \nb", "a\r\nb", "a\n\tb"]
        {
            assert_eq!(back(&json!({"k": [text]})), json!({"k": [text]}), "{text:?}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
            "[ -~\n]{0,12}".prop_map(Value::from),
            "[^\u{0}\u{d}]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-z:# ]{0,6}", inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_comes_back(value in any_value()) {
            let value = json!({ "v": value });
            prop_assert_eq!(back(&value), value);
        }
    }
}
