//! Values that a shape can be read from: JSON as it was sent, JSON as a tree, and the words of a query. Pure.
//! Must not know: what a value must be.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, MapAccess, Visitor},
};
use serde_json::{Number, Value, value::RawValue};

/// A value.
pub trait Node<'a>: Copy {
    /// Whether it is null.
    fn is_null(self) -> bool;
    /// Its text, where it is one.
    fn text(self) -> Option<Cow<'a, str>>;
    /// Itself as JSON.
    fn json(self) -> Cow<'a, str>;
    /// Its number, where it is one.
    fn number(self) -> Option<Number>;
    /// Its truth, where it has one.
    fn flag(self) -> Option<bool>;
    /// Whether it is an object.
    fn is_object(self) -> bool;
    /// Its items, where it is a list.
    fn items(self) -> Option<Vec<Self>>;
    /// Shows each member and its name; false where it is no object.
    fn members(self, see: &mut dyn FnMut(&str, Self)) -> bool;
}

/// JSON as it was sent, which is known to be JSON.
pub type Raw<'a> = &'a RawValue;

/// Shows each member of a body that is known to be JSON, and its name; false where it is no object.
pub(crate) fn members_of<'a>(body: &'a [u8], see: &mut dyn FnMut(&str, Raw<'a>)) -> bool {
    let text = std::str::from_utf8(body);
    text.is_ok_and(|text| serde_json::Deserializer::from_str(text).deserialize_map(Members(see)).is_ok())
}

impl<'a> Node<'a> for &'a RawValue {
    fn is_null(self) -> bool {
        self.get() == "null"
    }

    fn text(self) -> Option<Cow<'a, str>> {
        let text = self.get().strip_prefix('"')?.strip_suffix('"')?;
        // Without an escape it is the text already.
        if !text.as_bytes().contains(&b'\\') {
            return Some(Cow::Borrowed(text));
        }
        serde_json::from_str::<String>(self.get()).ok().map(Cow::Owned)
    }

    fn json(self) -> Cow<'a, str> {
        Cow::Borrowed(self.get())
    }

    fn number(self) -> Option<Number> {
        self.get().parse().ok()
    }

    fn flag(self) -> Option<bool> {
        self.get().parse().ok()
    }

    fn is_object(self) -> bool {
        self.get().starts_with('{')
    }

    fn items(self) -> Option<Vec<Self>> {
        serde_json::from_str(self.get()).ok().filter(|_| self.get().starts_with('['))
    }

    fn members(self, see: &mut dyn FnMut(&str, Self)) -> bool {
        members_of(self.get().as_bytes(), see)
    }
}

/// Shows members while they are read, so that no name is kept.
struct Members<'s, 'de>(&'s mut dyn FnMut(&str, &'de RawValue));

impl<'de> Visitor<'de> for Members<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Name(name)) = map.next_key_seed(NameSeed)? {
            (self.0)(&name, map.next_value()?);
        }
        Ok(())
    }
}

/// A name, which is copied only where it has escapes.
struct Name<'a>(Cow<'a, str>);

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Name<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Name<'de>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}

impl<'a> Node<'a> for &'a Value {
    fn is_null(self) -> bool {
        Value::is_null(self)
    }

    fn text(self) -> Option<Cow<'a, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn json(self) -> Cow<'a, str> {
        Cow::Owned(self.to_string())
    }

    fn number(self) -> Option<Number> {
        self.as_number().cloned()
    }

    fn flag(self) -> Option<bool> {
        self.as_bool()
    }

    fn is_object(self) -> bool {
        Value::is_object(self)
    }

    fn items(self) -> Option<Vec<Self>> {
        self.as_array().map(|items| items.iter().collect())
    }

    fn members(self, see: &mut dyn FnMut(&str, Self)) -> bool {
        let Some(members) = self.as_object() else { return false };
        members.iter().for_each(|(name, value)| see(name, value));
        true
    }
}

/// A word of a query.
impl<'a> Node<'a> for &'a str {
    fn is_null(self) -> bool {
        false
    }

    fn text(self) -> Option<Cow<'a, str>> {
        Some(Cow::Borrowed(self))
    }

    fn json(self) -> Cow<'a, str> {
        Cow::Owned(Value::from(self).to_string())
    }

    fn number(self) -> Option<Number> {
        let digits = self.strip_prefix('-').unwrap_or(self);
        let is_integer = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
        let beyond = || if self.starts_with('-') { i64::MIN.into() } else { u64::MAX.into() };
        // Leading zeros are no fault in a query.
        let parsed = self.parse::<u64>().map(Number::from).or_else(|_| self.parse::<i64>().map(Number::from));
        is_integer.then(|| parsed.unwrap_or_else(|_| beyond()))
    }

    fn flag(self) -> Option<bool> {
        self.parse().ok()
    }

    fn is_object(self) -> bool {
        false
    }

    fn items(self) -> Option<Vec<Self>> {
        None
    }

    fn members(self, _: &mut dyn FnMut(&str, Self)) -> bool {
        false
    }
}
