//! A JSON value whose texts are parts of the text that it was read from, unless they have escapes. For what is read once: it is
//! made with few allocations.
//! Must not know: the schema of a value.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// A JSON value. Of two members with the same name the last one counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as the nearest double.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Tree<'a>>),
    /// The members of an object, in their order.
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

impl<'a> Tree<'a> {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Removes a member of an object, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Self> {
        let Self::Object(members) = self else { return None };
        let at = members.iter().rposition(|(known, _)| *known == name)?;
        Some(members.remove(at).1)
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(Cow<'a, str>, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Array(_) => None,
        }
    }

    /// The items, if it is an array.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Object(_) => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// The number, if it is one.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }
}

impl<'a> From<&'a Value> for Tree<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is_true) => Self::Bool(*is_true),
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or_default()),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let member = |(name, value): (&'a String, &'a Value)| (Cow::from(name), Self::from(value));
                Self::Object(members.iter().map(member).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

#[expect(clippy::cast_precision_loss, reason = "a number is read as the nearest double")]
impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E: Error>(self, is_true: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(is_true))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut found: A) -> Result<Tree<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = found.next_element()? {
            items.push(item);
        }
        Ok(Tree::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut found: A) -> Result<Tree<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = found.next_entry()? {
            if members.is_empty() {
                members.reserve(MEMBERS_USUAL);
            }
            members.push((name, value));
        }
        Ok(Tree::Object(members))
    }
}

/// Room for the members of most objects.
const MEMBERS_USUAL: usize = 16;

/// The name of a member.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_borrowed_unless_it_has_escapes() {
        let tree = Tree::read(r#"{"a":"plain","\u0062":"c\n"}"#).unwrap();
        let borrowed: Vec<_> = tree
            .members()
            .unwrap()
            .iter()
            .map(|(name, value)| {
                let Tree::Text(text) = value else { panic!("{value:?}") };
                (matches!(name, Cow::Borrowed(_)), matches!(text, Cow::Borrowed(_)))
            })
            .collect();
        assert_eq!(borrowed, [(true, true), (false, false)]);
        assert_eq!(
            (tree.get("a").and_then(Tree::text), tree.get("b").and_then(Tree::text)),
            (Some("plain"), Some("c\n"))
        );
        assert_eq!(tree.get("c"), None);
    }

    #[test]
    fn a_tree_of_a_text_is_that_of_its_value() {
        for text in [
            r#"{"b":[1,-2,0.5,null,true,"x\u00e9"],"a":{"c":{}},"":[]}"#,
            "[[],[[1e300]]]",
            "18446744073709551615",
            "null",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            let sorted = |tree: &Tree<'_>| tree.canonical(crate::json::Nulls::Keep);
            assert_eq!(sorted(&Tree::read(text).unwrap()), sorted(&Tree::from(&value)), "{text}");
        }
        assert!(Tree::read("{").is_err() && Tree::read("1 2").is_err());
    }

    #[test]
    fn the_last_of_two_members_with_a_name_counts() {
        let tree = Tree::read(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(tree.get("a").and_then(Tree::number), Some(3.0));
        assert_eq!(tree.canonical(crate::json::Nulls::Keep), br#"{"a":3,"b":2}"#);
    }
}
