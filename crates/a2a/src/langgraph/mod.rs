//! The API of LangGraph's server for the agents that this server runs, as far as the concepts match: an assistant is
//! an agent, and its state is the messages of a thread.
//! Must not know: Agent2Agent.

mod assistants;
mod input;
mod output;
mod runs;
mod state;
mod stream;
mod threads;

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    response::Response,
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use percent_encoding::percent_decode_str;
use plenary_edge::{
    Auth, JsonBody, Metrics, Operation, OperationDoc, RegistryFault, with_method_refusals, with_path_refusals,
};
use plenary_kernel::{Class, Refusal};
use plenary_room::Example;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    A2a,
    failure::challenge,
    repeats::client_key,
    rooms::{RoomClient, RoomRefusal},
    rpc::json_response,
};

pub(crate) const EXAMPLE: Example = (
    "langgraph.write",
    || json!({"assistant_id": "echo", "input": {"messages": [{"role": "user", "content": "Hello"}]}}),
);

/// The header in which LangGraph's SDK sends a token by default.
const API_KEY: &str = "x-api-key";

/// An error in the form of LangGraph's server.
#[derive(Debug)]
struct LangGraphError {
    status: StatusCode,
    code: String,
    message: String,
}

impl LangGraphError {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into() }
    }

    /// 422: the request is malformed.
    fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_value", message)
    }

    /// 422: the requested feature does not exist here.
    fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "not_supported", message)
    }

    /// 422: the `Idempotency-Key` is none.
    fn invalid_key(message: String) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_idempotency_key", message)
    }

    fn not_found(kind: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, &format!("{kind}_not_found"), format!("There is no such {kind}."))
    }

    fn response(&self) -> Response {
        let Self { status, code, message } = self;
        let mut response = json_response(&json!({"detail": message, "code": code}));
        *response.status_mut() = *status;
        response.headers_mut().extend(challenge(*status, code == "insufficient_scope"));
        response
    }
}

impl From<RoomRefusal> for LangGraphError {
    fn from(RoomRefusal { status, code, message }: RoomRefusal) -> Self {
        match &*code {
            "agent_not_found" => Self::not_found("assistant"),
            _ => Self { status, code, message },
        }
    }
}

impl From<Refusal> for LangGraphError {
    fn from(refusal: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refusal.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, code: refusal.code.to_owned(), message: refusal.message.into_owned() }
    }
}

type Answer = Result<Response, LangGraphError>;

/// A request with its caller.
struct Request<'a> {
    rooms: RoomClient,
    path: &'a [&'a str],
    query: Query<'a>,
    body: Value,
    /// The `Last-Event-ID` of the client.
    last_event: Option<&'a str>,
    /// The `Idempotency-Key` of the client: a repeated request refers to the same run.
    key: Option<&'a str>,
}

/// The parameters of a query, which may be repeated.
#[derive(Debug, Clone, Copy)]
struct Query<'a>(&'a str);

impl Query<'_> {
    /// The values of a parameter. An empty one is absent: the SDK sends every parameter that it knows.
    fn all(self, name: &str) -> Vec<String> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let of_name = pairs.filter(|(known, _)| *known == name);
        let text =
            |value: &str| percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned();
        of_name.map(|(_, value)| text(value)).filter(|value| !value.is_empty()).collect()
    }

    fn one(self, name: &str) -> Option<String> {
        self.all(name).pop()
    }
}

/// A whole number of a body or a query: absent is the default, and a larger one is reduced to the maximum.
fn count(value: &Value, name: &str, default: usize, max: usize) -> Result<usize, LangGraphError> {
    let read = match (value.is_null(), value.as_str()) {
        (true, _) => Some(default),
        (false, Some(text)) => text.parse().ok(),
        (false, None) => value.as_u64().and_then(|count| usize::try_from(count).ok()),
    };
    read.map(|read| read.min(max))
        .ok_or_else(|| LangGraphError::invalid(format!("`{name}` must be a whole number.")))
}

/// A text of a body; `None` if it is absent or null.
fn text<'a>(body: &'a Value, name: &str) -> Result<Option<&'a str>, LangGraphError> {
    match &body[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(LangGraphError::invalid(format!("`{name}` must be a text.")))
        }
    }
}

/// A text of a body, one of the allowed ones; `None` if it is absent or null.
fn one_of<'a>(body: &'a Value, name: &str, allowed: &[&str]) -> Result<Option<&'a str>, LangGraphError> {
    let found = text(body, name)?;
    if found.is_none_or(|found| allowed.contains(&found)) {
        return Ok(found);
    }
    Err(LangGraphError::invalid(format!("`{name}` must be one of {}.", allowed.join(", "))))
}

