//! The events of a package's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_log::{Fault, StoredEvent};
use serde::{Deserialize, Serialize};

use crate::{
    hash::ContentHash,
    lifecycle::{ReviewType, Status},
    moment::Moment,
    schema::Creator,
};

/// An event of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageEvent {
    /// It was deposited. Always the first event.
    PackageDeposited(PackageDeposited),
    /// A review was requested.
    PackageFlagged(PackageMoved),
    /// It was reviewed.
    PackageReviewed(PackageMoved),
}

/// See [`PackageEvent::PackageDeposited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDeposited {
    /// The caller, whatever author the package names.
    pub by: Actor,
    /// Its id.
    pub package_id: String,
    /// Its content hash.
    pub hash: ContentHash,
    /// Its initial state.
    pub status: Status,
    /// The kind of reviewer.
    pub review_type: ReviewType,
    /// Its type.
    #[serde(rename = "type")]
    pub package_type: String,
    /// The creation time that the package states.
    pub created_at: Moment,
    /// The author that the package states.
    pub created_by: Creator,
    /// The package that it corrects or continues, as it states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it has open questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The time of the deposit on another server, if it was imported; the log then has the time of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// Its original id, if an import renamed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// The hash of its first deposit at its origin, if an import changed its id or its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_hash: Option<ContentHash>,
    /// The importer, if that is not `by`; the importer's owner is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<Actor>,
    /// The span of the request, as a `traceparent`; absent for an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The package as it was sent.
    #[serde(skip)]
    pub raw: Bytes,
}

/// A step along the lifecycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageMoved {
    /// The actor.
    pub by: Actor,
    /// The earlier status.
    pub from: Status,
    /// The new status.
    pub status: Status,
    /// The new kind of reviewer.
    pub review_type: ReviewType,
    /// The content hash with the new status and kind of reviewer.
    pub hash: ContentHash,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The package's type, which never changes; indexes need it.
    #[serde(rename = "type")]
    pub package_type: String,
    /// The package's creation time, which never changes; indexes need it.
    pub created_at: Moment,
    /// The time of the step on another server, if it was imported; the log then has the time of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// The importer, if that is not `by`; the importer's owner is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<Actor>,
}

/// What every event of a package says of its standing; the other members are not read.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Standing {
    /// The earlier status; `None` for a deposit.
    pub from: Option<Status>,
    /// The new status.
    pub status: Status,
    /// The package's creation time.
    pub created_at: Moment,
}

impl Standing {
    /// Reads it from a stored event.
    ///
    /// # Errors
    /// `Corrupt` when the event has another form or cannot be read.
    pub fn read(stored: &StoredEvent) -> Result<Self, Fault> {
        plenary_engine::stored::read(stored)
    }

    /// Whether a review is requested.
    pub fn asks_for_review(self) -> bool {
        self.status == Status::AwaitingReview && self.from != Some(Status::AwaitingReview)
    }
}

plenary_engine::stored_forms!(PackageEvent: PackageDeposited + raw, PackageFlagged, PackageReviewed);
