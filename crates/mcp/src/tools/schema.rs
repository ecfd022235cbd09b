//! Schemas of arguments, reduced to the parts that a model needs: names, types, choices, required members.
//! Must not know: the purpose of the arguments.

use std::sync::Arc;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Whether a schema keeps the descriptions of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descriptions {
    Keep,
    /// Drops them: the names are enough.
    Drop,
}

/// Maximum depth of described members; below it an object has no description of its members.
const DEPTH_MAX: usize = 3;

/// The reduced schema of a type, which must be an object.
pub(crate) fn of<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    let mut slim = slim(&schema, Descriptions::Keep, 0);
    slim.remove("description");
    Arc::new(slim)
}

/// A schema without titles, formats, bounds, nulls and deep levels, which tell a model little.
pub(crate) fn slim(schema: &Value, descriptions: Descriptions, depth: usize) -> Map<String, Value> {
    let Some(schema) = schema.as_object() else { return Map::new() };
    if let Some(one) = sole_variant(schema) {
        let mut slim = slim(one, descriptions, depth);
        copy_description(schema, descriptions, &mut slim);
        return slim;
    }
    let mut slim = Map::new();
    copy_description(schema, descriptions, &mut slim);
    match schema.get("type") {
        Some(Value::Array(types)) => {
            let mut types = types.iter().filter(|name| *name != "null");
            if let (Some(only), None) = (types.next(), types.next()) {
                slim.insert("type".into(), only.clone());
            }
        }
        Some(name) => drop(slim.insert("type".into(), name.clone())),
        None => {}
    }
    if let Some(choices) = choices(schema) {
        slim.insert("type".into(), "string".into());
        slim.insert("enum".into(), choices.into());
    }
    if let Some(items) = schema.get("items") {
        let items = self::slim(items, Descriptions::Drop, depth + 1);
        if !items.is_empty() {
            slim.insert("items".into(), items.into());
        }
    }
    members(schema, descriptions, depth, &mut slim);
    slim
}

/// The members of an object, and the required ones.
fn members(
    schema: &Map<String, Value>,
    descriptions: Descriptions,
    depth: usize,
    slim: &mut Map<String, Value>,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    if depth >= DEPTH_MAX {
        return;
    }
    let slimmed: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| (name.clone(), self::slim(schema, descriptions, depth + 1).into()))
        .collect();
    slim.insert("properties".into(), slimmed.into());
    let required = schema.get("required").and_then(Value::as_array).filter(|names| !names.is_empty());
    if let Some(required) = required {
        slim.insert("required".into(), required.clone().into());
    }
}

fn copy_description(schema: &Map<String, Value>, descriptions: Descriptions, slim: &mut Map<String, Value>) {
    if descriptions == Descriptions::Keep
        && let Some(text) = schema.get("description")
    {
        slim.insert("description".into(), text.clone());
    }
}

/// The other variant of a choice between null and one type.
fn sole_variant(schema: &Map<String, Value>) -> Option<&Value> {
    let variants = schema.get("anyOf").or(schema.get("oneOf")).or(schema.get("allOf"))?.as_array()?;
    let mut variants = variants.iter().filter(|variant| **variant != json!({"type": "null"}));
    let only = variants.next()?;
    variants.next().is_none().then_some(only)
}

/// The allowed texts, if a schema lists them.
fn choices(schema: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        return Some(listed.iter().filter(|value| !value.is_null()).cloned().collect());
    }
    let variants = schema.get("oneOf")?.as_array()?;
    variants.iter().map(|variant| variant.get("const").cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// Whom.
        to: Vec<String>,
        /// How many.
        #[schemars(range(min = 1, max = 9))]
        count: Option<u32>,
        kind: Option<Kind>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Kind {
        /// One.
        One,
        /// Two.
        Two,
    }

    #[test]
    fn a_schema_keeps_names_types_choices_and_what_is_required() {
        let slim = Value::from((*of::<Sample>()).clone());
        let expected = json!({
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string"}, "description": "Whom."},
                "count": {"type": "integer", "description": "How many."},
                "kind": {"type": "string", "enum": ["one", "two"]},
            },
            "required": ["to"],
        });
        assert_eq!(slim, expected);
    }
}
