//! The events of a project's activity stream, and their stored form. The form is frozen. Pure.
//! Must not know: the live events derived from them.

use serde::{Deserialize, Serialize};

use crate::lifecycle::words;

words! {
    /// What happens in a project, by its name on the wire.
    Activity {
        /// It came into being.
        ProjectCreated = "project.created",
        /// Its name, description or settings have changed.
        ProjectUpdated = "project.updated",
        /// It takes no writes.
        ProjectArchived = "project.archived",
        /// It takes writes again.
        ProjectUnarchived = "project.unarchived",
        /// Somebody has a role in it.
        MemberSet = "project.member_set",
        /// A member lost its role.
        MemberRemoved = "project.member_removed",
        /// A package was deposited.
        PackageDeposited = "package.deposited",
        /// A package was flagged or reviewed.
        PackageStatusChanged = "package.status_changed",
        /// A fact is current.
        FactAsserted = "fact.asserted",
        /// A fact ended because another took its place.
        FactSuperseded = "fact.superseded",
        /// A fact ended and nothing took its place.
        FactInvalidated = "fact.invalidated",
        /// A session began.
        SessionStarted = "session.started",
        /// A session ended.
        SessionEnded = "session.ended",
        /// The content of a deliverable was put.
        BlobKept = "blob.kept",
    }
}

impl Activity {
    /// Whether a word of `?types=` selects this type: its whole name, or the part before the dot.
    pub fn is_named(self, word: &str) -> bool {
        let name = self.as_str();
        name == word || name.split_once('.').is_some_and(|(family, _)| family == word)
    }
}

/// An entry of the activity stream: what happened, and where its event is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityNoted {
    /// What happened.
    #[serde(rename = "type")]
    pub activity: Activity,
    /// The id of the event's stream.
    pub on: String,
    /// The event's version in that stream.
    pub version: u64,
    /// The author of a draft; only the author is notified of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_of: Option<String>,
    /// The span of the request that caused it, as a `traceparent`. Only `/watch` reports its trace id, and only to an
    /// owner that may read the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<str>>,
}

plenary_engine::stored_forms!(ActivityNoted = "ActivityNoted");
