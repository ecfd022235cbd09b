//! The OpenAPI 3.1 description, generated from the operations.
//! Must not know: the list of operations.

mod answers;
mod schemas;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::{answers::Answers, schemas::Schemas};
use crate::operation::{Auth, HeaderDoc, OperationDoc};

/// The head of the description.
#[derive(Debug, Clone, Copy)]
pub struct ApiInfo<'a> {
    /// The name of the server.
    pub title: &'a str,
    /// Its version.
    pub version: &'a str,
    /// A description for people.
    pub description: &'a str,
    /// The URL for clients, or a path relative to this document.
    pub server_url: &'a str,
    /// The rooms of the operations, by [`OperationDoc::room`], with their purposes.
    pub rooms: &'a [(&'a str, &'a str)],
}

/// The OpenAPI 3.1 document of these operations; schemas are JSON Schema 2020-12 under `components.schemas`.
pub fn openapi(info: ApiInfo<'_>, operations: &[OperationDoc]) -> Value {
    let (mut schemas, mut answers) = (Schemas::new(), Answers::default());
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for doc in operations {
        let path = doc.path.replace("{*", "{");
        let method = doc.method.as_str().to_ascii_lowercase();
        paths.entry(path).or_default().insert(method, operation(doc, &mut schemas, &mut answers));
    }
    let tags: Vec<_> = info
        .rooms
        .iter()
        .map(|(name, description)| json!({"name": name, "description": description}))
        .collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": info.title,
            "version": info.version,
            "description": info.description,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": info.server_url}],
        "tags": tags,
        "paths": paths,
        "components": {
            "responses": answers.shared(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    });
    document["components"]["schemas"] = schemas.define(&mut document["paths"]);
    document
}

fn operation(doc: &OperationDoc, schemas: &mut Schemas, answers: &mut Answers) -> Value {
    let mut described = Map::new();
    described.insert("operationId".into(), doc.id.into());
    let tag = doc.room_name();
    described.insert("tags".into(), json!([tag]));
    described.insert("summary".into(), doc.summary.into());
    if !doc.description.is_empty() {
        described.insert("description".into(), doc.description.into());
    }
    described.insert("x-plenary-auth".into(), doc.auth.as_str().into());
    let security = match doc.auth {
        Auth::None => json!([]),
        _ if doc.token_optional => json!([{}, {"bearer": []}]),
        Auth::Agent | Auth::Owner | Auth::Operator | Auth::Any => json!([{"bearer": []}]),
    };
    described.insert("security".into(), security);
    let mut parameters = path_parameters(doc, schemas);
    parameters.extend(query_parameters(doc, schemas));
    parameters.extend(doc.takes_key.then(key_parameter));
    parameters.extend(doc.reads_headers.iter().map(header_parameter));
    if !parameters.is_empty() {
        described.insert("parameters".into(), parameters.into());
    }
    if let Some(request) = doc.request {
        let mut content = json!({"schema": schemas.received(request)});
        if let Some(example) = doc.example {
            content["example"] = example();
        }
        let body = json!({"required": doc.request_required, "content": {doc.request_type: content}});
        described.insert("requestBody".into(), body);
    }
    described.insert("responses".into(), answers.of(doc, schemas));
    described.into()
}

fn path_parameters(doc: &OperationDoc, schemas: &mut Schemas) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in doc.path_names() {
        let mut parameter = Map::new();
        parameter.insert("name".into(), name.into());
        parameter.insert("in".into(), "path".into());
        parameter.insert("required".into(), true.into());
        match doc.path_parameters.iter().find(|described| described.name == name) {
            Some(described) => {
                parameter.insert("description".into(), described.description.into());
                parameter.insert("schema".into(), schemas.received(described.schema));
            }
            None => drop(parameter.insert("schema".into(), json!({"type": "string"}))),
        }
        parameters.push(parameter.into());
    }
    parameters
}

/// The members of the query type, one parameter each. A query has no null: a parameter is present or
/// absent.
fn query_parameters(doc: &OperationDoc, schemas: &mut Schemas) -> Vec<Value> {
    let Some(query) = doc.query else { return Vec::new() };
    let schema = schemas.received(query);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let members = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let parameter = |(name, mut schema): (String, Value)| {
        let mut parameter = Map::new();
        parameter.insert("required".into(), required.iter().any(|r| r == &name).into());
        parameter.insert("name".into(), name.into());
        parameter.insert("in".into(), "query".into());
        if let Some(description) = schema.as_object_mut().and_then(|schema| schema.remove("description")) {
            parameter.insert("description".into(), description);
        }
        parameter.insert("schema".into(), without_null(schema));
        parameter.into()
    };
    members.into_iter().map(parameter).collect()
}

/// The header under which a request is carried out once.
fn key_parameter() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": false,
        "description": "1 to 255 visible ASCII characters. A request is carried out once for each key, even after a \
                        crash; a repetition gets the first response with `Idempotency-Replayed: true`.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    })
}

fn header_parameter(header: &HeaderDoc) -> Value {
    json!({
        "name": header.name,
        "in": "header",
        "required": false,
        "description": header.description,
        "schema": {"type": "string"},
    })
}

fn without_null(mut schema: Value) -> Value {
    let null = json!({"type": "null"});
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|one| !one.is_null());
    }
    if let Some(forms) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        forms.retain(|form| form != &null);
        if let [only] = forms.as_slice() {
            return only.clone();
        }
    }
    schema
}
