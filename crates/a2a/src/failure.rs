//! The specification's errors, in the forms of all bindings (sections 3.3.2, 9.5, 10.6, 11.6).
//! Must not know: the failed request.

use std::collections::HashMap;

use a2a::{error_code, error_reason};
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};
use plenary_kernel::{Class, Refusal};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::rooms::RoomRefusal;

/// The domain of the reasons in the specification.
const DOMAIN: &str = "a2a-protocol.org";
/// The reason for a token whose scope does not include the operation.
const INSUFFICIENT_SCOPE: &str = "INSUFFICIENT_SCOPE";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// An error of the specification, or one of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) status: StatusCode,
    reason: &'static str,
    pub(crate) message: String,
}

impl Failure {
    fn new(code: i32, status: StatusCode, message: impl Into<String>) -> Self {
        Self { code, status, reason: error_reason(code), message: message.into() }
    }

    pub(crate) fn task_not_found() -> Self {
        let text = "The agent has no such task.";
        Self::new(error_code::TASK_NOT_FOUND, StatusCode::NOT_FOUND, text)
    }

    /// The specification has no error of its own for this one (section 3.1.8).
    pub(crate) fn push_config_not_found() -> Self {
        let text = "The task has no such push notification configuration.";
        Self { message: text.to_owned(), ..Self::task_not_found() }
    }

