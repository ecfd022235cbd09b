//! A blob of a project: the fold of its stream. Pure.
//! Must not know: its bytes.

use serde::{Deserialize, Serialize};

/// Whether the project has the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobState {
    /// It has.
    pub is_kept: bool,
}
