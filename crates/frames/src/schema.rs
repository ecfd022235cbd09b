//! The JSON schema of frames, from the table.
//! Must not know: what is done with a frame.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::{
    catalogue::{ENVELOPE, ENVELOPE_VERSION, Kind},
    limits::SCOPE_OCTETS_MAX,
};

/// A frame, in a description. Lengths in the schema are characters, which are never more than the octets that count.
#[derive(Debug)]
pub struct AnyFrame;

impl JsonSchema for AnyFrame {
    fn schema_name() -> Cow<'static, str> {
        "Frame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ENVELOPE.object(generator);
        schema["properties"]["envelope_version"]["const"] = ENVELOPE_VERSION.into();
        schema.insert("description".into(), "An agent-channel frame, at most 32 KiB of JSON.".into());
        schema.insert("oneOf".into(), Kind::all().map(|kind| of_kind(kind, generator)).collect());
        Schema::from(schema)
    }
}

/// The body of a submission, in a description: the bare frame, or the scope and the frame.
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
            "properties": {"scope": {"type": "string", "minLength": 1, "maxLength": SCOPE_OCTETS_MAX}, "frame": frame},
            "required": ["frame"],
            "additionalProperties": false,
        });
        json_schema!({"oneOf": [frame, wrapped]})
    }
}

/// What the kind adds to the envelope: its name and its payload.
fn of_kind(kind: Kind, generator: &mut SchemaGenerator) -> Value {
    let def = kind.def();
    json!({
        "title": def.name,
        "description": def.says,
        "properties": {"kind": {"const": def.name}, "payload": def.shape.object(generator)},
    })
}
