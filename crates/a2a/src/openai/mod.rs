//! The API of OpenAI for the agents that this server runs: each agent is a model, and the API key is an agent's
//! token.
//! Must not know: Agent2Agent.

mod chat;
mod input;
mod responses;
mod run;

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::{Method, StatusCode, request::Parts};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, Refusal};
use plenary_room::Example;
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

/// Why a model gets none of it as a tool.
const NO_TOOL: &str = "for programs that know OpenAI's API; the tools have the same agents by runs";

/// An error in OpenAI's form.
#[derive(Debug)]
pub(crate) struct Wrong {
    status: StatusCode,
    kind: &'static str,
    code: String,
    param: Option<&'static str>,
    message: String,
}

impl Wrong {
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
        response
    }

    /// The run failed.
    fn of_run(message: String) -> Self {
        let (status, kind) = (StatusCode::INTERNAL_SERVER_ERROR, "server_error");
        Self { status, kind, code: "run_failed".into(), param: None, message }
    }
}

impl From<RoomRefusal> for Wrong {
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

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refusal.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        RoomRefusal { status, code: refusal.code.to_owned(), message: refusal.message.into_owned() }.into()
    }
}

pub(crate) fn operations() -> Vec<Operation<A2a>> {
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary)
            .auth(Auth::Any)
            .no_tool(NO_TOOL)
            .without_key()
            .errors(Class::Unauthenticated, &["invalid_api_key"])
            .error_body::<Map<String, Value>>()
            .reply::<Map<String, Value>>()
    };
    let models_doc = doc("openai.models", Method::GET, "/v1/models", "List agents as models (OpenAI)");
    let model_doc =
        doc("openai.model", Method::GET, "/v1/models/{model}", "Show an agent as a model (OpenAI)")
            .path_parameter::<String>("model", "The agent: its name, or its handle.")
            .errors(Class::NotFound, &["model_not_found"]);
    let asks = |doc: OperationDoc| {
        doc.request::<Map<String, Value>>()
            .or_reply_type("text/event-stream")
            .errors(Class::Malformed, &["invalid_value", "unsupported_parameter", "invalid_json"])
            .errors(Class::NotFound, &["model_not_found"])
            .errors(Class::Conflict, &["agent_stopped", "thread_full", "run_not_active"])
            .errors(Class::Unprocessable, &["invalid_input", "invalid_request_metadata"])
            .answers_page()
    };
    let chat_doc = asks(doc("openai.chat", Method::POST, "/v1/chat/completions", "Ask an agent (OpenAI, chat)"))
        .description(
            "Each request is a run in a new thread. Of several messages the agent gets the whole conversation as one text, \
             and the messages in `request_metadata.openai`.",
        );
    let response_doc = asks(doc("openai.response", Method::POST, "/v1/responses", "Ask an agent (OpenAI, responses)"))
        .description(
            "`previous_response_id` continues the same thread, and answers a question at the end of that response.",
        );
    vec![
        Operation::new(models_doc, models),
        Operation::new(model_doc, model),
        Operation::new(chat_doc, chat::complete),
        Operation::new(response_doc, responses::respond),
    ]
}

/// The rooms in the name of whoever sent a request, if its key counts.
async fn rooms(a2a: &A2a, parts: &Parts) -> Result<RoomClient, Wrong> {
    a2a.principal(parts).await.and_then(|_| a2a.rooms(parts)).map_err(|failure| {
        let code = match failure.status {
            StatusCode::UNAUTHORIZED => "invalid_authorization",
            _ if failure.is_of_scope() => "insufficient_scope",
            _ => "unavailable",
        };
        RoomRefusal { status: failure.status, code: code.into(), message: failure.message }.into()
    })
}

async fn models(State(a2a): State<A2a>, parts: Parts) -> Response {
    let listed = async { Ok::<_, Wrong>(rooms(&a2a, &parts).await?.get("/agent").await?) };
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
        Ok::<_, Wrong>(rooms(&a2a, &parts).await?.get(&path).await?)
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
