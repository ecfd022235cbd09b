//! One exhaustive mapping from what went wrong to what the peer is told: `{"error":{code, message, field?, capability?}}`
//! (wire.md D.3, 0.1).
//! Must not know: which request is answered.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use plenary_edge::refused;
use plenary_engine::quota_refusal;
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_log::Fault;
use plenary_room::fault_refusal;

use crate::{
    Failure,
    malformed::Malformed,
    rejection::{BlobRejection, Rejection},
    wire::{ContextError, ContextErrorDetail},
};

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    class: Class,
    code: &'static str,
    message: Cow<'static, str>,
    field: Option<String>,
    capability: Option<&'static str>,
}

impl Refused {
    fn new(class: Class, code: impl Into<&'static str>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { class, code: code.into(), message: message.into(), field: None, capability: None }
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The text for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { class, code, message, field, capability } = self;
        let body = ContextError {
            error: ContextErrorDetail {
                code,
                message: &message,
                field: field.as_deref(),
                capability,
                kind: capability.map(|_| ErrorCode::NotImplemented.as_str()),
            },
        };
        let Ok(json) = serde_json::to_vec(&body) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let mut response = refused(class, json);
        if matches!(class, Class::TooMany | Class::Unavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        let Malformed { code, field, message } = malformed;
        Self { field, ..Self::new(Class::Malformed, code.as_str(), message) }
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        let at = |field: &str, refused: Self| Self { field: Some(field.to_owned()), ..refused };
        let lacks = |capability, refused: Self| Self { capability: Some(capability), ..refused };
        match rejection {
            Rejection::Malformed(malformed) => malformed.into(),
            Rejection::InvalidTransition { from, to } => {
                let text = format!("A package does not go from {} to {}.", from.as_str(), to.as_str());
                Self::new(Class::Malformed, ErrorCode::InvalidTransition, text)
            }
            Rejection::InvalidValidFrom(expected) => {
                let text = format!("`valid_from` must be {expected}.");
                at("valid_from", Self::new(Class::Malformed, ErrorCode::InvalidValidFrom, text))
            }
            Rejection::NotThatActor(field) => {
                let text = format!("`{field}` must be an id of the agent or owner whose token is sent.");
                at(field, Self::new(Class::Forbidden, ErrorCode::Unauthorized, text))
            }
            Rejection::Blob(BlobRejection::TooLarge(octets_max)) => {
                let text = format!("The body is over {octets_max} bytes.");
                Self::new(Class::TooLarge, ErrorCode::BodyTooLarge, text)
            }
            Rejection::Blob(rejection) => {
                let (class, code, text) = of_blob(rejection);
                Self::new(class, code, text)
            }
            Rejection::OverQuota { code, rule, most } => {
                let text = format!(
                    "The owner has as many under way as it may have ({rule}, {most}); try again when one has ended."
                );
                Self::new(Class::TooMany, code, text)
            }
            Rejection::NotImplemented(capability) => {
                let text = format!("This server has no {capability}.");
                lacks(capability, Self::new(Class::NotImplemented, ErrorCode::NotImplemented, text))
            }
            Rejection::Revoked
            | Rejection::ProjectNotFound
            | Rejection::PackageNotFound
            | Rejection::SessionNotFound
            | Rejection::AmbiguousPackageId
            | Rejection::AmbiguousProjectId
            | Rejection::NotPermitted
            | Rejection::ProjectArchived
            | Rejection::ProjectExists
            | Rejection::ProjectFull
            | Rejection::DuplicatePackageId
            | Rejection::DuplicateFactId
            | Rejection::TooManySteps
            | Rejection::SessionEnded
            | Rejection::TooManyStreams
            | Rejection::Stopping
            | Rejection::Busy
            | Rejection::KeyReused
            | Rejection::SessionExists
            | Rejection::TooManyProjects
            | Rejection::TooManyRenames
            | Rejection::Damaged => {
                let (class, code, text) = plain(&rejection);
                Self::new(class, code, text)
            }
        }
    }
}

/// What is said of a refusal that needs no more words than its own.
fn plain(rejection: &Rejection) -> (Class, ErrorCode, &'static str) {
    match rejection {
        Rejection::Revoked => {
            (Class::Unauthenticated, ErrorCode::InvalidAuthorization, "The token was revoked.")
        }
        Rejection::ProjectNotFound => {
            (Class::NotFound, ErrorCode::ProjectNotFound, "There is no such project.")
        }
        Rejection::PackageNotFound => {
            (Class::NotFound, ErrorCode::PackageNotFound, "There is no such package.")
        }
        Rejection::SessionNotFound => {
            (Class::NotFound, ErrorCode::SessionNotFound, "There is no such session.")
        }
        Rejection::NotPermitted => {
            (Class::Forbidden, ErrorCode::Unauthorized, "The token may not do this in the project.")
        }
        Rejection::ProjectArchived => (
            Class::Forbidden,
            ErrorCode::ProjectArchived,
            "The project is archived and takes no writes until it is unarchived.",
        ),
        Rejection::TooManyStreams => (
            Class::TooMany,
            ErrorCode::TooManyStreams,
            "The token has as many live streams as it may have; close one first.",
        ),
        Rejection::Busy => {
            (Class::Unavailable, ErrorCode::Overloaded, "Too much is under way; nothing was done. Retry.")
        }
        Rejection::Stopping => {
            (Class::Unavailable, ErrorCode::Stopping, "The server is going down; connect again in a moment.")
        }
        Rejection::Damaged => (
            Class::Internal,
            ErrorCode::ContentDamaged,
            "The stored package is not what was deposited; it is quarantined.",
        ),
        Rejection::AmbiguousPackageId
        | Rejection::AmbiguousProjectId
        | Rejection::ProjectExists
        | Rejection::ProjectFull
        | Rejection::DuplicatePackageId
        | Rejection::DuplicateFactId
        | Rejection::TooManySteps
        | Rejection::SessionEnded
        | Rejection::SessionExists
        | Rejection::KeyReused
        | Rejection::TooManyProjects
        | Rejection::TooManyRenames => {
            let (code, text) = conflict(rejection);
            (Class::Conflict, code, text)
        }
        Rejection::Malformed(_)
        | Rejection::NotThatActor(_)
        | Rejection::InvalidTransition { .. }
        | Rejection::InvalidValidFrom(_)
        | Rejection::Blob(_)
        | Rejection::OverQuota { .. }
        | Rejection::NotImplemented(_) => {
            (Class::Internal, ErrorCode::Internal, "The server can't answer this.")
        }
    }
}

/// Code and text of a conflict with what is there.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing but conflicts comes here")]
fn conflict(rejection: &Rejection) -> (ErrorCode, &'static str) {
    match rejection {
        Rejection::AmbiguousPackageId => {
            (ErrorCode::AmbiguousPackageId, "Several projects have a package of this id; add ?project=.")
        }
        Rejection::AmbiguousProjectId => (
            ErrorCode::AmbiguousProjectId,
            "Several projects have this id; name the one that is meant as OWNER:ID, as in the list of projects.",
        ),
        Rejection::ProjectExists => (ErrorCode::ProjectExists, "The project id is taken; use another."),
        Rejection::ProjectFull => (ErrorCode::ProjectFull, "The project has as many members as it may have."),
        Rejection::DuplicatePackageId => (
            ErrorCode::DuplicatePackageId,
            "The package id is taken by other content; deposit a new package with parent_package_id.",
        ),
        Rejection::DuplicateFactId => (
            ErrorCode::DuplicateFactId,
            "The fact id is taken by another fact of the project; give this one an id of its own.",
        ),
        Rejection::TooManySteps => (
            ErrorCode::TooManySteps,
            "The package has gone as many steps as it may; it can only be completed.",
        ),
        Rejection::SessionEnded => (ErrorCode::SessionEnded, "The session has ended already."),
        Rejection::SessionExists => (ErrorCode::SessionExists, "The session id is taken."),
        Rejection::KeyReused => (
            ErrorCode::IdempotencyKeyReused,
            "This Idempotency-Key was used by another request; use a new one.",
        ),
        Rejection::TooManyProjects => (
            ErrorCode::TooManyProjects,
            "There are more projects than one export takes; export them one by one.",
        ),
        _ => (
            ErrorCode::TooManyRenames,
            "The import has renamed as many packages as one may; import the rest by itself.",
        ),
    }
}

/// What is said of a refusal about the content of a deliverable.
fn of_blob(rejection: BlobRejection) -> (Class, ErrorCode, &'static str) {
    match rejection {
        BlobRejection::NotFound => {
            (Class::NotFound, ErrorCode::BlobNotFound, "The project has no content of this SHA-256.")
        }
        BlobRejection::TooManyPuts => (
            Class::Unavailable,
            ErrorCode::TooManyPuts,
            "Too many contents are being put; nothing was kept. Retry.",
        ),
        BlobRejection::Damaged => (
            Class::Internal,
            ErrorCode::ContentDamaged,
            "The stored content is not what its SHA-256 says; putting it again mends it.",
        ),
        BlobRejection::Unavailable => {
            (Class::Unavailable, ErrorCode::Unavailable, "Where contents are kept can't be reached. Retry.")
        }
        BlobRejection::Full => {
            (Class::StorageFull, ErrorCode::StorageFull, "Where contents are kept is full; nothing was kept.")
        }
        BlobRejection::TooLarge(_) => (Class::TooLarge, ErrorCode::BodyTooLarge, "The body is too large."),
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let Refusal { class, code, message } = refusal;
        Self::new(class, code, message)
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        fault_refusal(&fault).into()
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejection) => rejection.into(),
            Failure::OverQuota(exceeded) => quota_refusal(exceeded).into(),
            Failure::Fault(fault) => fault.into(),
        }
    }
}