/// Checks that these members of a body are objects, if they are there.
fn objects(body: &Value, names: &[&str]) -> Result<(), LangGraphError> {
    let wrong = names.iter().find(|name| !(body[**name].is_null() || body[**name].is_object()));
    match wrong {
        Some(name) => Err(LangGraphError::invalid(format!("`{name}` must be an object."))),
        None => Ok(()),
    }
}

fn doc(id: &'static str, method: Method, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, "/langgraph/{*path}", summary)
        .auth(Auth::Any)
        .no_tool("for programs that know LangGraph's API; the tools have the same agents by runs")
        .path_parameter::<String>("path", "The path of LangGraph's API.")
        .reply::<Value>()
        .or_reply_type("text/event-stream")
        .continues()
        .sends_header("Location", "The stream of the run, for an answer that begins or follows one.")
        .answers_page()
        .errors(Class::Unauthenticated, &["invalid_authorization"])
        .errors(Class::NotFound, &["assistant_not_found", "thread_not_found", "run_not_found", "not_found"])
        .errors(Class::Unprocessable, &["invalid_value", "not_supported"])
        .error_body::<Map<String, Value>>()
}

/// All query parameters; each path supports some of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the description is made from it; `Query` reads it")]
struct Parameters {
    /// Maximum number.
    limit: Option<u32>,
    /// The number to skip.
    offset: Option<u32>,
    /// Only runs of this status.
    status: Option<String>,
    /// The stream modes: `values`, `updates`, `messages`, `messages-tuple`, `custom`.
    stream_mode: Option<String>,
    /// `1`: a cancellation responds when the run has ended.
    wait: Option<u8>,
    /// For a cancellation: only `interrupt`.
    action: Option<String>,
}

pub(crate) fn operations() -> Vec<Operation<A2a>> {
    let read_doc = doc("langgraph.read", Method::GET, "Read assistants, threads and runs (LangGraph)")
        .description(
            "`assistants/{id}`, `assistants/{id}/schemas`, `threads/{id}`, `threads/{id}/state`, `threads/{id}/runs`, \
             `threads/{id}/runs/{run}`, its `join` and its `stream`, and `info`.",
        )
        .query::<Parameters>();
    let write_doc = doc("langgraph.write", Method::POST, "Search assistants and threads, begin and cancel runs (LangGraph)")
        .description(
            "`assistants/search`, `assistants/count`, `threads`, `threads/search`, `threads/count`, `threads/{id}/history`, `threads/{id}/state/checkpoint`, \
             `threads/{id}/runs`, its `wait` and its `stream`, the same under `runs` in a new thread, and \
             `threads/{id}/runs/{run}/cancel`. The key counts where a run is begun, resumed or canceled.",
        )
        .query::<Parameters>()
        .optional_request::<Map<String, Value>>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Unprocessable, &["invalid_idempotency_key"])
        .errors(Class::Conflict, &["thread_exists", "run_not_active", "agent_stopped", "thread_full"]);
    vec![read_doc.handled_by(read), write_doc.handled_by(write)]
}

/// Paths without any content.
const NOTHING_AT: [&str; 2] = ["/langgraph", "/langgraph/"];

/// The routes of this API.
///
/// # Errors
/// If the operations contradict each other.
pub(crate) fn routes(metrics: &Metrics) -> Result<Router<A2a>, RegistryFault> {
    let form = |refusal: Refusal| LangGraphError::from(refusal).response();
    let router = plenary_edge::routes(operations(), metrics)?;
    Ok(with_method_refusals(with_path_refusals(router, metrics, &NOTHING_AT, form), metrics, form))
}

async fn read(State(a2a): State<A2a>, Path(path): Path<String>, parts: Parts) -> Response {
    answered(&a2a, &path, parts, None).await
}

async fn write(State(a2a): State<A2a>, Path(path): Path<String>, parts: Parts, body: Body) -> Response {
    answered(&a2a, &path, parts, Some(body)).await
}