    pub(crate) fn not_cancelable() -> Self {
        let text = "The task is over.";
        Self::new(error_code::TASK_NOT_CANCELABLE, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn too_many(text: impl Into<String>) -> Self {
        Self::new(error_code::INTERNAL_ERROR, StatusCode::TOO_MANY_REQUESTS, text)
    }

    pub(crate) fn unsupported(text: impl Into<String>) -> Self {
        Self::new(error_code::UNSUPPORTED_OPERATION, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn version(text: impl Into<String>) -> Self {
        Self::new(error_code::VERSION_NOT_SUPPORTED, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn params(text: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_PARAMS, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn content_type(text: impl Into<String>) -> Self {
        Self::new(error_code::CONTENT_TYPE_NOT_SUPPORTED, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::new(error_code::INVALID_REQUEST, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn parse(text: impl Into<String>) -> Self {
        Self::new(error_code::PARSE_ERROR, StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn method(text: impl Into<String>) -> Self {
        Self::new(error_code::METHOD_NOT_FOUND, StatusCode::NOT_FOUND, text)
    }

    /// The denial: foreign, unreachable and absent agents look the same.
    pub(crate) fn agent_not_found() -> Self {
        let failure =
            Self::new(error_code::INVALID_REQUEST, StatusCode::NOT_FOUND, "There is no such agent.");
        Self { reason: "AGENT_NOT_FOUND", ..failure }
    }

    /// A body that could not be read.
    pub(crate) fn body(refusal: Refusal) -> Self {
        if refusal.class == Class::Malformed { Self::parse(refusal.message) } else { refusal.into() }
    }

    pub(crate) fn no_token() -> Self {
        let text = "Send a token: `Authorization: Bearer`.";
        let failure = Self::new(error_code::INVALID_REQUEST, StatusCode::UNAUTHORIZED, text);
        Self { reason: "UNAUTHENTICATED", ..failure }
    }

    pub(crate) fn stopping() -> Self {
        let text = "The server stops; try again later.";
        Self::new(error_code::INTERNAL_ERROR, StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// A request to the gRPC binding that is not gRPC.
    pub(crate) fn not_grpc() -> Self {
        let text = "This path speaks gRPC: HTTP/2 and `content-type: application/grpc`.";
        Self::new(error_code::CONTENT_TYPE_NOT_SUPPORTED, StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
    }

    /// A live stream that was interrupted.
    pub(crate) fn broken_off() -> Self {
        let text = "The task could not be followed any further; read it again, or subscribe to it.";
        Self::new(error_code::INTERNAL_ERROR, StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// Whether the scope of the token does not include the operation.
    pub(crate) fn is_of_scope(&self) -> bool {
        self.reason == INSUFFICIENT_SCOPE
    }

    /// Whether JSON-RPC reports it with the HTTP status too, because it is not about the call itself.
    fn is_of_http(&self) -> bool {
        !matches!(
            self.status,
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR
        ) || self.reason == "AGENT_NOT_FOUND"
    }

    fn details(&self) -> Value {
        json!([{"@type": ERROR_INFO, "reason": self.reason, "domain": DOMAIN}])
    }

    /// The error object of JSON-RPC.
    pub(crate) fn rpc(&self) -> Value {
        json!({"code": self.code, "message": self.message, "data": self.details()})
    }

    /// The complete JSON-RPC response body.
    pub(crate) fn rpc_body(&self, id: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "error": self.rpc()})
    }

    /// The response of the JSON-RPC binding.
    pub(crate) fn rpc_response(&self, id: &Value) -> Response {
        let status = if self.is_of_http() { self.status } else { StatusCode::OK };
        self.response(status, &self.rpc_body(id))
    }

    /// The body of the HTTP+JSON binding (AIP-193).
    pub(crate) fn rest_body(&self) -> Value {
        let code = self.status.as_u16();
        let error = json!({
            "code": code, "status": self.grpc_code().0, "message": self.message, "details": self.details(),
        });
        json!({"error": error})
    }

    /// The status of the gRPC binding, with the ErrorInfo.
    pub(crate) fn grpc(&self) -> Status {
        let info = ErrorDetails::with_error_info(self.reason, DOMAIN, HashMap::new());
        let is_unknown = self.code == error_code::METHOD_NOT_FOUND;
        let code = if is_unknown { Code::Unimplemented } else { self.grpc_code().1 };
        Status::with_error_details(code, &self.message, info)
    }

    /// The gRPC name and code of the failure.
    const fn grpc_code(&self) -> (&'static str, Code) {
        match (self.status.as_u16(), self.code) {
            (
                _,
                error_code::INVALID_PARAMS | error_code::PARSE_ERROR | error_code::CONTENT_TYPE_NOT_SUPPORTED,
            )
            | (400, error_code::INVALID_REQUEST) => ("INVALID_ARGUMENT", Code::InvalidArgument),
            (400, _) => ("FAILED_PRECONDITION", Code::FailedPrecondition),
            (401, _) => ("UNAUTHENTICATED", Code::Unauthenticated),
            (403, _) => ("PERMISSION_DENIED", Code::PermissionDenied),
            (404, _) => ("NOT_FOUND", Code::NotFound),
            (413 | 429 | 507, _) => ("RESOURCE_EXHAUSTED", Code::ResourceExhausted),
            (503, _) => ("UNAVAILABLE", Code::Unavailable),
            _ => ("INTERNAL", Code::Internal),
        }
    }

    /// The response of the HTTP+JSON binding.
    pub(crate) fn rest_response(&self) -> Response {
        self.response(self.status, &self.rest_body())
    }

    fn response(&self, status: StatusCode, body: &Value) -> Response {
        let mut response = Response::new(body.to_string().into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(challenge(self.status, self.is_of_scope()));
        response
    }
}

/// The `WWW-Authenticate` header that tells the client which token it needs (RFC 6750, 3.1).
pub(crate) fn challenge(status: StatusCode, is_of_scope: bool) -> Option<(HeaderName, HeaderValue)> {
    let challenge = match status {
        StatusCode::UNAUTHORIZED => "Bearer",
        StatusCode::FORBIDDEN if is_of_scope => "Bearer error=\"insufficient_scope\"",
        _ => return None,
    };
    Some((header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refusal.class.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        RoomRefusal { status, code: refusal.code.to_owned(), message: refusal.message.into_owned() }.into()
    }
}

impl From<RoomRefusal> for Failure {
    fn from(no: RoomRefusal) -> Self {
        let RoomRefusal { status, code, message } = no;
        match (status.as_u16(), &*code) {
            (401, _) => {
                Self { reason: "UNAUTHENTICATED", ..Self::new(error_code::INVALID_REQUEST, status, message) }
            }
            (403, "insufficient_scope") => {
                Self { reason: INSUFFICIENT_SCOPE, ..Self::new(error_code::INVALID_REQUEST, status, message) }
            }
            (403, _) => Self {
                reason: "PERMISSION_DENIED",
                ..Self::new(error_code::INVALID_REQUEST, status, message)
            },
            (404, "run_not_found" | "thread_not_found") => Self::task_not_found(),
            (404, _) => Self::agent_not_found(),
            (409, "agent_stopped" | "run_not_active" | "thread_full" | "session_ended" | "not_joined") => {
                Self::unsupported(message)
            }
            (400 | 405 | 409 | 415 | 422, _) => Self::params(message),
            (413, _) => Self::new(error_code::INVALID_PARAMS, status, message),
            (429 | 503 | 507, _) => Self::new(error_code::INTERNAL_ERROR, status, message),
            _ => Self::new(error_code::INTERNAL_ERROR, StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_is_told_in_each_binding() {
        let code = "storage_full".to_owned();
        let refusal = RoomRefusal {
            status: StatusCode::INSUFFICIENT_STORAGE,
            code,
            message: "The store is full.".into(),
        };
        let failure = Failure::from(refusal);
        assert_eq!(failure.rest_body()["error"]["status"], "RESOURCE_EXHAUSTED");
        assert_eq!(failure.rest_response().status(), 507);
        assert_eq!(failure.rpc_response(&json!(1)).status(), 507);
        assert_eq!(failure.grpc().code(), Code::ResourceExhausted);
    }
}
