//! The API of OpenAI for the agents that this server runs: each agent is a model, and the API key is an agent's
//! token.
//! Must not know: Agent2Agent.

mod chat;
mod id;
mod input;
mod responses;
mod run;
mod stored;

use axum::{
    Router,
    extract::{Path, State},
    response::Response,
};
use http::{HeaderName, HeaderValue, Method, StatusCode, request::Parts};
use plenary_edge::{
    Auth, Metrics, Operation, OperationDoc, RegistryFault, with_method_refusals, with_path_refusals,
};
use plenary_kernel::{Class, Refusal};
use plenary_room::Example;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::{
    A2a,
    failure::challenge,
    rooms::{RoomClient, RoomRefusal, encoded},
    rpc::json_response,
};

pub(crate) const CHAT_EXAMPLE: Example =
    ("openai.chat", || json!({"model": "echo", "messages": [{"role": "user", "content": "Hello"}]}));
pub(crate) const RESPONSE_EXAMPLE: Example =
    ("openai.response", || json!({"model": "echo", "input": "Hello"}));

/// Why these operations are not tools for models.
const NO_TOOL: &str = "for programs that know OpenAI's API; the tools have the same agents by runs";

/// The header that tells OpenAI's clients whether to repeat a request.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An error in OpenAI's form.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    status: StatusCode,
    kind: &'static str,
    code: String,
    param: Option<&'static str>,
    message: String,
}

impl OpenAiError {
    fn param(param: &'static str, message: impl Into<String>) -> Self {
        let (status, kind) = (StatusCode::BAD_REQUEST, "invalid_request_error");
        Self { status, kind, code: "invalid_value".into(), param: Some(param), message: message.into() }
    }

    fn unsupported(param: &'static str, message: impl Into<String>) -> Self {
        Self { code: "unsupported_parameter".into(), ..Self::param(param, message) }
    }

    fn error(&self) -> Value {
        let Self { kind, code, param, message, .. } = self;
        json!({"message": message, "type": kind, "param": param, "code": code})
    }

    fn response(&self) -> Response {
        let mut response = json_response(&json!({"error": self.error()}));
        *response.status_mut() = self.status;
        response.headers_mut().extend(challenge(self.status, self.code == "insufficient_scope"));
        if self.status == StatusCode::CONFLICT {
            // OpenAI's clients repeat a 409 by themselves otherwise; here the same request gets the same answer.
            response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }

    /// 400: the `Idempotency-Key` is none.
    fn invalid_key(message: String) -> Self {
        let (status, kind) = (StatusCode::BAD_REQUEST, "invalid_request_error");
        Self { status, kind, code: "invalid_idempotency_key".into(), param: None, message }
    }

    /// 404: the response does not exist, or the caller may not see it.
    fn no_response() -> Self {
        let (status, kind) = (StatusCode::NOT_FOUND, "invalid_request_error");
        let message = "There is no such response.".into();
        Self { status, kind, code: "response_not_found".into(), param: Some("response_id"), message }
    }

    /// The error of a failed run. No 5xx: clients repeat those by themselves, and each repetition is a run.
    fn run_failed(why: &str) -> Self {
        let (status, kind) = (StatusCode::UNPROCESSABLE_ENTITY, "server_error");
        Self { status, kind, code: "run_failed".into(), param: None, message: why.to_owned() }
    }
}

impl From<RoomRefusal> for OpenAiError {
    fn from(RoomRefusal { status, code, message }: RoomRefusal) -> Self {
        let (kind, code, param) = match status.as_u16() {
            401 => ("invalid_request_error", "invalid_api_key".to_owned(), None),
            404 if code == "agent_not_found" => {
                ("invalid_request_error", "model_not_found".to_owned(), Some("model"))
            }
            429 => ("rate_limit_error", code, None),
            400..500 => ("invalid_request_error", code, None),
            _ => ("server_error", code, None),
        };
        Self { status, kind, code, param, message }
    }
}

impl From<Refusal> for OpenAiError {
    fn from(refusal: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refusal.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        RoomRefusal { status, code: refusal.code.to_owned(), message: refusal.message.into_owned() }.into()
    }
}

fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .auth(Auth::Any)
        .no_tool(NO_TOOL)
        .errors(Class::Unauthenticated, &["invalid_api_key"])
        .error_body::<Map<String, Value>>()
        .reply::<Map<String, Value>>()
}

