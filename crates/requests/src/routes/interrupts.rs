//! The types of common agent inboxes: an interrupt with its allowed answers, and a response to it.
//! Must not know: members that requests do not have.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_accounts::{Caller, Decider, TokenOwner};
use plenary_edge::{Auth, JsonBody, Operation};
use plenary_kernel::{AskId, Class, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{OnePath, PEOPLE, People, current_view, doc, lists, of_people, refusal_for, request_id};
use crate::{
    Requests,
    command::{AnswerRequest, AnsweredBy},
    refusals::RequestRefusal,
    request,
    wire::{Action, AnswerType, RequestView},
};

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let list_doc = doc(
        "request.interrupts",
        Method::GET,
        "/requests/interrupts",
        "List requests in the form of interrupts",
    )
    .needs_token(Auth::Owner)
    .no_tool(PEOPLE)
    .description("Open requests as `HumanInterrupt` of agent inboxes, each with its `id`.")
    .query::<lists::ListQuery>()
    .reply::<Interrupts>()
    .answers_page()
    .errors(
        Class::Malformed,
        &["invalid_query", "invalid_state", "invalid_kind", "invalid_agent", "invalid_owner"],
    )
    .errors(Class::Malformed, &["invalid_to", "invalid_limit", "invalid_cursor"])
    .errors(Class::NotFound, &["not_found"]);
    let respond_doc = doc(
        "request.interrupt_response",
        Method::POST,
        "/requests/interrupts/{id}",
        "Answer a request in the form of a response to an interrupt",
    )
    .needs_token(Auth::Owner)
    .no_tool(PEOPLE)
    .description("A `HumanResponse` of agent inboxes. It has no version: the first answer counts.")
    .path_parameter::<AskId>("id", "The request.")
    .request::<HumanResponse>()
    .reply::<RequestView>()
    .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_answer"])
    .errors(Class::NotFound, &["not_found"])
    .errors(Class::TooLarge, &["answer_too_large"])
    .errors(Class::Conflict, &["already_answered", "request_withdrawn", "request_expired"])
    .errors(Class::Conflict, &["answer_not_allowed"]);
    vec![list_doc.handled_by(list), respond_doc.handled_by(respond)]
}

/// An action that an agent wants to take.
#[derive(Debug, Serialize, JsonSchema)]
struct ActionRequest {
    /// The tool; if there is none, the kind of the request.
    action: String,
    /// Its arguments.
    args: Map<String, Value>,
}

/// The allowed responses.
#[derive(Debug, Serialize, JsonSchema)]
struct InterruptConfig {
    /// `ignore`.
    allow_ignore: bool,
    /// `response`.
    allow_respond: bool,
    /// `edit`.
    allow_edit: bool,
    /// `accept`.
    allow_accept: bool,
}

/// An open request.
#[derive(Debug, Serialize, JsonSchema)]
struct HumanInterrupt {
    /// The request's id.
    id: AskId,
    /// The action in question.
    action_request: ActionRequest,
    /// The types of response that it allows.
    config: InterruptConfig,
    /// The details to read.
    description: String,
}

/// The open requests.
#[derive(Debug, Serialize, JsonSchema)]
struct Interrupts {
    /// Oldest first.
    interrupts: Vec<HumanInterrupt>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The type of the response.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ResponseType {
    Accept,
    Ignore,
    Response,
    Edit,
}

/// A response to an interrupt.
#[derive(Debug, Deserialize, JsonSchema)]
struct HumanResponse {
    /// accept, ignore, response or edit.
    #[serde(rename = "type")]
    response: ResponseType,
    /// With `response` a text; with `edit` an action with its `args`; otherwise null.
    #[serde(default)]
    args: Value,
}

impl From<RequestView> for HumanInterrupt {
    fn from(view: RequestView) -> Self {
        let kind = view.kind;
        let fields = view.form.as_ref().and_then(|form| form.read().ok());
        let fields = fields.map(|form| form.describe()).unwrap_or_default();
        let action = view.action.unwrap_or_else(|| Action { name: kind.to_string(), args: fields });
        let detail = view.detail.unwrap_or_default();
        let parts = [Some(view.title), detail.text, detail.command, detail.document, detail.diff];
        Self {
            id: view.request_id,
            action_request: ActionRequest { action: action.name, args: action.args },
            config: InterruptConfig {
                allow_ignore: view.allow.ignore,
                allow_respond: view.allow.respond,
                allow_edit: view.allow.edit,
                allow_accept: view.allow.accept,
            },
            description: parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"),
        }
    }
}

async fn list(
    State(requests): State<Requests>,
    Caller(principal): Caller,
    query: Result<Query<lists::ListQuery>, QueryRejection>,
) -> Result<Json<Interrupts>, RequestRefusal> {
    if matches!(principal.who, TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let page = requests.page(&principal.who, &lists::parse_query(&query)?).await?;
    let interrupts = page.requests.into_iter().map(HumanInterrupt::from).collect();
    Ok(Json(Interrupts { interrupts, next_cursor: page.next_cursor }))
}

async fn respond(
    State(requests): State<Requests>,
    People(Decider { principal, person }): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<RequestView>, RequestRefusal> {
    let body = body?;
    let id = request_id(path)?;
    let reading = of_people(&requests, &principal, &id).await?;
    let response: HumanResponse = body.parse()?;
    let answer = match response.response {
        ResponseType::Accept => request::answer(AnswerType::Accept, None, None),
        ResponseType::Ignore => request::answer(AnswerType::Ignore, None, None),
        ResponseType::Response => request::answer(AnswerType::Respond, None, response.args.as_str()),
        ResponseType::Edit => {
            let args = response.args.get("args").and_then(Value::as_object);
            request::check_form(&reading.view, AnswerType::Edit, args)?;
            request::answer(AnswerType::Edit, args, None)
        }
    }?;
    let by = AnsweredBy::Person(principal.clone().into(), person);
    let command = AnswerRequest { by, answer, version: None, undo_ms: 0, rule: None };
    match requests.answer(&id, command).await {
        Ok(()) => Ok(Json(current_view(&requests, &principal, &id).await?)),
        Err(error) => Err(refusal_for(&requests, &principal.who, &id, error).await),
    }
}
