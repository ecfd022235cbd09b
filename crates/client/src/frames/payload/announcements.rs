//! The announcements of a session: advisories, broadcasts, handovers.
//! Must not know: the listeners.

use serde::{Deserialize, Serialize};

use crate::frames::EventClass;

/// What the session is doing (FO-23).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisory {
    /// 1 to 2048 bytes.
    pub advisory_text: String,
    /// Files that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_refs: Option<Vec<String>>,
    /// The working tree, at most 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch, at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// What has happened (FO-24).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broadcast {
    /// 1 to 2048 bytes.
    pub broadcast_text: String,
    /// Its coarse class (FO-95).
    pub event_class: EventClass,
    /// Branches, change requests or commits that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<String>>,
}

/// A handover of work (FO-25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// The session that hands over, 1 to 128 bytes.
    pub previous_session_id: String,
    /// The session that takes over; absent at emission (FO-42).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_session_id: Option<String>,
    /// At most 8 KiB (wire.md D.5).
    pub handover_body: String,
    /// References to files, change requests or decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer_refs: Option<Vec<String>>,
}