/// The members of a chat that are needed; the others are OpenAI's.
#[derive(JsonSchema)]
#[schemars(rename = "OpenAiChat", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "only its schema is used")]
struct ChatBody {
    /// The agent: its name, or its handle.
    model: String,
    /// What was said, the oldest first.
    #[schemars(length(min = 1))]
    messages: Vec<Map<String, Value>>,
}

/// The members of a request for a response that are needed; the others are OpenAI's.
#[derive(JsonSchema)]
#[schemars(rename = "OpenAiResponse", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "only its schema is used")]
struct ResponseBody {
    /// The agent: its name, or its handle.
    model: String,
    /// A text, or a list of messages.
    input: Value,
}

pub(crate) fn operations() -> Vec<Operation<A2a>> {
    run_operations().into_iter().chain(stored_operations()).collect()
}

/// The operations that list models and start runs.
fn run_operations() -> Vec<Operation<A2a>> {
    let models_doc = doc("openai.models", Method::GET, "/v1/models", "List agents as models (OpenAI)");
    let model_doc =
        doc("openai.model", Method::GET, "/v1/models/{model}", "Show an agent as a model (OpenAI)")
            .path_parameter::<String>("model", "The agent: its name, or its handle.")
            .errors(Class::NotFound, &["model_not_found"]);
    let starting_run = |doc: OperationDoc| {
        doc.or_reply_type("text/event-stream")
            .errors(Class::Malformed, &["invalid_value", "unsupported_parameter", "invalid_json"])
            .errors(Class::NotFound, &["model_not_found"])
            .errors(Class::Conflict, &["agent_stopped", "thread_full", "run_not_active"])
            .errors(Class::Unprocessable, &["invalid_input", "invalid_request_metadata"])
            .answers_page()
    };
    let chat_doc = starting_run(doc("openai.chat", Method::POST, "/v1/chat/completions", "Ask an agent (OpenAI, chat)"))
        .request::<ChatBody>()
        .description(
            "Each request is a run in a new thread. Of several messages the agent gets the whole conversation as one text, \
             and the messages in `request_metadata.openai`.",
        )
        .errors(Class::Unprocessable, &["run_failed"]);
    let response_doc = starting_run(doc("openai.response", Method::POST, "/v1/responses", "Ask an agent (OpenAI, responses)"))
        .request::<ResponseBody>()
        .description(
            "`previous_response_id` continues the same thread, and answers a question at the end of that response. With \
             `background` the answer comes at once, and the response is read later.",
        );
    vec![
        models_doc.handled_by(models),
        model_doc.handled_by(model),
        chat_doc.handled_by(chat::complete),
        response_doc.handled_by(responses::respond),
    ]
}

/// The operations on stored responses.
fn stored_operations() -> Vec<Operation<A2a>> {
    let of_response = |id, method, path, summary| {
        doc(id, method, path, summary)
            .path_parameter::<String>("response_id", "The response: its id.")
            .errors(Class::NotFound, &["response_not_found"])
            .answers_item()
    };
    let show_doc =
        of_response("openai.stored", Method::GET, "/v1/responses/{response_id}", "Show a response (OpenAI)")
            .query::<stored::ShownAs>()
            .errors(Class::Malformed, &["invalid_value", "unsupported_parameter"]);
    let cancel_doc = of_response(
        "openai.cancel",
        Method::POST,
        "/v1/responses/{response_id}/cancel",
        "Cancel a response (OpenAI)",
    )
    .without_key()
    .description(
        "One that has ended stays as it is. The answer says `in_progress` until the agent has stopped.",
    );
    let items_doc = of_response(
        "openai.input_items",
        Method::GET,
        "/v1/responses/{response_id}/input_items",
        "List what a response was asked (OpenAI)",
    )
    .description("Nothing where the response answers a question of the agent.")
    .query::<stored::ItemsQuery>()
    .errors(Class::Malformed, &["invalid_value"]);
    vec![
        show_doc.handled_by(stored::show),
        cancel_doc.handled_by(stored::cancel),
        items_doc.handled_by(stored::input_items),
    ]
}

