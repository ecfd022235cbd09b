//! The schema of a form, with its fields in the order in which they were written. Pure.
//! Must not know: the meaning of a schema.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value};

use super::Form;

/// The member with the fields.
const PROPERTIES: &str = "properties";

/// A schema as it was received. JSON gives the members of an object no order, but a person reads a form from top to
/// bottom, and its author has no other means to give an order. So the order of the fields is kept, also in storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormSchema {
    members: Map<String, Value>,
    /// The names of the fields, as written.
    order: Vec<String>,
}

impl FormSchema {
    /// Reads the fields, in their order.
    ///
    /// # Errors
    /// As [`Form::read`].
    pub fn read(&self) -> Result<Form, String> {
        let mut form = Form::read(&self.members)?;
        form.0.sort_by_key(|field| self.order.iter().position(|name| *name == field.name));
        Ok(form)
    }
}

/// Without a known order, the fields are sorted by name.
impl From<Map<String, Value>> for FormSchema {
    fn from(members: Map<String, Value>) -> Self {
        let properties = members.get(PROPERTIES).and_then(Value::as_object);
        let order = properties.into_iter().flat_map(Map::keys).cloned().collect();
        Self { members, order }
    }
}

impl Serialize for FormSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, member) in &self.members {
            match member.as_object().filter(|_| name == PROPERTIES) {
                Some(fields) => map.serialize_entry(name, &InOrder { fields, order: &self.order })?,
                None => map.serialize_entry(name, member)?,
            }
        }
        map.end()
    }
}

struct InOrder<'a> {
    fields: &'a Map<String, Value>,
    order: &'a [String],
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.order.iter().filter_map(|name| self.fields.get_key_value(name)))
    }
}

impl<'de> Deserialize<'de> for FormSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

/// What stands under `properties`: the fields as written, or a value that is no object, which [`Form::read`] refuses.
#[derive(Deserialize)]
#[serde(untagged)]
enum Properties {
    Fields(Fields),
    Other(Value),
}

struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldList)
    }
}

struct FieldList;

impl<'de> Visitor<'de> for FieldList {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = FormSchema;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON Schema")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<FormSchema, A::Error> {
        let (mut members, mut order) = (Map::new(), Vec::new());
        while let Some(name) = access.next_key::<String>()? {
            let member = match name.as_str() {
                PROPERTIES => match access.next_value()? {
                    Properties::Fields(Fields(fields)) => {
                        order = fields.iter().map(|(name, _)| name.clone()).collect();
                        Value::Object(fields.into_iter().collect())
                    }
                    Properties::Other(value) => value,
                },
                _ => access.next_value()?,
            };
            members.insert(name, member);
        }
        Ok(FormSchema { members, order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_keep_the_order_in_which_they_were_written() {
        let text = r#"{"properties":{"zeta":{"type":"string"},"alpha":{"minimum":0.5,"type":"number"}},"required":["zeta"],"type":"object"}"#;
        let schema: FormSchema = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&schema).unwrap(), text);
        let form = schema.read().unwrap();
        let names: Vec<&str> = form.fields().iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["zeta", "alpha"]);
    }

    #[test]
    fn a_schema_of_a_value_has_its_fields_sorted() {
        let value = serde_json::json!({"properties": {"b": {"type": "string"}, "a": {"type": "string"}}});
        let schema = FormSchema::from(value.as_object().unwrap().clone());
        assert_eq!(serde_json::to_value(&schema).unwrap(), value);
        assert_eq!(schema.read().unwrap().fields()[0].name, "a");
    }

    #[test]
    fn what_is_no_form_is_kept_and_refused() {
        let schema: FormSchema = serde_json::from_str(r#"{"properties":[1]}"#).unwrap();
        assert_eq!(serde_json::to_string(&schema).unwrap(), r#"{"properties":[1]}"#);
        assert!(schema.read().is_err());
        assert!(serde_json::from_str::<FormSchema>("[]").is_err());
    }
}
