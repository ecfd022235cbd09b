//! The JSON schema of frames, from the table.
//! Must not know: the use of a frame.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{
    catalogue::{ENVELOPE, ENVELOPE_VERSION, Kind},
    fit::LINE_BREAKS,
    limits::SCOPE_BYTES_MAX,
    shape::{Field, Form, Rule, Shape},
};

/// A frame in the API description. Lengths in the schema are in characters, which never exceed the bytes
/// that the limits count.
#[derive(Debug)]
pub struct AnyFrame;

impl JsonSchema for AnyFrame {
    fn schema_name() -> Cow<'static, str> {
        "Frame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping: Map<String, Value> =
            Kind::all().map(|kind| (kind.def().name.to_owned(), of_kind(kind).0.into())).collect();
        json_schema!({
            "description": "An agent-channel frame, at most 32 KiB of JSON.",
            "oneOf": forms(generator),
            "discriminator": {"propertyName": "kind", "mapping": mapping},
        })
    }
}

/// References to the schemas of all kinds.
fn forms(generator: &mut SchemaGenerator) -> Vec<Value> {
    Kind::all().map(of_kind).map(|(name, schema)| defined(generator, name, schema.into())).collect()
}

/// A reference to a schema, which is defined under this name; the schema itself if there are no references.
fn defined(generator: &mut SchemaGenerator, name: String, schema: Value) -> Value {
    if generator.settings().inline_subschemas {
        return schema;
    }
    let target = format!("#{}/{name}", generator.settings().definitions_path);
    generator.definitions_mut().insert(name, schema);
    json!({"$ref": target})
}

/// The body of a submission in the API description: the bare frame, or the scope and the frame.
#[derive(Debug)]
pub struct AnySubmission;

impl JsonSchema for AnySubmission {
    fn schema_name() -> Cow<'static, str> {
        "FrameSubmission".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let frame = generator.subschema_for::<AnyFrame>();
        let scoped = json!({
            "type": "object",
            "description": "A frame with its scope.",
            "properties": {"scope": value(&Form::Scope), "frame": frame},
            "required": ["frame"],
            "additionalProperties": false,
        });
        let mut forms = forms(generator);
        forms.push(defined(generator, "ScopedFrame".to_owned(), scoped));
        json_schema!({"oneOf": forms})
    }
}

/// The name and the schema of the frames of a kind. Each kind has a whole schema of its own: generators of clients drop
/// forms without a name, and those that complete an envelope.
fn of_kind(kind: Kind) -> (String, Map<String, Value>) {
    let def = kind.def();
    let words = def.name.split('_').filter_map(|word| word.split_at_checked(1));
    let name: String = words.map(|(first, rest)| first.to_ascii_uppercase() + rest).collect();
    let mut schema = object(&ENVELOPE);
    schema.insert("title".into(), def.name.into());
    schema.insert("description".into(), def.description.into());
    schema["properties"]["kind"] = json!({"type": "string", "const": def.name});
    schema["properties"]["payload"] = object(&def.shape).into();
    (format!("Frame{name}"), schema)
}

fn object(shape: &Shape) -> Map<String, Value> {
    let property = |field: &Field| {
        let mut schema = value(&field.form);
        if field.name == "envelope_version" {
            schema = json!({"const": ENVELOPE_VERSION});
        }
        schema["description"] = format!("{} Must be {}.", field.description, field.form).into();
        (field.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = shape.fields.iter().map(property).collect();
    let required: Vec<&str> =
        shape.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object.insert("required".into(), required.into());
    object.insert("additionalProperties".into(), false.into());
    for rule in shape.rules {
        match rule {
            // A schema can't compare a number with a length; the description states the rule.
            Rule::Index { .. } => {}
            Rule::OneIsTrue(flags) => {
                let closed: Map<String, Value> =
                    flags.iter().map(|flag| ((*flag).to_owned(), json!({"const": false}))).collect();
                object.insert("not".into(), json!({"properties": closed, "required": flags}));
            }
        }
    }
    object
}

/// The pattern of a text without line breaks.
fn one_line() -> String {
    let breaks: String = LINE_BREAKS.iter().map(|one| format!("\\u{:04x}", u32::from(*one))).collect();
    format!("^[^{breaks}]*$")
}

fn value(form: &Form) -> Value {
    match form {
        Form::Selector => json!({"type": "string"}),
        Form::Payload => json!({"type": "object"}),
        Form::Text(bytes) => {
            json!({"type": "string", "minLength": bytes.min.min(1), "maxLength": bytes.max})
        }
        Form::Line(bytes) => json!({
            "type": "string", "minLength": bytes.min.min(1), "maxLength": bytes.max, "pattern": one_line(),
        }),
        Form::OneOf(texts) => json!({"type": "string", "enum": texts}),
        Form::Uuid => json!({
            "type": "string",
            "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        }),
        Form::Handle | Form::Principal => {
            json!({"type": "string", "pattern": "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$"})
        }
        Form::Instrument => json!({
            "type": "string",
            "pattern": "^~[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?(?:@[A-Za-z0-9._+-]{1,64})?$",
        }),
        Form::Time => json!({"type": "string", "format": "date-time"}),
        Form::Scope => json!({"type": "string", "minLength": 1, "maxLength": SCOPE_BYTES_MAX}),
        Form::Namespaced(bytes) => json!({
            "type": "string", "minLength": bytes.min, "maxLength": bytes.max, "pattern": "[.:/]",
        }),
        Form::Integer(bounds) => json!({"type": "integer", "minimum": bounds.min, "maximum": bounds.max}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Texts { items, bytes } => json!({
            "type": "array", "minItems": items.min, "maxItems": items.max,
            "items": {"type": "string", "minLength": bytes.min.min(1), "maxLength": bytes.max},
        }),
        Form::Object(shape) => object(shape).into(),
        Form::Objects { items, shape } => json!({
            "type": "array", "minItems": items.min, "maxItems": items.max, "items": object(shape),
        }),
    }
}
