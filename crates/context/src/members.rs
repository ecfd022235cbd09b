//! An object's members in their original bytes: one can be added, replaced or removed, and all other bytes stay
//! (AP-17, AP-18).
//! Must not know: the meaning of the members.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A member: its name, and the range of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    start: usize,
    end: usize,
}

/// The text of a JSON object, with the ranges of its members. Only for text that is known to be JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<'a> {
    text: &'a str,
    members: Vec<Member>,
}

struct Members<'a>(&'a str);

impl<'de> Visitor<'de> for Members<'de> {
    type Value = Vec<Member>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Member>, A::Error> {
        let mut members = Vec::with_capacity(24);
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            // `value` borrows from the text, so its offset is the difference of the addresses.
            let start = value.get().as_ptr() as usize - self.0.as_ptr() as usize;
            members.push(Member { name, start, end: start + value.get().len() });
        }
        Ok(members)
    }
}

impl<'a> Object<'a> {
    /// The members of an object; `None` for any other value.
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = json_trimmed(text);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(Members(text)).ok()?;
        Some(Self { text, members })
    }

    /// The whole text, without white space around it.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// Names and values in order, as they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|member| (member.name.as_str(), &self.text[member.start..member.end]))
    }

    /// A value as it was written.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The text without a member.
    pub fn without(&self, name: &str) -> String {
        let Some(nth) = self.members.iter().position(|member| member.name == name) else {
            return self.text.to_owned();
        };
        let end = self.members[nth].end;
        let (from, to) = match (nth.checked_sub(1), self.members.get(nth + 1)) {
            (Some(before), _) => (self.members[before].end, end),
            (None, Some(_)) => (1, end + self.text[end..].find(',').map_or(0, |comma| comma + 1)),
            (None, None) => (1, self.text.len() - 1),
        };
        [&self.text[..from], &self.text[to..]].concat()
    }

    /// The text with new values for some of its members.
    pub fn with(&self, values: &[(&str, &str)]) -> String {
        let (mut text, mut at) = (String::with_capacity(self.text.len() + 32), 0);
        for member in &self.members {
            if let Some((_, value)) = values.iter().find(|(name, _)| *name == member.name) {
                text.push_str(&self.text[at..member.start]);
                text.push_str(value);
                at = member.end;
            }
        }
        text.push_str(&self.text[at..]);
        text
    }
}

/// A JSON text without white space around it.
pub fn json_trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// An object's text with one more member at its end. `value` is JSON.
pub fn appended(object: &str, name: &str, value: &str) -> String {
    let open = object.trim_end().strip_suffix('}').unwrap_or(object);
    let comma = if open.trim_end().ends_with('{') { "" } else { "," };
    [open, comma, "\"", name, "\":", value, "}"].concat()
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = " { \"a\" : 1.50 ,\n\"b\":{ \"a\":[ ] }, \"\\u0063\" : \"\\u00e9,}\" } ";

    #[test]
    fn ap_18_every_byte_stays_but_what_is_changed() {
        let object = Object::parse(TEXT).unwrap();
        assert_eq!(object.text(), TEXT.trim());
        assert_eq!(object.get("a"), Some("1.50"));
        assert_eq!(object.get("b"), Some("{ \"a\":[ ] }"));
        assert_eq!(object.get("c"), Some("\"\\u00e9,}\""));
        assert_eq!(object.get("d"), None);
        let changed = "{ \"a\" : 2 ,\n\"b\":{ \"a\":[ ] }, \"\\u0063\" : \"x\" }";
        assert_eq!(object.with(&[("c", "\"x\""), ("a", "2"), ("z", "9")]), changed);
        assert_eq!(object.without("a"), "{\n\"b\":{ \"a\":[ ] }, \"\\u0063\" : \"\\u00e9,}\" }");
        assert_eq!(object.without("b"), "{ \"a\" : 1.50, \"\\u0063\" : \"\\u00e9,}\" }");
        assert_eq!(object.without("c"), "{ \"a\" : 1.50 ,\n\"b\":{ \"a\":[ ] } }");
        assert_eq!(object.without("z"), TEXT.trim());
        assert_eq!(Object::parse("{ \"a\" : 1 }").unwrap().without("a"), "{}");
    }

    #[test]
    fn a_member_goes_to_the_end() {
        assert_eq!(appended("{}", "n", "1"), "{\"n\":1}");
        assert_eq!(appended("{ }", "n", "1"), "{ \"n\":1}");
        assert_eq!(appended("{\"a\":1 }", "n", "\"x\""), "{\"a\":1 ,\"n\":\"x\"}");
    }

    #[test]
    fn only_an_object_has_members() {
        for text in ["[]", "1", "null", "\"{}\"", ""] {
            assert_eq!(Object::parse(text), None, "{text}");
        }
    }
}
