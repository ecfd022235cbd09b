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

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = object(&ENVELOPE);
        schema.insert("description".into(), "An agent-channel frame, at most 32 KiB of JSON.".into());
        schema.insert("oneOf".into(), Kind::all().map(of_kind).collect());
        Schema::from(schema)
    }
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
        let wrapped = json!({
            "type": "object",
            "properties": {"scope": value(&Form::Scope), "frame": frame},
            "required": ["frame"],
            "additionalProperties": false,
        });
        json_schema!({"oneOf": [frame, wrapped]})
    }
}

/// The parts that a kind adds to the envelope: its name and its payload.
fn of_kind(kind: Kind) -> Value {
    let def = kind.def();
    json!({
        "title": def.name,
        "description": def.description,
        "properties": {"kind": {"const": def.name}, "payload": object(&def.shape)},
    })
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
