//! The OpenAPI 3.1 description, generated from the operations.
//! Must not know: which operations there are.

use std::collections::BTreeMap;

use http::StatusCode;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::operation::{Auth, OperationDoc};

/// What stands at the head of the description.
#[derive(Debug, Clone, Copy)]
pub struct ApiInfo<'a> {
    /// The name of the server.
    pub title: &'a str,
    /// Its version.
    pub version: &'a str,
    /// What it is, for people.
    pub description: &'a str,
}

/// The OpenAPI 3.1 document of these operations; schemas are JSON Schema 2020-12 under `components.schemas`.
#[must_use]
pub fn openapi(info: ApiInfo<'_>, operations: &[OperationDoc]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for doc in operations {
        let path = doc.path.replace("{*", "{");
        let method = doc.method.as_str().to_ascii_lowercase();
        paths.entry(path).or_default().insert(method, operation(doc, &mut generator));
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": info.title, "version": info.version, "description": info.description},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(doc: &OperationDoc, generator: &mut SchemaGenerator) -> Value {
    let mut described = Map::new();
    described.insert("operationId".into(), doc.id.into());
    described.insert("tags".into(), json!([doc.id.split('.').next()]));
    described.insert("summary".into(), doc.summary.into());
    if !doc.description.is_empty() {
        described.insert("description".into(), doc.description.into());
    }
    described.insert("x-plenary-auth".into(), doc.auth.as_str().into());
    let security = if doc.auth == Auth::None { json!([]) } else { json!([{"bearer": []}]) };
    described.insert("security".into(), security);
    let mut parameters = path_parameters(doc, generator);
    parameters.extend(query_parameters(doc, generator));
    if !parameters.is_empty() {
        described.insert("parameters".into(), parameters.into());
    }
    if let Some(request) = doc.request {
        let body = json!({
            "required": doc.request_required,
            "content": {"application/json": {"schema": request(generator)}},
        });
        described.insert("requestBody".into(), body);
    }
    described.insert("responses".into(), responses(doc, generator));
    described.into()
}

fn path_parameters(doc: &OperationDoc, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in doc.path_names() {
        let mut parameter = Map::new();
        parameter.insert("name".into(), name.into());
        parameter.insert("in".into(), "path".into());
        parameter.insert("required".into(), true.into());
        match doc.path_parameters.iter().find(|described| described.name == name) {
            Some(described) => {
                parameter.insert("description".into(), described.description.into());
                parameter.insert("schema".into(), (described.schema)(generator).into());
            }
            None => drop(parameter.insert("schema".into(), json!({"type": "string"}))),
        }
        parameters.push(parameter.into());
    }
    parameters
}

/// The members of the query type, one parameter each.
fn query_parameters(doc: &OperationDoc, generator: &mut SchemaGenerator) -> Vec<Value> {
    let Some(query) = doc.query else { return Vec::new() };
    let schema = query(generator);
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
        parameter.insert("schema".into(), schema);
        parameter.into()
    };
    members.into_iter().map(parameter).collect()
}

fn responses(doc: &OperationDoc, generator: &mut SchemaGenerator) -> Value {
    let mut responses: BTreeMap<String, Value> = BTreeMap::new();
    let reason = |status: StatusCode| status.canonical_reason().unwrap_or("Answer");
    let mut success = json!({"description": reason(doc.success)});
    if let Some(reply) = doc.reply {
        success["content"] = json!({doc.reply_type: {"schema": reply(generator)}});
    }
    responses.insert(doc.success.as_str().into(), success);
    if let Some(status) = doc.empty_success {
        responses.insert(status.as_str().into(), json!({"description": reason(status)}));
    }
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for error in &doc.errors {
        codes.entry(error.class.status()).or_default().push(error.code);
    }
    let error_content = json!({"application/json": {"schema": (doc.error_body)(generator)}});
    for (status, codes) in codes {
        let reason = StatusCode::from_u16(status).map_or("Refused", reason);
        let mut described = json!({
            "description": format!("{reason}: {}", codes.join(", ")),
            "content": error_content,
            "x-plenary-codes": codes,
        });
        if status == 401 {
            let header = json!({"WWW-Authenticate": {"schema": {"type": "string", "const": "Bearer"}}});
            described["headers"] = header;
        }
        responses.insert(status.to_string(), described);
    }
    responses.insert("default".into(), json!({"description": "Any other refusal", "content": error_content}));
    json!(responses)
}
