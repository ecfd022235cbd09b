//! Extension members of projects and sessions, `x-…` (AP-89). Their values keep the bytes in which they were sent, so that no
//! number loses a digit (wire.md D.7). Pure.
//! Must not know: their meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value, value::RawValue};

use crate::{limits::ABOUT_BYTES_MAX, malformed::ContextFault, members::Object};

/// Marks a stored member whose value is the text of the JSON; names of extensions begin otherwise.
const VERBATIM: char = '=';

/// Extension members, by name: the JSON texts of their values, without line feeds.
#[derive(Debug, Clone, Default)]
pub struct Extensions(BTreeMap<String, Box<str>>);

impl Extensions {
    /// The extension members of an object. Their total size is limited.
    pub(crate) fn read(object: &str) -> Result<Self, ContextFault> {
        let object = Object::parse(object);
        let members =
            object.iter().flat_map(|object| object.iter()).filter(|(name, _)| name.starts_with("x-"));
        // A line feed can only be white space, and would break the lines of an export.
        let extensions = Self(
            members.map(|(name, text)| (name.to_owned(), text.replace(['\n', '\r'], " ").into())).collect(),
        );
        if extensions.are_too_large() {
            return Err(ContextFault::field("x-…", "at most 16384 bytes together"));
        }
        Ok(extensions)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they exceed the limit.
    pub(crate) fn are_too_large(&self) -> bool {
        self.0.iter().map(|(name, text)| name.len() + text.len() + r#""":,"#.len()).sum::<usize>()
            > ABOUT_BYTES_MAX
    }

    /// Sets those of the other.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether it has each of these with an equal value.
    pub(crate) fn has_all(&self, others: &Self) -> bool {
        let is_equal = |name: &str, text: &str| self.0.get(name).is_some_and(|own| value(own) == value(text));
        others.0.iter().all(|(name, text)| is_equal(name, text))
    }

    /// Writes the values as they were sent.
    pub(crate) fn as_sent<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, text) in &self.0 {
            match serde_json::from_str::<&RawValue>(text) {
                Ok(raw) => map.serialize_entry(name, raw)?,
                Err(_) => map.serialize_entry(name, &Value::Null)?,
            }
        }
        map.end()
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl From<Map<String, Value>> for Extensions {
    fn from(members: Map<String, Value>) -> Self {
        Self(members.into_iter().map(|(name, value)| (name, value.to_string().into())).collect())
    }
}

impl PartialEq for Extensions {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.has_all(other)
    }
}

impl Eq for Extensions {}

/// The stored form: the values, or where one would change, its text under a marked name.
impl Serialize for Extensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, text) in &self.0 {
            let value = value(text);
            let written = value.to_string();
            if written == **text {
                map.serialize_entry(name, &value)?;
            } else {
                map.serialize_entry(&format!("{VERBATIM}{name}"), text)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extensions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::<String, Value>::deserialize(deserializer)?;
        let member = |(name, value): (String, Value)| match (name.strip_prefix(VERBATIM), value) {
            (Some(name), Value::String(text)) => (name.to_owned(), text.into()),
            (_, value) => (name, value.to_string().into()),
        };
        Ok(Self(members.into_iter().map(member).collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SENT: &str =
        "{\"a\":1,\"x-a\":1.50,\"x-b\": {\"b\":\n[0.1234567890123456789]},\"x-c\":\"1.50\",\"x-d\":1}";

    #[derive(Serialize)]
    struct Shown {
        #[serde(flatten, serialize_with = "Extensions::as_sent")]
        extensions: Extensions,
    }

    #[test]
    fn ap_89_a_value_keeps_its_bytes_when_it_is_stored_and_shown() {
        let sent = Extensions::read(SENT).unwrap();
        let stored = serde_json::to_string(&sent).unwrap();
        assert_eq!(
            stored,
            r#"{"=x-a":"1.50","=x-b":"{\"b\": [0.1234567890123456789]}","x-c":"1.50","x-d":1}"#
        );
        let read: Extensions = serde_json::from_str(&stored).unwrap();
        let shown = serde_json::to_string(&Shown { extensions: read }).unwrap();
        assert_eq!(shown, r#"{"x-a":1.50,"x-b":{"b": [0.1234567890123456789]},"x-c":"1.50","x-d":1}"#);
    }

    #[test]
    fn values_are_compared_and_not_their_bytes() {
        let (one, part) = (Extensions::read(SENT).unwrap(), json!({"x-a": 1.5, "x-c": "1.50"}));
        let part = Extensions::from(part.as_object().cloned().unwrap());
        assert!(one.has_all(&part) && !part.has_all(&one) && one != part);
        assert!(!one.has_all(&Extensions::read(r#"{"x-d":2}"#).unwrap()));
    }
}
