//! The common form of a refusal, before a protocol gives it its own body (wire.md D.3).
//! Must not know: any protocol's JSON; each room serialises it.

use std::borrow::Cow;

/// What kind of "no" it is; each class has one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// 400: the request is malformed.
    Malformed,
    /// 401: no token, or an unknown one.
    Unauthenticated,
    /// 403: known, and not allowed to configure this.
    Forbidden,
    /// 404: absent, or not for the caller; the two are never told apart.
    NotFound,
    /// 405: the path exists, the method does not.
    MethodNotAllowed,
    /// 408: the request came too slowly.
    Timeout,
    /// 409: the state of the thing does not allow it.
    Conflict,
    /// 413: larger than the limit.
    TooLarge,
    /// 415: a media type that is not spoken here.
    UnsupportedMedia,
    /// 422: JSON as it should be, and not of the shape that is asked for.
    Unprocessable,
    /// 429: too often; retry later.
    TooMany,
    /// 431: the header section is over its limit.
    HeadersTooLarge,
    /// 500: a bug on our side.
    Internal,
    /// 501: well formed, and not done here.
    NotImplemented,
    /// 503: the store is unavailable, or the outcome is unknown; retry with the same key.
    Unavailable,
    /// 507: the disk is full.
    StorageFull,
}

impl Class {
    /// The HTTP status of the class.
    #[must_use]
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
    /// What kind of "no".
    pub class: Class,
    /// Stable, for machines.
    pub code: &'static str,
    /// What happened and what to do next, for people. Never a handle or id in a 404.
    pub message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal of this class.
    pub fn new(class: Class, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { class, code, message: message.into() }
    }

    /// The one 404 (ASP-18, ASP-19): the same whatever the reason.
    #[must_use]
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
