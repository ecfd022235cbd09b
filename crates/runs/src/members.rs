//! The members of a JSON object in order, each with its bytes, so that unknown members stay unchanged.
//! Must not know: the meaning of any member.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of an object.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A name, which may contain escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'a> Members<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// If the text is not an object.
    pub(crate) fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// The bytes of a member; `null` counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().rev().find(|(member, _)| member == name)?;
        (value.get() != "null").then_some(*value)
    }

    /// A text member; `Err` if it is present and not text.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<String>, &'static str> {
        self.get(name).map(|value| serde_json::from_str(value.get()).map_err(|_| name)).transpose()
    }

    /// Whether a member is an object.
    pub(crate) fn is_object(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get().starts_with('{'))
    }

    /// The object on one line: first the members of `first`, then every other member unchanged, except those of
    /// `without`.
    pub(crate) fn line(&self, first: &[(&str, String)], without: &[&str]) -> String {
        let mut line = String::from("{");
        let mut put = |name: &str, value: &str| {
            if line.len() > 1 {
                line.push(',');
            }
            line.push_str(&quoted(name));
            line.push(':');
            // A raw line break can only be between tokens: within a string it is escaped.
            line.extend(value.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        };
        first.iter().for_each(|(name, value)| put(name, value));
        let is_excluded =
            |name: &str| without.contains(&name) || first.iter().any(|(member, _)| *member == name);
        self.0.iter().filter(|(name, _)| !is_excluded(name)).for_each(|(name, value)| put(name, value.get()));
        line.push('}');
        line
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_bytes() {
        let json = b"{\"b\":1.0e2,\n \"a\\u0062\":{ \"x\":\n[1]},\"n\":null,\"t\":\"x\"}";
        let members = Members::read(json).unwrap();
        assert_eq!(members.line(&[], &[]), r#"{"b":1.0e2,"ab":{ "x": [1]},"n":null,"t":"x"}"#);
        assert_eq!(members.line(&[("b", "7".into())], &["ab", "n"]), r#"{"b":7,"t":"x"}"#);
        assert_eq!(members.text("t"), Ok(Some("x".into())));
        assert_eq!((members.text("b"), members.text("n"), members.text("q")), (Err("b"), Ok(None), Ok(None)));
        assert!(members.is_object("ab") && !members.is_object("b"));
        assert!(Members::read(b"[1]").is_err());
        assert_eq!(Members::read(b"{}").unwrap().line(&[], &[]), "{}");
    }
}
