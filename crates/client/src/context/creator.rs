//! The creator of an object (AP-11, AP-26 to AP-28).
//! Must not know: the owner of the token.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An actor, as named by a package or fact.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Creator {
    /// Its id.
    pub id: String,
    /// `human`, `agent` or `script`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The session it worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The commit its work ended with (section 13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Additional members.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}
