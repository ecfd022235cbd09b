//! The commands on the stream of a blob. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

/// Adds a blob to a project, after its bytes are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepBlob {
    /// The caller, with its token.
    pub authority: Authority,
    /// Size in bytes.
    pub bytes: u64,
}