async fn answered(a2a: &A2a, path: &str, mut parts: Parts, body: Option<Body>) -> Response {
    let answer = async {
        let rooms = rooms(a2a, &mut parts).await?;
        let body = match body {
            Some(body) => JsonBody::read(&parts, body).await?.parse_or_empty()?,
            None => Value::Null,
        };
        if !(body.is_object() || body.is_null()) {
            return Err(LangGraphError::invalid("The body must be an object."));
        }
        let path: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let last_event = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let key = client_key(&parts.headers).map_err(LangGraphError::invalid_key)?;
        let query = Query(parts.uri.query().unwrap_or_default());
        let request = Request { rooms, path: &path, query, body, last_event, key };
        if parts.method == Method::GET || parts.method == Method::HEAD {
            request.read().await
        } else {
            request.write().await
        }
    };
    answer.await.unwrap_or_else(|wrong: LangGraphError| wrong.response())
}

/// The rooms on behalf of the sender of a request, if its token is valid.
async fn rooms(a2a: &A2a, parts: &mut Parts) -> Result<RoomClient, LangGraphError> {
    if !parts.headers.contains_key(header::AUTHORIZATION)
        && let Some(key) = parts.headers.get(API_KEY).and_then(|key| key.to_str().ok())
        && let Ok(bearer) = HeaderValue::try_from(format!("Bearer {key}"))
    {
        parts.headers.insert(header::AUTHORIZATION, bearer);
    }
    a2a.principal(parts).await.and_then(|_| a2a.rooms(parts)).map_err(|failure| {
        let code = match failure.status {
            StatusCode::UNAUTHORIZED => "invalid_authorization",
            _ if failure.is_of_scope() => "insufficient_scope",
            StatusCode::TOO_MANY_REQUESTS => "overloaded",
            _ => "unavailable",
        };
        LangGraphError::new(failure.status, code, failure.message)
    })
}

impl Request<'_> {
    async fn read(self) -> Answer {
        match *self.path {
            ["info"] => {
                Ok(json_response(&json!({"flags": {"assistants": true, "crons": false, "langsmith": false}})))
            }
            ["assistants", id] => self.assistant(id).await,
            ["assistants", id, "schemas"] => self.schemas(id).await,
            ["threads", thread] => self.thread(thread).await,
            ["threads", thread, "state"] => self.state(thread, None).await,
            ["threads", thread, "state", run] => self.state(thread, Some(run)).await,
            ["threads", thread, "runs"] => self.list_runs(thread).await,
            ["threads", thread, "runs", run] => self.run(thread, run).await,
            ["threads", thread, "runs", run, "join"] => self.join(thread, run).await,
            ["threads", thread, "runs", run, "stream"] => self.join_stream(thread, run).await,
            _ => Err(nothing()),
        }
    }

    async fn write(self) -> Answer {
        match *self.path {
            ["assistants", "search"] => self.search_assistants().await,
            ["assistants", "count"] => self.count_assistants().await,
            ["threads"] => self.create_thread().await,
            ["threads", "search"] => self.search_threads().await,
            ["threads", "count"] => self.count_threads().await,
            ["threads", thread, "state", "checkpoint"] => self.state_at(thread).await,
            ["threads", thread, "history"] => self.history(thread).await,
            ["threads", thread, "runs"] => self.create(Some(thread)).await,
            ["threads", thread, "runs", "wait"] => self.wait(Some(thread)).await,
            ["threads", thread, "runs", "stream"] => self.stream(Some(thread)).await,
            ["threads", thread, "runs", run, "cancel"] => self.cancel(thread, run).await,
            ["runs"] => self.create(None).await,
            ["runs", "wait"] => self.wait(None).await,
            ["runs", "stream"] => self.stream(None).await,
            _ => Err(nothing()),
        }
    }
}

fn nothing() -> LangGraphError {
    let message = "This server has nothing at this path of LangGraph's API: no store, crons, batches or changes of assistants, \
                   threads and states.";
    LangGraphError::new(StatusCode::NOT_FOUND, "not_found", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_may_stand_several_times() {
        let query = Query("stream_mode=values&wait=1&stream_mode=messages%2Dtuple&x");
        assert_eq!(query.all("stream_mode"), ["values", "messages-tuple"]);
        assert_eq!((query.one("wait").as_deref(), query.one("x")), (Some("1"), None));
    }

    #[test]
    fn a_count_is_a_number_within_its_limit() {
        assert_eq!(count(&Value::Null, "limit", 10, 100).unwrap(), 10);
        assert_eq!(count(&json!(101), "limit", 10, 100).unwrap(), 100);
        assert_eq!(count(&json!("7"), "limit", 10, 100).unwrap(), 7);
        for wrong in [json!(-1), json!("x"), json!([])] {
            assert_eq!(count(&wrong, "limit", 10, 100).unwrap_err().code, "invalid_value");
        }
    }
}
