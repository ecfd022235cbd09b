//! The JSON-RPC binding (section 9): one path for every operation.
//! Must not know: what an operation does.

use axum::{
    body::Body,
    extract::{Path, State},
    response::Response,
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use plenary_edge::JsonBody;
use serde_json::{Map, Value, json};

use crate::{
    A2a,
    access::version,
    calls::{Call, CallResult},
    failure::Failure,
    repeats::REPLAYED,
};

/// A call, as received.
struct Envelope {
    method: String,
    params: Value,
}

pub(crate) async fn call(
    State(a2a): State<A2a>,
    Path(agent): Path<String>,
    parts: Parts,
    body: Body,
) -> Response {
    let access = a2a.access(&parts, &agent).await;
    // Without a valid token the request is not read.
    if let Err(failure) = &access
        && failure.status == StatusCode::UNAUTHORIZED
    {
        return failure.rpc_response(&Value::Null);
    }
    let sent: Result<Value, _> = JsonBody::read(&parts, body).await.and_then(|body| body.parse());
    let access = match access {
        Ok(access) => access,
        Err(failure) => return failure.rpc_response(&sent.map(|sent| id_of(&sent)).unwrap_or_default()),
    };
    let mut sent = match sent {
        Ok(Value::Object(sent)) => sent,
        Ok(_) => {
            return Failure::request("The body must be one call, a JSON object.").rpc_response(&Value::Null);
        }
        Err(refusal) => return Failure::body(refusal).rpc_response(&Value::Null),
    };
    let id = match sent.remove("id") {
        Some(id) if is_id(&id) => id,
        // A notification has no response, and no method here is useful without one.
        _ => return Failure::request("`id` must be a string or a number.").rpc_response(&Value::Null),
    };
    let outcome = async {
        let Envelope { method, params } = envelope(sent)?;
        version(&parts.headers, &parts.uri)?;
        access.carry_out(Call::read(&method, params)?).await
    };
    match outcome.await {
        Ok(CallResult::Value(value)) => result(&id, &value),
        Ok(CallResult::Follow(follow)) => follow.into_response(Some(id)),
        Err(failure) => failure.rpc_response(&id),
    }
}

fn is_id(id: &Value) -> bool {
    matches!(id, Value::String(_) | Value::Number(_) | Value::Null)
}

/// The id of a call that is refused before it is parsed, if it has one.
fn id_of(sent: &Value) -> Value {
    sent.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default()
}

fn envelope(mut sent: Map<String, Value>) -> Result<Envelope, Failure> {
    if sent.get("jsonrpc") != Some(&"2.0".into()) {
        return Err(Failure::request("`jsonrpc` must be \"2.0\"."));
    }
    let Some(Value::String(method)) = sent.remove("method") else {
        return Err(Failure::request("`method` must be a string."));
    };
    let params = sent.remove("params").unwrap_or_else(|| json!({}));
    if params.is_object() {
        Ok(Envelope { method, params })
    } else {
        Err(Failure::params("`params` must be an object."))
    }
}

fn result(id: &Value, value: &Value) -> Response {
    json_response(&json!({"jsonrpc": "2.0", "id": id, "result": value}))
}

/// Marks a response that repeats the one to an earlier, equal request.
pub(crate) fn replayed(mut response: Response, is_replayed: bool) -> Response {
    if is_replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

pub(crate) fn json_response(value: &Value) -> Response {
    let mut response = Response::new(value.to_string().into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