/// Paths without any operation, which OpenAI's clients request nevertheless.
const NOTHING_AT: [&str; 33] = [
    "/v1/assistants",
    "/v1/assistants/{*rest}",
    "/v1/audio/{*rest}",
    "/v1/batches",
    "/v1/batches/{*rest}",
    "/v1/chat",
    "/v1/chat/completions/{*rest}",
    "/v1/chatkit/{*rest}",
    "/v1/completions",
    "/v1/containers",
    "/v1/containers/{*rest}",
    "/v1/conversations",
    "/v1/conversations/{*rest}",
    "/v1/embeddings",
    "/v1/evals",
    "/v1/evals/{*rest}",
    "/v1/files",
    "/v1/files/{*rest}",
    "/v1/fine_tuning/{*rest}",
    "/v1/images/{*rest}",
    "/v1/models/{model}/{*rest}",
    "/v1/moderations",
    "/v1/organization/{*rest}",
    "/v1/realtime",
    "/v1/realtime/{*rest}",
    "/v1/responses/{response_id}/{*rest}",
    "/v1/threads",
    "/v1/threads/{*rest}",
    "/v1/uploads",
    "/v1/uploads/{*rest}",
    "/v1/vector_stores",
    "/v1/vector_stores/{*rest}",
    "/v1/videos",
];

/// The routes of this API, with its own form of 404 and 405.
///
/// # Errors
/// If the operations contradict each other.
pub(crate) fn routes(metrics: &Metrics) -> Result<Router<A2a>, RegistryFault> {
    let form = |refusal: Refusal| OpenAiError::from(refusal).response();
    let router = plenary_edge::routes(operations(), metrics)?;
    Ok(with_method_refusals(with_path_refusals(router, metrics, &NOTHING_AT, form), metrics, form))
}

/// The rooms on behalf of the sender of a request, if its key is valid.
async fn rooms(a2a: &A2a, parts: &Parts) -> Result<RoomClient, OpenAiError> {
    a2a.principal(parts).await.and_then(|_| a2a.rooms(parts)).map_err(|failure| {
        let code = match failure.status {
            StatusCode::UNAUTHORIZED => "invalid_authorization",
            _ if failure.is_of_scope() => "insufficient_scope",
            StatusCode::TOO_MANY_REQUESTS => "overloaded",
            _ => "unavailable",
        };
        RoomRefusal { status: failure.status, code: code.into(), message: failure.message }.into()
    })
}

async fn models(State(a2a): State<A2a>, parts: Parts) -> Response {
    let listed = async { Ok::<_, OpenAiError>(rooms(&a2a, &parts).await?.get("/agent").await?) };
    match listed.await {
        Ok(listed) => {
            let models: Vec<Value> = listed.value.as_array().into_iter().flatten().map(as_model).collect();
            json_response(&json!({"object": "list", "data": models}))
        }
        Err(wrong) => wrong.response(),
    }
}

async fn model(State(a2a): State<A2a>, Path(model): Path<String>, parts: Parts) -> Response {
    let shown = async {
        let path = format!("/agent/{}/describe", encoded(&model));
        Ok::<_, OpenAiError>(rooms(&a2a, &parts).await?.get(&path).await?)
    };
    match shown.await {
        Ok(shown) => json_response(&as_model(&shown.value)),
        Err(wrong) => wrong.response(),
    }
}

fn as_model(descriptor: &Value) -> Value {
    let handle = descriptor["handle"].as_str().unwrap_or_default();
    let owner = handle.trim_start_matches('@').split('.').next().unwrap_or_default();
    json!({"id": handle, "object": "model", "created": 0, "owned_by": owner})
}
