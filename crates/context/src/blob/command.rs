//! The commands on a content's stream. Pure.
//! Must not know: permissions.

use plenary_accounts::Authority;

/// Notes that the project has a content, which is kept already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepBlob {
    /// In whose name.
    pub authority: Authority,
    /// How large it is, in bytes.
    pub octets: u64,
}
