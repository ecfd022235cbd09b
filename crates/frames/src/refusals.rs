//! One exhaustive mapping from rejections to errors on the wire: `{code, field?, message}` (wire.md D.3, 1.3).
//! Must not know: the request.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use plenary_edge::refused;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;
use plenary_room::fault_refusal;

use crate::{
    malformed::{Code, FrameFault},
    rejection::Rejection,
    wire::FrameError,
};

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameRefusal {
    class: Class,
    code: &'static str,
    field: Option<String>,
    message: Cow<'static, str>,
    retry_after_s: Option<u64>,
}

impl FrameRefusal {
    fn new(class: Class, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { class, code, field: None, message: message.into(), retry_after_s: None }
    }
}

impl IntoResponse for FrameRefusal {
    fn into_response(self) -> Response {
        let Self { class, code, field, message, retry_after_s } = self;
        let body = FrameError { code, field: field.as_deref(), message: &message };
        let Ok(json) = serde_json::to_vec(&body) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let mut response = refused(class, json);
        if let Some(seconds) = retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<FrameFault> for FrameRefusal {
    fn from(malformed: FrameFault) -> Self {
        let FrameFault { code, field, message } = malformed;
        let class = match code {
            Code::TooLarge => Class::TooLarge,
            Code::EnvelopeVersionUnsupported
            | Code::KindUnknown
            | Code::PayloadKindMismatch
            | Code::FieldMissing
            | Code::FieldInvalid
            | Code::FieldUnknown
            | Code::FilterAxisUnknown
            | Code::FilterValueInvalid => Class::Malformed,
        };
        Self { field, ..Self::new(class, code.as_str(), message) }
    }
}

impl From<Rejection> for FrameRefusal {
    fn from(rejection: Rejection) -> Self {
        let unauthorised = |text| Self::new(Class::Forbidden, "scope-unauthorised", text);
        let too_many = |text, seconds| Self {
            retry_after_s: Some(seconds),
            ..Self::new(Class::TooMany, "rate-limited", text)
        };
        match rejection {
            Rejection::SenderIdentityMismatch { field } => {
                let message = format!("`{field}` must be the owner of the agent whose token is sent.");
                Self {
                    field: Some(field),
                    ..Self::new(Class::Forbidden, "sender-identity-mismatch", message)
                }
            }
            Rejection::ScopeUnauthorised => {
                unauthorised("This token may not address or read anything in this scope.")
            }
            Rejection::ScopeTooBroad => {
                unauthorised("The scope includes more sessions than one frame may reach; narrow it.")
            }
            Rejection::ScopeUnimplemented => Self::new(
                Class::NotImplemented,
                "scope-unimplemented",
                "Accord scopes are not implemented; the frame was not delivered.",
            ),
            Rejection::PeerUnreachable => Self {
                retry_after_s: Some(1),
                ..Self::new(
                    Class::Unavailable,
                    "unavailable",
                    "The network of the peer did not take the frame; it was not delivered.",
                )
            },
            Rejection::RateLimited { retry_after } => {
                let seconds = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                too_many("Too many frames; retry later.", seconds.max(1))
            }
            Rejection::TooManyStreams => too_many("Too many streams are open; close one and retry.", 1),
            Rejection::ShuttingDown => Self {
                retry_after_s: Some(1),
                ..Self::new(Class::Unavailable, "unavailable", "The server is restarting; connect again.")
            },
        }
    }
}

/// Refusals that all rooms share: credentials, bodies, faults.
impl From<Refusal> for FrameRefusal {
    fn from(refusal: Refusal) -> Self {
        let Refusal { class, code, message } = refusal;
        match class {
            Class::Unauthenticated => Self::new(class, "unauthenticated", message),
            Class::Malformed | Class::TooLarge => Self::new(class, "field-invalid", message),
            Class::TooMany | Class::Unavailable => {
                Self { retry_after_s: Some(1), ..Self::new(class, code, message) }
            }
            Class::Forbidden
            | Class::NotFound
            | Class::MethodNotAllowed
            | Class::Timeout
            | Class::Conflict
            | Class::UnsupportedMedia
            | Class::Unprocessable
            | Class::HeadersTooLarge
            | Class::Internal
            | Class::NotImplemented
            | Class::StorageFull => Self::new(class, code, message),
        }
    }
}

impl From<Fault> for FrameRefusal {
    fn from(fault: Fault) -> Self {
        fault_refusal(&fault).into()
    }
}
