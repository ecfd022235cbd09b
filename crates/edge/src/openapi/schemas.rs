//! The schemas of a description. Requests and responses are separate contracts: a member that is omitted from a
//! response when it is empty is optional there, whatever the type's reader requires.
//! Must not know: the list of operations.

use std::collections::BTreeSet;

use schemars::{
    Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{RecursiveTransform, ReplaceBoolSchemas, Transform as _},
};
use serde_json::{Map, Value};

use crate::operation::SchemaOf;

/// The path of the definitions.
const SENT: &str = "#/components/schemas/";
/// The path of the definitions of requests until both kinds are known.
const RECEIVED: &str = "#/components/taken/";
/// The suffix of a request's type if its definition as a response differs.
const TAKEN_SUFFIX: &str = "Sent";

/// Collects the referenced types.
pub(super) struct Schemas {
    sent: SchemaGenerator,
    received: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = |path: &str| {
            let path = path.trim_start_matches('#').trim_end_matches('/').to_owned();
            SchemaSettings::draft2020_12()
                .with(|settings| {
                    settings.definitions_path = path.into();
                    settings.meta_schema = None;
                })
                .with_transform(booleans())
                .with_transform(RecursiveTransform(without_null_default))
        };
        Self {
            sent: settings(SENT).for_serialize().into_generator(),
            received: settings(RECEIVED).for_deserialize().into_generator(),
        }
    }

    /// The schema of a type that the server sends.
    pub(super) fn sent(&mut self, schema: SchemaOf) -> Value {
        object(schema(&mut self.sent))
    }

    /// The schema of a type that the server receives.
    pub(super) fn received(&mut self, schema: SchemaOf) -> Value {
        object(schema(&mut self.received))
    }

    /// All definitions by name. References to those of requests are changed to their final place.
    pub(super) fn define(mut self, paths: &mut Value) -> Value {
        let mut defined = self.sent.take_definitions(true);
        let received = self.received.take_definitions(true);
        let differing = differing(&defined, &received);
        redirect(paths, &differing);
        for (name, mut schema) in received {
            redirect(&mut schema, &differing);
            defined.insert(placed(&name, &differing), schema);
        }
        defined.into()
    }
}

/// Replaces the schemas `true` and `false` by objects: generators of clients refuse them.
fn booleans() -> ReplaceBoolSchemas {
    let mut booleans = ReplaceBoolSchemas::default();
    // They know this one, and `{}` would mean the same.
    booleans.skip_additional_properties = true;
    booleans
}

/// Removes the default `null`: a client would send it for an absent member, and where the two differ, it erases.
fn without_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

fn object(mut schema: Schema) -> Value {
    booleans().transform(&mut schema);
    RecursiveTransform(without_null_default).transform(&mut schema);
    schema.into()
}

/// The names with two schemas, for requests and responses, and those whose schemas refer to such names.
fn differing(sent: &Map<String, Value>, received: &Map<String, Value>) -> BTreeSet<String> {
    let mut differing = BTreeSet::new();
    loop {
        let more: Vec<_> = received
            .iter()
            .filter(|(name, schema)| {
                let mut schema = (*schema).clone();
                redirect(&mut schema, &differing);
                !differing.contains(*name) && sent.get(*name).is_some_and(|known| *known != schema)
            })
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return differing;
        }
        differing.extend(more);
    }
}

fn placed(name: &str, differing: &BTreeSet<String>) -> String {
    if differing.contains(name) { format!("{name}{TAKEN_SUFFIX}") } else { name.to_owned() }
}

/// Changes references to definitions of requests to their final place.
fn redirect(value: &mut Value, differing: &BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, differing)),
        Value::Object(members) => {
            let target =
                members.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(RECEIVED));
            if let Some(name) = target {
                let target = format!("{SENT}{}", placed(name, differing));
                members.insert("$ref".to_owned(), target.into());
            }
            members.values_mut().for_each(|member| redirect(member, differing));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
