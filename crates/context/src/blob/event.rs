//! The events of a blob's stream, and their stored form. The form is frozen. Pure.
//! Must not know: its effects.

use plenary_accounts::Actor;
use plenary_engine::stored::{read, unknown, written};
use plenary_log::{Fault, NewEvent, StoredEvent};
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

impl BlobKept {
    /// The stored form.
    pub fn encode(&self) -> NewEvent {
        written("BlobKept", self)
    }

    /// Reads a stored event; an unknown kind or form is corrupt.
    pub fn decode(stored: &StoredEvent) -> Result<Self, Fault> {
        if stored.kind == "BlobKept" { read(stored) } else { unknown(stored) }
    }
}
