//! The JSON schema of a shape. Pure.
//! Must not know: where the schema is shown.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{
    form::{Bounds, Form, List, Unit},
    shape::{Field, Null, Rule, Shape, Unknown},
};

impl Shape {
    /// Its schema: a reference where it has a name.
    #[must_use]
    pub fn schema(&'static self, generator: &mut SchemaGenerator) -> Value {
        if self.name.is_empty() || generator.settings().inline_subschemas {
            return self.object(generator).into();
        }
        if !generator.definitions().contains_key(self.name) {
            let object = self.object(generator);
            generator.definitions_mut().insert(self.name.to_owned(), object.into());
        }
        let path = generator.settings().definitions_path.trim_end_matches('/');
        json!({"$ref": format!("#{path}/{}", self.name)})
    }

    /// Its schema where it stands. Lengths in it are characters, which are never more than bytes.
    #[must_use]
    pub fn object(&'static self, generator: &mut SchemaGenerator) -> Map<String, Value> {
        let mut object = Map::new();
        let properties: Map<_, _> = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), self.property(field, generator)))
            .collect();
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        object.insert("type".into(), "object".into());
        object.insert("properties".into(), properties.into());
        if !self.says.is_empty() {
            object.insert("description".into(), self.says.into());
        }
        if !required.is_empty() {
            object.insert("required".into(), required.into());
        }
        match self.manner.unknown {
            Unknown::Ignored => {}
            Unknown::Kept => drop(object.insert("additionalProperties".into(), true.into())),
            Unknown::Refused(..) => drop(object.insert("additionalProperties".into(), false.into())),
        }
        for rule in self.rules {
            if let Some((keyword, value)) = rule.schema() {
                object.insert(keyword.into(), value);
            }
        }
        object
    }

    fn property(&self, field: &'static Field, generator: &mut SchemaGenerator) -> Value {
        let schema = field.form.schema(generator);
        let mut schema = match self.null_of(field) {
            Null::Wrong => schema,
            Null::Absent | Null::Named | Null::Given if field.required => schema,
            Null::Absent | Null::Named | Null::Given => or_null(schema),
        };
        if self.manner.describes_forms {
            schema["description"] = format!("{} Must be {}.", field.says, field.words(self.manner)).into();
        } else if !field.says.is_empty() {
            schema["description"] = field.says.into();
        }
        schema
    }
}

/// The same, or null.
fn or_null(mut schema: Value) -> Value {
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(kind) => {
            *kind = json!([kind.take(), "null"]);
            schema
        }
        None => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

impl Rule {
    /// What a schema can say of it.
    fn schema(&self) -> Option<(&'static str, Value)> {
        match self {
            // A schema can't compare a number with a length, nor tell null from what is said.
            Self::Index { .. } | Self::Some(..) | Self::With(..) => None,
            Self::OneIsTrue(flags) => {
                let closed: Map<String, Value> =
                    flags.iter().map(|flag| ((*flag).to_owned(), json!({"const": false}))).collect();
                Some(("not", json!({"properties": closed, "required": flags})))
            }
        }
    }
}

impl Form {
    /// Its schema.
    pub(crate) fn schema(&'static self, generator: &mut SchemaGenerator) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text(unit, bounds) | Self::Shown(unit, bounds) => text(*unit, *bounds),
            Self::Line(unit, bounds) => {
                let mut schema = text(*unit, *bounds);
                schema["pattern"] = "^[^\\n\\r]*$".into();
                schema
            }
            Self::OneOf(texts) => json!({"type": "string", "enum": texts}),
            Self::Of(grammar) => Schema::to_value((grammar.schema)(generator)),
            Self::Integer(bounds) | Self::Whole(bounds) => numbers("integer", *bounds),
            Self::Clamped(_) => json!({"type": "integer"}),
            Self::Number(bounds) => numbers("number", *bounds),
            Self::Flag | Self::Switch(_) => json!({"type": "boolean"}),
            Self::List(list) => list.schema(generator),
            Self::Object(shape) => shape.schema(generator),
            Self::Map => json!({"type": "object", "additionalProperties": true}),
            Self::Json(json) => Schema::to_value((json.schema)(generator)),
        }
    }
}

impl List {
    fn schema(&'static self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = json!({"type": "array", "items": self.of.schema(generator)});
        if self.items.min > 0 {
            schema["minItems"] = self.items.min.into();
        }
        if self.items.max < u64::MAX && !self.is_set {
            schema["maxItems"] = self.items.max.into();
        }
        schema
    }
}

fn text(unit: Unit, bounds: Bounds) -> Value {
    let mut schema = json!({"type": "string"});
    // A text of at least two bytes may have one character.
    if bounds.min == 1 || unit == Unit::Characters && bounds.min > 0 {
        schema["minLength"] = bounds.min.into();
    }
    if bounds.max < u64::MAX {
        schema["maxLength"] = bounds.max.into();
    }
    schema
}

fn numbers(kind: &str, bounds: Bounds) -> Value {
    let mut schema = json!({"type": kind, "minimum": bounds.min});
    if bounds.max < u64::MAX {
        schema["maximum"] = bounds.max.into();
    }
    schema
}
