//! The HTTP+JSON binding (section 11): a path for each operation.
//! Must not know: what an operation does.

use axum::{
    body::Body,
    extract::{Path, State},
    response::Response,
};
use http::{HeaderValue, Method, header, request::Parts};
use plenary_edge::JsonBody;
use plenary_kernel::Refusal;
use serde_json::{Map, Value, json};

use crate::{
    A2a,
    access::version,
    calls::{Call, CallResult},
    failure::Failure,
    rpc::json_response,
};

/// The content type of the binding's responses.
const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// A request without a body: it reads or deletes.
pub(crate) async fn without_body(
    State(a2a): State<A2a>,
    Path((agent, path)): Path<(String, String)>,
    parts: Parts,
) -> Response {
    answer(&a2a, &agent, &path, &parts, None).await
}

pub(crate) async fn write(
    State(a2a): State<A2a>,
    Path((agent, path)): Path<(String, String)>,
    parts: Parts,
    body: Body,
) -> Response {
    answer(&a2a, &agent, &path, &parts, Some(body)).await
}

async fn answer(a2a: &A2a, agent: &str, path: &str, parts: &Parts, body: Option<Body>) -> Response {
    let result = async {
        let access = a2a.access(parts, agent).await?;
        version(&parts.headers, &parts.uri)?;
        let body = match body {
            Some(body) => sent(parts, body).await.map_err(Failure::body)?,
            None => Value::Null,
        };
        let (method, params) = method(&parts.method, path, query(parts.uri.query()), body)?;
        access.carry_out(Call::read(method, params)?).await
    };
    match result.await {
        Ok(CallResult::Value(value)) => {
            let mut response = json_response(&value);
            response.headers_mut().insert(header::CONTENT_TYPE, A2A_JSON);
            response
        }
        Ok(CallResult::Follow(follow)) => follow.into_response(None),
        Err(failure) => failure.rest_response(),
    }
}

/// The body of a request; an absent one is an empty object.
async fn sent(parts: &Parts, body: Body) -> Result<Value, Refusal> {
    JsonBody::read(parts, body).await?.parse_or_empty()
}

/// The method and the parameters of a request.
fn method(
    verb: &Method,
    path: &str,
    query: Map<String, Value>,
    body: Value,
) -> Result<(&'static str, Value), Failure> {
    let parts: Vec<&str> = path.split('/').collect();
    let with = |mut params: Map<String, Value>, named: &[(&str, &str)]| {
        params.extend(named.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))));
        Value::Object(params)
    };
    let members = |body: Value| {
        let Value::Object(members) = body else {
            return Err(Failure::params("The body must be a JSON object."));
        };
        Ok(members)
    };
    let is_read = *verb == Method::GET;
    Ok(match (verb.as_str(), &parts[..]) {
        ("POST", ["message:send"]) => ("SendMessage", Value::Object(members(body)?)),
        ("POST", ["message:stream"]) => ("SendStreamingMessage", Value::Object(members(body)?)),
        ("GET", ["extendedAgentCard"]) => ("GetExtendedAgentCard", json!({})),
        ("GET", ["tasks"]) => ("ListTasks", Value::Object(query)),
        ("GET" | "POST", ["tasks", named]) => match named.rsplit_once(':') {
            Some((id, "subscribe")) => ("SubscribeToTask", with(Map::new(), &[("id", id)])),
            Some((id, "cancel")) if !is_read => ("CancelTask", with(members(body)?, &[("id", id)])),
            _ if is_read => ("GetTask", with(query, &[("id", named)])),
            _ => return Err(Failure::method("There is no such method.")),
        },
        ("POST", ["tasks", task, "pushNotificationConfigs"]) => {
            ("CreateTaskPushNotificationConfig", with(members(body)?, &[("taskId", task)]))
        }
        ("GET", ["tasks", task, "pushNotificationConfigs"]) => {
            ("ListTaskPushNotificationConfigs", with(query, &[("taskId", task)]))
        }
        ("GET", ["tasks", task, "pushNotificationConfigs", id]) => {
            ("GetTaskPushNotificationConfig", with(Map::new(), &[("taskId", task), ("id", id)]))
        }
        ("DELETE", ["tasks", task, "pushNotificationConfigs", id]) => {
            ("DeleteTaskPushNotificationConfig", with(Map::new(), &[("taskId", task), ("id", id)]))
        }
        _ => return Err(Failure::method("There is no such method.")),
    })
}

/// The parameters of a query as members of a request: numbers and booleans by name.
fn query(text: Option<&str>) -> Map<String, Value> {
    let decoded = |text: &str| {
        let plain = text.replace('+', " ");
        percent_encoding::percent_decode_str(&plain).decode_utf8_lossy().into_owned()
    };
    let pairs = text.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let typed = |(name, value): (&str, &str)| {
        let (name, value) = (decoded(name), decoded(value));
        let typed = match &*name {
            "historyLength" | "pageSize" => {
                value.parse::<i32>().map_or_else(|_| value.clone().into(), Value::from)
            }
            "includeArtifacts" => value.parse::<bool>().map_or_else(|_| value.clone().into(), Value::from),
            _ => value.into(),
        };
        (name, typed)
    };
    pairs.map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(verb: &Method, path: &str, text: &str) -> (&'static str, Value) {
        method(verb, path, query(Some(text)), json!({})).unwrap_or(("none", Value::Null))
    }

    #[test]
    fn a_path_is_a_method() {
        let id = |id: &str| json!({"id": id});
        assert_eq!(read(&Method::GET, "tasks/a.1", "").0, "GetTask");
        assert_eq!(
            read(&Method::GET, "tasks/a.1", "historyLength=2").1,
            json!({"id": "a.1", "historyLength": 2})
        );
        assert_eq!(read(&Method::POST, "tasks/a.1:cancel", ""), ("CancelTask", id("a.1")));
        assert_eq!(read(&Method::GET, "tasks/a.1:cancel", "").0, "GetTask", "a task of that name");
        assert_eq!(read(&Method::GET, "tasks/a:subscribe", ""), ("SubscribeToTask", id("a")));
        assert_eq!(read(&Method::POST, "tasks/a:subscribe", ""), ("SubscribeToTask", id("a")));
        let list = json!({"pageSize": 2, "includeArtifacts": true, "contextId": "a b"});
        assert_eq!(read(&Method::GET, "tasks", "pageSize=2&includeArtifacts=true&contextId=a+b").1, list);
        for path in ["", "tasks/", "tasks/a/b", "message:other", "extendedAgentCard/x"] {
            let is_task = path == "tasks/";
            assert_eq!(read(&Method::GET, path, "").0 == "none", !is_task, "{path}");
        }
    }
}
