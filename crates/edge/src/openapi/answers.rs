//! Every answer that an operation can give: its successes, its own refusals, and the shared refusals.
//! Must not know: the list of operations.

use std::collections::{BTreeMap, BTreeSet};

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::{
    error::ErrorBody,
    operation::{Auth, HeaderDoc, OperationDoc, SchemaOf},
    strict::Shape,
};

/// The edge's refusals in the common form, for every operation: invalid HTTP, a foreign page, a head
/// that is too slow or too large, too many requests, and an internal error.
const EDGE_STATUSES: &[u16] = &[400, 403, 408, 429, 431, 500, 503];
/// Refusals of any body: it ended early, came too slowly, is too large, is compressed, or there is no memory for it.
const OF_A_BODY: &[u16] = &[400, 408, 413, 415, 429, 503];
/// The answers of an operation if the store fails.
const OF_THE_STORE: &[u16] = &[500, 503];
/// The answers of an operation to a token: it is invalid, or its scope is too narrow.
const OF_A_TOKEN: &[u16] = &[401, 403];
/// The answer of a writing operation if its owner is beyond its quota.
const OF_WRITING: u16 = 507;

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// The common form of a refusal.
const HOUSE: SchemaOf = |generator| generator.subschema_for::<ErrorBody<'static>>();

/// Answers that several operations share, by their names in `components.responses`.
#[derive(Default)]
pub(super) struct Answers(BTreeMap<String, Value>);

impl Answers {
    /// `components.responses`.
    pub(super) fn shared(&self) -> Value {
        json!(self.0)
    }

    /// `responses` of an operation.
    pub(super) fn of(&mut self, doc: &OperationDoc, schemas: &mut Schemas) -> Value {
        let mut responses = successes(doc, schemas);
        let room = schemas.sent(doc.error_body);
        let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        let is_checked = doc.request_type == "application/json"
            && doc.request.is_some_and(|request| Shape::of(request).is_closed());
        for error in doc.documented_errors() {
            // Strict handling can refuse no member of a body that may have any.
            if error.code == "unknown_member" && !is_checked {
                continue;
            }
            codes.entry(error.class.status()).or_default().push(error.code);
        }
        for (status, codes) in &codes {
            let mut described = refusal(*status, &forms(*status, Some(&room), schemas));
            let reason = described["description"].as_str().unwrap_or_default();
            described["description"] = format!("{reason}: {}", codes.join(", ")).into();
            described["x-plenary-codes"] = json!(codes);
            responses.insert(status.to_string(), described);
        }
        let room_statuses = implied(doc);
        for status in room_statuses.iter().chain(EDGE_STATUSES) {
            let form = room_statuses.contains(status).then_some(&room);
            let Some(answer) = responses.get_mut(&status.to_string()) else {
                responses.insert(status.to_string(), self.share(*status, form, schemas));
                continue;
            };
            // A page for people with this status; the refusals of the edge are JSON.
            let content = answer.get_mut("content").and_then(Value::as_object_mut);
            if let Some(content) = content.filter(|content| !content.contains_key(JSON)) {
                content.insert(JSON.to_owned(), json!({"schema": schemas.sent(HOUSE)}));
            }
        }
        responses.into()
    }

    /// A reference to an answer that several operations share.
    fn share(&mut self, status: u16, room: Option<&Value>, schemas: &mut Schemas) -> Value {
        let forms = forms(status, room, schemas);
        let names: Vec<_> = forms.iter().map(form_name).collect();
        let name = format!("{}{status}", names.join("Or"));
        let target = format!("#/components/responses/{name}");
        self.0.entry(name).or_insert_with(|| refusal(status, &forms));
        json!({"$ref": target})
    }
}

/// The last part of a reference.
fn form_name(form: &Value) -> &str {
    let target = form["$ref"].as_str().unwrap_or("Any");
    target.rsplit('/').next().unwrap_or(target)
}

fn reason(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Answer")
}

fn successes(doc: &OperationDoc, schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    let reply = doc.reply.map(|reply| schemas.sent(reply));
    for status in std::iter::once(&doc.success).chain(&doc.other_successes) {
        let mut success = json!({"description": reason(*status)});
        if let Some(reply) = &reply {
            let mut content = Map::new();
            let text = json!({"type": "string"});
            content.insert(doc.reply_type.to_owned(), media(doc.reply_type, reply));
            for media_type in &doc.other_reply_types {
                content.insert((*media_type).to_owned(), media(media_type, &text));
            }
            success["content"] = content.into();
        }
        responses.insert(status.as_str().into(), success);
    }
    for status in &doc.empty_successes {
        responses.insert(status.as_str().into(), json!({"description": reason(*status)}));
    }
    let headers = headers(doc);
    for response in responses.values_mut().filter(|_| !headers.is_empty()) {
        response["headers"] = json!(headers);
    }
    responses
}

/// The headers of the successes.
fn headers(doc: &OperationDoc) -> Map<String, Value> {
    let replayed = HeaderDoc {
        name: "Idempotency-Replayed",
        description: "`true` if this is the first response to the same `Idempotency-Key`.",
    };
    let headers = doc.sends_headers.iter().chain(doc.takes_key.then_some(&replayed));
    let described = |header: &HeaderDoc| {
        (header.name.into(), json!({"description": header.description, "schema": {"type": "string"}}))
    };
    headers.map(described).collect()
}

/// A body of this type. The schema of a stream of events would apply to each event, and those are
/// described in words.
fn media(media_type: &str, schema: &Value) -> Value {
    if media_type == EVENT_STREAM { json!({}) } else { json!({"schema": schema}) }
}

/// The refusals in its room's form that an operation need not list.
fn implied(doc: &OperationDoc) -> BTreeSet<u16> {
    let mut statuses = BTreeSet::new();
    // A writing operation refuses a body that it does not need, too.
    if doc.request.is_some() || [Method::POST, Method::PUT, Method::PATCH].contains(&doc.method) {
        statuses.extend(OF_A_BODY);
    }
    statuses.extend(doc.other_refusals.iter().map(StatusCode::as_u16));
    if doc.auth != Auth::None {
        statuses.extend(OF_A_TOKEN);
        statuses.extend(OF_THE_STORE);
        if doc.method != Method::GET {
            statuses.insert(OF_WRITING);
        }
    }
    statuses
}

/// The forms of a refusal with this status: the room's, the common one, or either.
fn forms(status: u16, room: Option<&Value>, schemas: &mut Schemas) -> Vec<Value> {
    let mut forms: Vec<Value> = room.cloned().into_iter().collect();
    if EDGE_STATUSES.contains(&status) || forms.is_empty() {
        let house = schemas.sent(HOUSE);
        if !forms.contains(&house) {
            forms.push(house);
        }
    }
    forms
}

fn refusal(status: u16, forms: &[Value]) -> Value {
    let schema = match forms {
        [form] => form.clone(),
        forms => json!({"anyOf": forms}),
    };
    let mut described = json!({
        "description": StatusCode::from_u16(status).map_or("Refused", reason),
        "content": {JSON: {"schema": schema}},
    });
    match status {
        401 => {
            described["headers"] = json!({"WWW-Authenticate": {
                "required": true,
                "schema": {"type": "string", "pattern": "^Bearer( |$)"},
            }});
        }
        429 | 503 => {
            described["headers"] = json!({"Retry-After": {
                "description": "Whole seconds.",
                "schema": {"type": "integer", "minimum": 0},
            }});
        }
        _ => {}
    }
    described
}
