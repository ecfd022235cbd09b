//! One exhaustive mapping from rejections to errors on the wire: `{"error":{code, message, field?, capability?}}`
//! (wire.md D.3, 0.1).
//! Must not know: the request.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use plenary_edge::refused;
use plenary_engine::quota_refusal;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;
use plenary_room::fault_refusal;

use crate::{
    Failure,
    malformed::ContextFault,
    rejection::{BlobRejection, Rejection},
    wire::{ContextError, ContextErrorDetail},
};

/// A refusal for the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContextRefusal {
    class: Class,
    code: &'static str,
    message: Cow<'static, str>,
    field: Option<String>,
    capability: Option<&'static str>,
}

impl ContextRefusal {
    fn new(class: Class, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { class, code, message: message.into(), field: None, capability: None }
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

impl IntoResponse for ContextRefusal {
    fn into_response(self) -> Response {
        let Self { class, code, message, field, capability } = self;
        let body = ContextError {
            error: ContextErrorDetail {
                code,
                message: &message,
                field: field.as_deref(),
                capability,
                kind: capability.map(|_| "not_implemented"),
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

impl From<ContextFault> for ContextRefusal {
    fn from(malformed: ContextFault) -> Self {
        let ContextFault { code, field, message } = malformed;
        Self { field, ..Self::new(Class::Malformed, code.as_str(), message) }
    }
}

impl From<Rejection> for ContextRefusal {
    fn from(rejection: Rejection) -> Self {
        let at = |field: &str, refused: Self| Self { field: Some(field.to_owned()), ..refused };
        let lacks = |capability, refused: Self| Self { capability: Some(capability), ..refused };
        match rejection {
            Rejection::Malformed(malformed) => malformed.into(),
            Rejection::InvalidTransition { from, to } => {
                let text = format!("A package cannot change from {} to {}.", from.as_str(), to.as_str());
                Self::new(Class::Malformed, "invalid_transition", text)
            }
            Rejection::InvalidValidFrom(expected) => {
                let text = format!("`valid_from` must be {expected}.");
                at("valid_from", Self::new(Class::Malformed, "invalid_valid_from", text))
            }
            Rejection::NotThatActor(field) => {
                let text = format!("`{field}` must be an id of the agent or owner whose token is sent.");
                at(field, Self::new(Class::Forbidden, "unauthorized", text))
            }
            Rejection::OwnerNotFound(owner) => {
                let text = format!("There is no owner `{owner}`; create it, or name another.");
                Self::new(Class::NotFound, "owner_not_found", text)
            }
            Rejection::Blob(BlobRejection::TooLarge(bytes_max)) => {
                let text = format!("The body is larger than {bytes_max} bytes.");
                Self::new(Class::TooLarge, "body_too_large", text)
            }
            Rejection::Blob(rejection) => {
                let (class, code, text) = of_blob(rejection);
                Self::new(class, code, text)
            }
            Rejection::OverQuota { code, rule, most } => {
                let text = format!(
                    "This owner already has {most} in progress, the maximum ({rule}); retry when one has ended."
                );
                Self::new(Class::TooMany, code, text)
            }
            Rejection::NotImplemented(capability) => {
                let text = format!("This server has no {capability}.");
                lacks(capability, Self::new(Class::NotImplemented, "not_implemented", text))
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

/// Status class, code and text of the refusals with a fixed text.
fn plain(rejection: &Rejection) -> (Class, &'static str, &'static str) {
    match rejection {
        Rejection::Revoked => (Class::Unauthenticated, "invalid_authorization", "The token was revoked."),
        Rejection::ProjectNotFound => (Class::NotFound, "project_not_found", "There is no such project."),
        Rejection::PackageNotFound => (Class::NotFound, "package_not_found", "There is no such package."),
        Rejection::SessionNotFound => (Class::NotFound, "session_not_found", "There is no such session."),
        Rejection::NotPermitted => {
            (Class::Forbidden, "unauthorized", "The token may not do this in the project.")
        }
        Rejection::ProjectArchived => (
            Class::Forbidden,
            "project_archived",
            "The project is archived and accepts no writes until it is restored.",
        ),
        Rejection::TooManyStreams => (
            Class::TooMany,
            "too_many_streams",
            "The token has the maximum number of live streams; close one first.",
        ),
        Rejection::Busy => {
            (Class::Unavailable, "overloaded", "The server is overloaded; nothing was done. Retry.")
        }
        Rejection::Stopping => {
            (Class::Unavailable, "stopping", "The server is stopping; connect again in a moment.")
        }
        Rejection::Damaged => (
            Class::Internal,
            "content_damaged",
            "The stored package does not match its hash; it is quarantined.",
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
        | Rejection::OwnerNotFound(_)
        | Rejection::InvalidTransition { .. }
        | Rejection::InvalidValidFrom(_)
        | Rejection::Blob(_)
        | Rejection::OverQuota { .. }
        | Rejection::NotImplemented(_) => {
            (Class::Internal, "internal", "The server cannot answer this request.")
        }
    }
}

/// Code and text of the conflicts with existing objects.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing but conflicts comes here")]
fn conflict(rejection: &Rejection) -> (&'static str, &'static str) {
    match rejection {
        Rejection::AmbiguousPackageId => {
            ("ambiguous_package_id", "Several projects have a package with this id; add ?project=.")
        }
        Rejection::AmbiguousProjectId => (
            "ambiguous_project_id",
            "Several projects have this id; name one as OWNER:ID, as the list of projects does.",
        ),
        Rejection::ProjectExists => ("project_exists", "The project id is taken; use another."),
        Rejection::ProjectFull => ("project_full", "The project has the maximum number of members."),
        Rejection::DuplicatePackageId => (
            "duplicate_package_id",
            "The package id is used by other content; deposit a new package with parent_package_id.",
        ),
        Rejection::DuplicateFactId => {
            ("duplicate_fact_id", "The fact id is used by another fact of the project; choose another id.")
        }
        Rejection::TooManySteps => (
            "too_many_steps",
            "The package has had the maximum number of review steps; it can only be completed.",
        ),
        Rejection::SessionEnded => ("session_ended", "The session has ended already."),
        Rejection::SessionExists => ("session_exists", "The session id is taken."),
        Rejection::KeyReused => {
            ("idempotency_key_reused", "This Idempotency-Key was used by another request; use a new one.")
        }
        Rejection::TooManyProjects => {
            ("too_many_projects", "There are too many projects for one export; export them one by one.")
        }
        _ => (
            "too_many_renames",
            "The import has renamed the maximum number of packages; import the rest separately.",
        ),
    }
}

/// Status class, code and text of the refusals about blobs.
fn of_blob(rejection: BlobRejection) -> (Class, &'static str, &'static str) {
    match rejection {
        BlobRejection::NotFound => {
            (Class::NotFound, "blob_not_found", "The project has no content with this SHA-256.")
        }
        BlobRejection::TooManyPuts => {
            let text = "Too many uploads at the same time; nothing was stored. Retry.";
            (Class::Unavailable, "too_many_puts", text)
        }
        BlobRejection::Damaged => (
            Class::Internal,
            "content_damaged",
            "The stored blob does not match its SHA-256; upload it again to repair it.",
        ),
        BlobRejection::Unavailable => {
            (Class::Unavailable, "unavailable", "The blob store cannot be reached. Retry.")
        }
        BlobRejection::Full => {
            (Class::StorageFull, "storage_full", "The blob store is full; nothing was stored.")
        }
        BlobRejection::TooLarge(_) => (Class::TooLarge, "body_too_large", "The body is too large."),
    }
}

impl From<Refusal> for ContextRefusal {
    fn from(refusal: Refusal) -> Self {
        let Refusal { class, code, message } = refusal;
        Self::new(class, code, message)
    }
}

impl From<Fault> for ContextRefusal {
    fn from(fault: Fault) -> Self {
        fault_refusal(&fault).into()
    }
}

impl From<Failure> for ContextRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejection) => rejection.into(),
            Failure::OverQuota(exceeded) => quota_refusal(exceeded).into(),
            Failure::Fault(fault) => fault.into(),
        }
    }
}
