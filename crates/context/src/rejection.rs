//! The rejections of this room.
//! Must not know: HTTP; `refusals.rs` gives each its status and code.

use plenary_kernel::OwnerName;

use crate::{
    lifecycle::Status,
    malformed::{Code, ContextFault},
};

/// A normal "no".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The token was revoked before the command was executed.
    Revoked,
    /// The request is malformed.
    Malformed(ContextFault),
    /// The project does not exist for this token.
    ProjectNotFound,
    /// The project has no such package.
    PackageNotFound,
    /// The project has no such session.
    SessionNotFound,
    /// Several projects that the token may read have a package with this id (wire.md D.7).
    AmbiguousPackageId,
    /// Several projects that the token may read have this plain id (wire.md D.4).
    AmbiguousProjectId,
    /// This owner, in whose namespace something is to be, does not exist.
    OwnerNotFound(OwnerName),
    /// The token lacks the right for this in the project.
    NotPermitted,
    /// The token may not act as the actor in this field.
    NotThatActor(&'static str),
    /// The project is archived and accepts no writes (AP-56).
    ProjectArchived,
    /// The project's id is taken.
    ProjectExists,
    /// The project has reached its limit of members.
    ProjectFull,
    /// The package's id exists with other content (AP-84).
    DuplicatePackageId,
    /// The lifecycle does not allow this transition (AP-64).
    InvalidTransition {
        /// The current state.
        from: Status,
        /// The requested state.
        to: Status,
    },
    /// The package has reached its limit of steps; only the step to `complete` is left.
    TooManySteps,
    /// Another fact of the project has the id (AP-41).
    DuplicateFactId,
    /// The fact would overlap another one, or lies in the future (wire.md D.7).
    InvalidValidFrom(&'static str),
    /// The session has ended.
    SessionEnded,
    /// The session's id is taken by another one.
    SessionExists,
    /// Too many projects for one export; they must be exported one by one.
    TooManyProjects,
    /// The import has reached its limit of renamed packages.
    TooManyRenames,
    /// A stored package does not match its hash (AP-38, AP-39).
    Damaged,
    /// A rejection about a blob.
    Blob(BlobRejection),
    /// The token has reached its limit of live streams.
    TooManyStreams,
    /// The idempotency key was used by another request.
    KeyReused,
    /// The owner has reached its limit of concurrent work.
    OverQuota {
        /// The stable code.
        code: &'static str,
        /// The setting with the limit.
        rule: &'static str,
        /// The limit.
        most: usize,
    },
    /// The limit of concurrent work for all owners is reached.
    Busy,
    /// The server is stopping and starts no live streams.
    Stopping,
    /// A capability is missing; its name (AP-79).
    NotImplemented(&'static str),
}

/// A rejection about a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobRejection {
    /// The project has no such blob.
    NotFound,
    /// The blob is larger than this many bytes.
    TooLarge(u64),
    /// Too many concurrent uploads.
    TooManyPuts,
    /// The stored bytes do not match the hash.
    Damaged,
    /// The blob store is unreachable.
    Unavailable,
    /// The blob store is full.
    Full,
}

impl From<BlobRejection> for Rejection {
    fn from(rejection: BlobRejection) -> Self {
        Self::Blob(rejection)
    }
}

impl Rejection {
    /// The rejection of a fact whose source package is not in its project.
    pub fn unknown_source() -> Self {
        ContextFault {
            code: Code::InvalidSchema,
            field: Some("source_package_id".to_owned()),
            message: "`source_package_id` names no package of this project.".to_owned(),
        }
        .into()
    }
}

impl From<ContextFault> for Rejection {
    fn from(malformed: ContextFault) -> Self {
        Self::Malformed(malformed)
    }
}
