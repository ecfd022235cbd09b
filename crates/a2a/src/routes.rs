//! The routes of this room.
//! Must not know: the effects of a call.

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_edge::{Auth, Metrics, Operation, OperationDoc, RegistryFault, ranges::is_known};
use plenary_kernel::{
    Class,
    json::{Nulls, canonical, digest},
};
use serde_json::{Map, Value};

use crate::{
    A2a,
    card::{Extent, card},
    failure::Failure,
    grpc,
    keys::SET_PATH,
    langgraph,
    limits::CARD_SECONDS,
    openai, rest, rpc,
};

/// Why these operations are not tools for models.
const NO_TOOL: &str = "for clients of the protocol; the tools have the same agents by runs and sessions";

pub(crate) fn routes(a2a: A2a, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let own = plenary_edge::routes(own_operations(), metrics)?;
    Ok(own.merge(openai::routes(metrics)?).merge(langgraph::routes(metrics)?).with_state(a2a))
}

fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .auth(Auth::Any)
        .no_tool(NO_TOOL)
        .without_key()
        .path_parameter::<String>("agent", "The agent, `owner.name`.")
        .errors(Class::Unauthenticated, &["UNAUTHENTICATED"])
        .errors(Class::Forbidden, &["INSUFFICIENT_SCOPE", "PERMISSION_DENIED"])
        .errors(Class::NotFound, &["AGENT_NOT_FOUND"])
        .error_body::<Map<String, Value>>()
}

pub(crate) fn operations() -> Vec<Operation<A2a>> {
    own_operations().into_iter().chain(openai::operations()).chain(langgraph::operations()).collect()
}

/// The operations of the protocol.
fn own_operations() -> Vec<Operation<A2a>> {
    let mut operations = card_operations();
    operations.extend(binding_operations());
    operations.push(grpc_operation());
    operations
}

/// The agent cards, and the key that signs them.
fn card_operations() -> Vec<Operation<A2a>> {
    let card_doc = doc(
        "a2a.card",
        Method::GET,
        "/a2a/{agent}/.well-known/agent-card.json",
        "Show an agent's card (A2A 1.0)",
    )
    .description("Without a token only for agents with a public profile; with a token for all agents that it may contact.")
    .token_optional()
    .reply::<Map<String, Value>>()
    .has_etag()
    .or_empty(StatusCode::NOT_MODIFIED);
    let own_doc = OperationDoc::new(
        "a2a.server_card",
        Method::GET,
        "/.well-known/agent-card.json",
        "Show the card of the one agent that the operator has named (A2A 1.0)",
    )
    .auth(Auth::Any)
    .token_optional()
    .no_tool(NO_TOOL)
    .errors(Class::Unauthenticated, &["UNAUTHENTICATED"])
    .errors(Class::NotFound, &["AGENT_NOT_FOUND"])
    .error_body::<Map<String, Value>>()
    .reply::<Map<String, Value>>()
    .has_etag()
    .or_empty(StatusCode::NOT_MODIFIED);
    let keys_doc = OperationDoc::new(
        "a2a.keys",
        Method::GET,
        SET_PATH,
        "Show the public key that signs the cards of agents (RFC 7517)",
    )
    .auth(Auth::None)
    .no_tool(NO_TOOL)
    .error_body::<Map<String, Value>>()
    .reply::<Map<String, Value>>();
    vec![card_doc.handled_by(show_card), own_doc.handled_by(show_own), keys_doc.handled_by(show_keys)]
}

/// The bindings of the protocol that have paths for agents.
fn binding_operations() -> Vec<Operation<A2a>> {
    let rpc_doc = doc("a2a.rpc", Method::POST, "/a2a/{agent}", "Ask an agent (A2A 1.0, JSON-RPC)")
        .description(
            "The JSON-RPC binding of Agent2Agent 1.0: SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, \
             SubscribeToTask, GetExtendedAgentCard, and Create-, Get-, List- and DeleteTaskPushNotificationConfig. A streaming method is answered with server-sent events. The header \
             `A2A-Version: 1.0` is required. A message under an `Idempotency-Key` is the same one also after the end of its task.",
        )
        .request::<Map<String, Value>>()
        .reply::<Map<String, Value>>()
        .or_reply_type("text/event-stream")
        .continues()
        .answers_page();
    let read_doc = doc("a2a.read", Method::GET, "/a2a/{agent}/{*path}", "Read an agent's tasks (A2A 1.0, HTTP+JSON)")
        .description(
            "`tasks`, `tasks/{id}`, `tasks/{id}:subscribe`, `tasks/{id}/pushNotificationConfigs` and `extendedAgentCard` of the HTTP+JSON binding of Agent2Agent \
             1.0. The header `A2A-Version: 1.0` is required.",
        )
        .path_parameter::<String>("path", "The path of the binding.")
        .reply::<Map<String, Value>>()
        .reply_type("application/a2a+json")
        .or_reply_type("text/event-stream")
        .continues()
        .errors(Class::Malformed, &["INVALID_PARAMS", "VERSION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION"])
        .errors(Class::NotFound, &["TASK_NOT_FOUND", "METHOD_NOT_FOUND"])
        .answers_page();
    let write_doc = doc("a2a.write", Method::POST, "/a2a/{agent}/{*path}", "Ask an agent (A2A 1.0, HTTP+JSON)")
        .description(
            "`message:send`, `message:stream`, `tasks/{id}:cancel`, `tasks/{id}:subscribe` and `tasks/{id}/pushNotificationConfigs` of the HTTP+JSON binding of \
             Agent2Agent 1.0. The header `A2A-Version: 1.0` is required. A message under an `Idempotency-Key` is the same one also \
             after the end of its task.",
        )
        .path_parameter::<String>("path", "The path of the binding.")
        .optional_request::<Map<String, Value>>()
        .reply::<Map<String, Value>>()
        .reply_type("application/a2a+json")
        .or_reply_type("text/event-stream")
        .continues()
        .errors(Class::Malformed, &["INVALID_PARAMS", "VERSION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION"])
        .errors(Class::Malformed, &["CONTENT_TYPE_NOT_SUPPORTED"])
        .errors(Class::NotFound, &["TASK_NOT_FOUND", "METHOD_NOT_FOUND"])
        .answers_page();
    let delete_doc = doc(
        "a2a.delete",
        Method::DELETE,
        "/a2a/{agent}/{*path}",
        "Remove a push configuration of a task (A2A 1.0, HTTP+JSON)",
    )
    .description(
        "`tasks/{id}/pushNotificationConfigs/{config}` of the HTTP+JSON binding of Agent2Agent 1.0. The header \
         `A2A-Version: 1.0` is required.",
    )
    .path_parameter::<String>("path", "The path of the binding.")
    .reply::<Map<String, Value>>()
        .reply_type("application/a2a+json")
    .errors(Class::Malformed, &["INVALID_PARAMS", "VERSION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION"])
    .errors(Class::NotFound, &["TASK_NOT_FOUND", "METHOD_NOT_FOUND"]);
    vec![
        rpc_doc.handled_by(rpc::call),
        read_doc.handled_by(rest::without_body),
        write_doc.handled_by(rest::write),
        delete_doc.handled_by(rest::without_body),
    ]
}

