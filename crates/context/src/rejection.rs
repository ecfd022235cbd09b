//! The rejections of this room.
//! Must not know: HTTP; `refusals.rs` gives each its status and code.

use crate::{
    lifecycle::Status,
    malformed::{Code, ContextFault},
};

/// A normal "no".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The token was revoked before the command was carried out.
    Revoked,
    /// The request is not of its shape.
    Malformed(ContextFault),
    /// There is no such project for this token.
    ProjectNotFound,
    /// There is no such package in it.
    PackageNotFound,
    /// There is no such session in it.
    SessionNotFound,
    /// The id stands in several projects that the token may read (wire.md D.7).
    AmbiguousPackageId,
    /// A plain id means several projects that the token may read (wire.md D.4).
    AmbiguousProjectId,
    /// The token may not do this in the project.
    NotPermitted,
    /// The token may not act as that actor; the field that names it.
    NotThatActor(&'static str),
    /// The project takes no writes until it is unarchived (AP-56).
    ProjectArchived,
    /// The project's id is taken.
    ProjectExists,
    /// The project has as many members as it may have.
    ProjectFull,
    /// The package's id is taken by other content (AP-84).
    DuplicatePackageId,
    /// There is no way between these states (AP-64).
    InvalidTransition {
        /// The present state.
        from: Status,
        /// The one that was asked for.
        to: Status,
    },
    /// The package has gone as many steps as it may; only the last is left.
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
    /// An import has renamed as many packages as one may.
    TooManyRenames,
    /// What is stored is not what was deposited (AP-38, AP-39).
    Damaged,
    /// About the content of a deliverable.
    Blob(BlobRejection),
    /// The token has as many live streams as it may have.
    TooManyStreams,
    /// The idempotency key was used by another request.
    KeyReused,
    /// The owner has as many of something under way as it may have.
    OverQuota {
        /// The stable code.
        code: &'static str,
        /// The setting that says how many.
        rule: &'static str,
        /// How many.
        most: usize,
    },
    /// All owners together have as many of something under way as there may be.
    Busy,
    /// The server is stopping; no live stream begins.
    Stopping,
    /// It needs what is not there; the capability's name (AP-79).
    NotImplemented(&'static str),
}

/// A normal "no" about the content of a deliverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobRejection {
    /// There is no such content in the project.
    NotFound,
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// Too many contents are being put.
    TooManyPuts,
    /// What is kept is not what its name says.
    Damaged,
    /// Where contents are kept can't be reached.
    Unavailable,
    /// Where contents are kept is full.
    Full,
}

impl From<BlobRejection> for Rejection {
    fn from(rejection: BlobRejection) -> Self {
        Self::Blob(rejection)
    }
}

impl Rejection {
    /// A fact names a package that is not in its project.
    #[must_use]
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
