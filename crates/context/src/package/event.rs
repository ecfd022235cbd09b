//! The events of a package's stream, and their stored form. The forms are frozen. Pure.
//! Must not know: its effects.

use bytes::Bytes;
use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written, written_with};
use plenary_log::{Fault, NewEvent, StoredEvent};
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
    /// Somebody asked for its review.
    PackageFlagged(PackageMoved),
    /// Somebody reviewed it.
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
    /// Its state.
    pub status: Status,
    /// Who is to review it.
    pub review_type: ReviewType,
    /// Its type.
    #[serde(rename = "type")]
    pub package_type: String,
    /// When it says that it was made.
    pub created_at: Moment,
    /// Who it says that it is by.
    pub created_by: Creator,
    /// What it says that it corrects or continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it has open questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// When, where that was on another server: then the log's own time is that of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// The id that it had where it came from, where an import gave it its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Who imported it, where that is another one: it counts towards the importer's use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<Actor>,
    /// The span of the request, as a `traceparent`; of what is not imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
    /// The package as it was sent.
    #[serde(skip)]
    pub raw: Bytes,
}

/// A step along the lifecycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageMoved {
    /// Who took it.
    pub by: Actor,
    /// Where from.
    pub from: Status,
    /// The new status.
    pub status: Status,
    /// Who is to review it now.
    pub review_type: ReviewType,
    /// The content hash with both.
    pub hash: ContentHash,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The package's type and time, which never change: indexes need them.
    #[serde(rename = "type")]
    pub package_type: String,
    /// See above.
    pub created_at: Moment,
    /// When, where that was on another server: then the log's own time is that of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
    /// Who imported it, where that is another one: it counts towards the importer's use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<Actor>,
}

impl PackageEvent {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> NewEvent {
        match self {
            Self::PackageDeposited(event) => written_with("PackageDeposited", event, event.raw.clone()),
            Self::PackageFlagged(event) => written("PackageFlagged", event),
            Self::PackageReviewed(event) => written("PackageReviewed", event),
        }
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        Ok(match &*stored.kind {
            "PackageDeposited" => {
                let event: PackageDeposited = read(stored)?;
                Self::PackageDeposited(PackageDeposited { raw: stored.payload.clone(), ..event })
            }
            "PackageFlagged" => Self::PackageFlagged(read(stored)?),
            "PackageReviewed" => Self::PackageReviewed(read(stored)?),
            _ => return unknown(stored),
        })
    }
}