/// The gRPC binding, which has no such paths.
fn grpc_operation() -> Operation<A2a> {
    let grpc_doc = OperationDoc::new("a2a.grpc", Method::POST, grpc::PATH, "Ask an agent (A2A 1.0, gRPC)")
        .description(
            "The gRPC binding of Agent2Agent 1.0, over HTTP/2: the methods of the service `lf.a2a.v1.A2AService`. `tenant` names \
             the agent, `owner.name`; without it, it is the one that the operator has named. `a2a-version: 1.0` is required. \
             Failures are in `grpc-status`.",
        )
        .auth(Auth::Any)
        .no_tool(NO_TOOL)
        .without_key()
        .path_parameter::<String>("method", "A method of the service, such as `SendMessage`.")
        .request_type("application/grpc")
        .reply_type("application/grpc")
        .errors(Class::Unauthenticated, &["UNAUTHENTICATED"])
        .errors(Class::UnsupportedMedia, &["CONTENT_TYPE_NOT_SUPPORTED"])
        .error_body::<Map<String, Value>>()
        .answers_page();
    grpc_doc.handled_by(grpc::call)
}

async fn show_card(State(a2a): State<A2a>, Path(agent): Path<String>, parts: Parts) -> Response {
    a2a.show(&parts, &agent).await
}

async fn show_keys(State(a2a): State<A2a>) -> Response {
    match a2a.card_key().await {
        Ok(key) => rpc::json_response(&key.set()),
        Err(failure) => failure.rest_response(),
    }
}

async fn show_own(State(a2a): State<A2a>, parts: Parts) -> Response {
    match &a2a.0.settings.agent {
        Some(agent) => a2a.show(&parts, agent.as_str()).await,
        // Only callers with a token may learn whether the operator has configured an agent.
        None => match a2a.principal(&parts).await {
            Ok(_) => Failure::agent_not_found().rest_response(),
            Err(failure) => failure.rest_response(),
        },
    }
}

impl A2a {
    async fn show(&self, parts: &Parts, agent: &str) -> Response {
        self.card_response(parts, agent).await.unwrap_or_else(|failure| failure.rest_response())
    }

    /// Section 8.6: the card, or 304 if the client has it.
    async fn card_response(&self, parts: &Parts, agent: &str) -> Result<Response, Failure> {
        let is_public = !parts.headers.contains_key(header::AUTHORIZATION);
        let (rooms, seen) = if is_public {
            self.shown(parts, agent).await?
        } else {
            let access = self.access(parts, agent).await?;
            (access.rooms, access.seen)
        };
        let base_url = rooms.base_url();
        let card = card(&seen, &base_url, Extent::Public);
        // Every signature differs, so the tag covers the content only, and is weak.
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest(&canonical(&card, Nulls::Keep))));
        let mut response = if is_known(&parts.headers, &tag) {
            let mut known = Response::new(Body::empty());
            *known.status_mut() = StatusCode::NOT_MODIFIED;
            known
        } else {
            rpc::json_response(&self.signed(card, &base_url).await?)
        };
        let reach = if is_public { "public" } else { "private" };
        let headers = response.headers_mut();
        for (name, value) in [
            (header::ETAG, format!("W/{tag}")),
            (header::CACHE_CONTROL, format!("{reach}, max-age={CARD_SECONDS}")),
            (header::VARY, "authorization".to_owned()),
        ] {
            headers.insert(name, HeaderValue::try_from(value).map_err(|_| Failure::stopping())?);
        }
        Ok(response)
    }
}
