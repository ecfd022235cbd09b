//! A blob of a project: the fold of its stream. Pure.
//! Must not know: its bytes.

use serde::{Deserialize, Serialize};

/// Whether the project has the blob.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobState {
    /// True once it was added.
    pub is_kept: bool,
}
