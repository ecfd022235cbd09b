//! One-tap links: a page with one form, without script, for everyone with the link.
//! Must not know: where a link is sent.

use axum::{
    Json,
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use http::{HeaderValue, Method, StatusCode, header};
use plenary_accounts::{Authority, Decider};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc, read_bytes};
use plenary_engine::ExecuteError;
use plenary_kernel::{AskId, Class, TimestampMs};
use schemars::JsonSchema;

use super::{OnePath, PEOPLE, People, doc, of_people, refusal_for, request_id};
use crate::{
    ANSWER_BYTES_MAX, Requests, TAP_MS_MAX,
    command::{HandleRequest, Handling, NewLink},
    decide::Rejection,
    refusals::RequestRefusal,
    tap::{Page, Secret, answer_of_form, page},
    wire::{Phase, TapLink},
};

/// The largest form: form encoding uses at most three bytes for a byte of an answer.
const FORM_BYTES_MAX: usize = 3 * ANSWER_BYTES_MAX;
/// The page contains its style, and nothing else is loaded. No sandbox: from a sandboxed page, a browser sends a form
/// with an `Origin` of `null`, which matches no page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// Keeps the secret in the URL from other sites. With `no-referrer` the form's `Origin` would be `null`, too.
const REFERRERS: &str = "same-origin";

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let link_doc = doc("request.link", Method::POST, "/requests/{id}/link", "Create a one-tap link")
        .needs_token(Auth::Owner)
        .no_tool(PEOPLE)
        .description(
            "The link answers the request without a token, once, within seven days. It is shown once, and ends with the \
             token and the person that made it.",
        )
        .path_parameter::<AskId>("id", "The request.")
        .success(StatusCode::CREATED)
        .reply::<TapLink>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::Conflict, &["already_answered", "request_withdrawn", "request_expired"])
        .errors(Class::Conflict, &["too_many_changes"]);
    let page_doc =
        OperationDoc::new("request.tap", Method::GET, "/tap/{secret}", "Show the page of a one-tap link")
            .auth(Auth::None)
            .no_tool(PEOPLE)
            .description("Reading the page does not answer the request, so link previews are safe.")
            .path_parameter::<String>("secret", "The last part of the link.")
            .reply_type("text/html; charset=utf-8")
            .or_status(StatusCode::NOT_FOUND);
    let tap_doc = OperationDoc::new(
        "request.tapped",
        Method::POST,
        "/tap/{secret}",
        "Answer through a one-tap link",
    )
    .auth(Auth::None)
    .no_tool(PEOPLE)
    .without_key()
    .description(
        "The form of the page: `answer` is accept, ignore, respond or edit; `text` belongs to respond, and \
                 `arg.NAME` to edit: a value of the form, or an argument of the action, as text or JSON.",
    )
    .path_parameter::<String>("secret", "The last part of the link.")
    .request::<TapForm>()
    .request_type("application/x-www-form-urlencoded")
    .reply_type("text/html; charset=utf-8")
    .or_status(StatusCode::NOT_FOUND)
    .or_status(StatusCode::CONFLICT)
    .or_status(StatusCode::BAD_REQUEST);
    vec![link_doc.handled_by(link), page_doc.handled_by(show_page), tap_doc.handled_by(tap)]
}

/// The form of the page of a one-tap link.
#[derive(JsonSchema)]
#[schemars(extend("additionalProperties" = {"type": "string"}))]
#[expect(dead_code, reason = "described; `answer_of_form` reads it")]
struct TapForm {
    /// accept, ignore, respond or edit.
    answer: String,
    /// The text of a response.
    text: Option<String>,
}

async fn link(
    State(requests): State<Requests>,
    People(Decider { principal, person }): People,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<TapLink>), RequestRefusal> {
    body?;
    let id = request_id(path)?;
    of_people(&requests, &principal, &id).await?;
    let secret = Secret::random();
    let until = TimestampMs(requests.now().0.saturating_add(TAP_MS_MAX));
    let authority: Authority = principal.clone().into();
    let through = requests.accounts().acts_through(&authority).await?;
    let link = NewLink { digest: secret.digest(), until, through, person, receiver: None };
    let command = HandleRequest { authority, handling: Handling::Link(link) };
    match requests.handle(&id, command).await {
        Ok(stored_until) => {
            let expires_at = stored_until.unwrap_or(until).0;
            Ok((StatusCode::CREATED, Json(TapLink { url: requests.tap_url(&secret), expires_at })))
        }
        Err(error) => Err(refusal_for(&requests, &principal.who, &id, error).await),
    }
}

fn html(status: StatusCode, page: &Page<'_>) -> Response {
    let mut response = Response::new(Body::from(self::page(page)));
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, REFERRERS),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn show_page(
    State(requests): State<Requests>,
    Path(secret): Path<String>,
) -> Result<Response, RequestRefusal> {
    let Some(reading) = requests.request_of_link(&secret).await? else {
        return Ok(html(StatusCode::NOT_FOUND, &Page::Unknown));
    };
    Ok(html(StatusCode::OK, &Page::Request(&reading.view)))
}

async fn tap(
    State(requests): State<Requests>,
    Path(secret): Path<String>,
    request: Request,
) -> Result<Response, RequestRefusal> {
    let Some(reading) = requests.request_of_link(&secret).await? else {
        return Ok(html(StatusCode::NOT_FOUND, &Page::Unknown));
    };
    let (parts, body) = request.into_parts();
    let bytes = read_bytes(&parts, body, FORM_BYTES_MAX).await?;
    let answer = match answer_of_form(&reading.view, &bytes) {
        Ok(answer) => answer,
        Err(refusal) => return Ok(html(StatusCode::BAD_REQUEST, &Page::InvalidAnswer(&refusal.message))),
    };
    let id = reading.view.request_id;
    let status = match requests.answer_by_link(&id, answer).await {
        Ok(()) => StatusCode::OK,
        Err(ExecuteError::Rejected(Rejection::NoSuchRequest)) => StatusCode::NOT_FOUND,
        Err(ExecuteError::Rejected(_)) => StatusCode::CONFLICT,
        Err(error) => return Err(error.into()),
    };
    let Some(reading) = requests.read(&id).await? else {
        return Ok(html(StatusCode::NOT_FOUND, &Page::Unknown));
    };
    // The request still waits: the page alone would not show that nothing was answered.
    if status == StatusCode::CONFLICT && matches!(reading.view.state, Phase::Open | Phase::Snoozed) {
        let reason = "This request does not take that answer.";
        return Ok(html(status, &Page::InvalidAnswer(reason)));
    }
    Ok(html(status, &Page::Request(&reading.view)))
}
