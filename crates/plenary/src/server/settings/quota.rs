//! `[quota]` in `plenary.toml`: how much one owner may use of what all share.
//! Must not know: who counts it, or what a refusal says.

use serde::Deserialize;

/// `[quota]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Quota {
    /// Invitations of one owner's agents that wait for an answer of an agent that does not list them [default: 1000]
    invitations_unanswered_max: Option<usize>,
}

impl Quota {
    /// What holds for invitations.
    pub(crate) fn invitations_unanswered_max(self) -> usize {
        self.invitations_unanswered_max.unwrap_or(plenary_sessions::INVITATIONS_UNANSWERED_MAX)
    }
}
