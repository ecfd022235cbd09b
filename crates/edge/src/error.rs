//! The common form of refusals: for requests before a room is known, and for rooms without their own form.
//! Must not know: the refused request.

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::SharedAnswer;

/// The form of a refusal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody<'a> {
    /// The error.
    pub error: ErrorDetail<'a>,
}

/// A refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorDetail<'a> {
    /// Stable, for machines.
    pub code: &'a str,
    /// A text for people: what happened, and what to do.
    pub message: &'a str,
}

/// A response with the status and headers of a class of refusal, and a JSON body of any form.
pub fn refused(class: Class, json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() =
        StatusCode::from_u16(class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if class == Class::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A success with a document that all requests share; its body counts towards no budget.
pub fn shared_answer(content_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.extensions_mut().insert(SharedAnswer);
    response
}

/// The answer to a request whose handler panicked; the panic hook has logged the panic.
pub(crate) fn bug_response() -> Response {
    tracing::error!("a handler panicked; the request was answered with 500");
    let message = "The server failed to answer this request; please report it.";
    refusal_response(&Refusal::new(Class::Internal, "internal", message))
}

/// The refusal in the common form.
pub fn refusal_response(refusal: &Refusal) -> Response {
    let body = ErrorBody { error: ErrorDetail { code: refusal.code, message: &refusal.message } };
    match serde_json::to_vec(&body) {
        Ok(json) => refused(refusal.class, json),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
