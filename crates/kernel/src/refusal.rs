//! The common form of a refusal, before a protocol writes its own body (wire.md D.3).
//! Must not know: any protocol's JSON; each room serialises it.

use std::borrow::Cow;

/// The class of a refusal; each has one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 400: the request is malformed.
    Malformed,
    /// 401: the token is missing or unknown.
    Unauthenticated,
    /// 403: the caller is known but may not do this.
    Forbidden,
    /// 404: absent, or denied to the caller; the response does not distinguish the two.
    NotFound,
    /// 405: the path exists, but not with this method.
    MethodNotAllowed,
    /// 408: the request arrived too slowly.
    Timeout,
    /// 409: the current state does not allow it.
    Conflict,
    /// 413: the body is larger than the limit.
    TooLarge,
    /// 415: an unsupported media type.
    UnsupportedMedia,
    /// 422: valid JSON of the wrong shape.
    Unprocessable,
    /// 429: too many requests; retry later.
    TooMany,
    /// 431: the header section exceeds its limit.
    HeadersTooLarge,
    /// 500: a bug of the server.
    Internal,
    /// 501: well formed, but not implemented.
    NotImplemented,
    /// 503: the store is unavailable, or the outcome is unknown; retry with the same key.
    Unavailable,
    /// 507: the disk is full.
    StorageFull,
}

impl Class {
    /// The HTTP status of the class.
    pub const fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::Unprocessable => 422,
            Self::TooMany => 429,
            Self::HeadersTooLarge => 431,
            Self::Internal => 500,
            Self::NotImplemented => 501,
            Self::Unavailable => 503,
            Self::StorageFull => 507,
        }
    }
}

/// A refusal with a stable code and a text for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refusal {
    /// The class, which determines the status.
    pub class: Class,
    /// A stable code for machines.
    pub code: &'static str,
    /// A text for people: what happened and what to do next. A 404 never names a handle or an id.
    pub message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal of this class.
    pub fn new(class: Class, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { class, code, message: message.into() }
    }

    /// The one 404 (ASP-18, ASP-19): the same for every reason.
    pub const fn not_found() -> Self {
        Self { class: Class::NotFound, code: "not_found", message: Cow::Borrowed("Not found.") }
    }

    /// A malformed request.
    pub fn malformed(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Malformed, code, message)
    }

    /// A conflict with the present state.
    pub fn conflict(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Class::Conflict, code, message)
    }
}
