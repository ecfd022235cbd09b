//! The operations of the authorization server: parse, call the accounts, answer in OAuth's form.
//! Must not know: the rights of a token.

mod authorize;
mod exchange;
mod metadata;
mod register;
mod tokens;

use axum::{
    Json,
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use plenary_edge::{Auth, Operation, OperationDoc, read_bytes};
use plenary_issuers::Issuer;
use plenary_kernel::{Class, Refusal};
use plenary_room::fault_refusal;

use crate::{limits::FORM_BYTES_MAX, oauth::At, parameters::Parameters, wire};

/// The reason why they are not tools.
const FOR_CLIENTS: &str = "for clients that want a token, and for the person who is asked";
const HTML: &str = "text/html; charset=utf-8";
const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) fn all() -> Vec<Operation<At>> {
    let parts =
        [metadata::operations(), register::operations(), authorize::operations(), tokens::operations()];
    parts.into_iter().flatten().collect()
}

fn doc(id: &'static str, method: http::Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary)
        .auth(Auth::None)
        .no_tool(FOR_CLIENTS)
        .without_key()
        .error_body::<wire::Refusal<'static>>()
}

/// A refusal for a client, in the form of RFC 6749, 5.2.
struct OAuthError {
    status: StatusCode,
    error: &'static str,
    why: String,
}

impl OAuthError {
    fn new(error: &'static str, why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error, why: why.into() }
    }

    /// A temporary failure.
    fn unavailable(why: String) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, error: "temporarily_unavailable", why }
    }

    /// The refusal of a server whose access tokens come from this issuer.
    fn elsewhere(issuer: &Issuer) -> Self {
        let why = format!("The authorization server is {}; this server only exchanges tokens.", issuer.url());
        Self { status: StatusCode::NOT_FOUND, error: "invalid_request", why }
    }

    fn into_response(self) -> Response {
        let Self { status, error, why } = self;
        let body = wire::Refusal { error, error_description: &why };
        let mut answer = (status, Json(body)).into_response();
        let head = answer.headers_mut();
        head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            head.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // A 401 names a scheme (RFC 9110, 11.6.1).
        if status == StatusCode::UNAUTHORIZED {
            head.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

impl From<Refusal> for OAuthError {
    fn from(refused: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refused.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let error = if refused.class == Class::Unavailable {
            "temporarily_unavailable"
        } else if status.is_server_error() {
            "server_error"
        } else {
            "invalid_request"
        };
        Self { status, error, why: refused.message.into_owned() }
    }
}

impl From<plenary_log::Fault> for OAuthError {
    fn from(fault: plenary_log::Fault) -> Self {
        fault_refusal(&fault).into()
    }
}

/// Reads a form.
async fn form(parts: &Parts, body: Body) -> Result<Parameters, OAuthError> {
    let read = read_bytes(parts, body, FORM_BYTES_MAX).await?;
    Parameters::read(&read)
        .ok_or_else(|| OAuthError::new("invalid_request", "A parameter stands there twice."))
}
