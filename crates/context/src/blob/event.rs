//! The events of a blob's stream, and their stored form. The form is frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use serde::{Deserialize, Serialize};

/// The blob was added to the project. The only event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobKept {
    /// The uploader.
    pub by: Actor,
    /// Size in bytes.
    #[serde(rename = "octets")]
    pub bytes: u64,
}

plenary_engine::stored_forms!(BlobKept = "BlobKept");
