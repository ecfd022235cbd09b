//! Every normal "no" of this room, and the code it has on the wire.
//! Must not know: HTTP bodies.

use plenary_kernel::{Class, ErrorCode, Refusal};

use crate::limits::{
    AGENTS_PER_OWNER_MAX, ALLOWLIST_ENTRIES_MAX, BLOCKS_MAX, CONTACTS_PENDING_MAX, ORG_MEMBERS_MAX,
};

/// Why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Absent, or not for the caller.
    #[error("not found")]
    NotFound,
    /// The caller's token was revoked meanwhile.
    #[error("the token was revoked")]
    Revoked,
    /// The owner has not let the agent configure itself (ASP-3).
    #[error("the agent may not configure itself")]
    Forbidden,
    /// The handle is taken, or was once.
    #[error("the handle is taken")]
    AgentExists,
    /// The owner has its token already.
    #[error("the owner exists")]
    OwnerExists,
    /// Somebody else has this token.
    #[error("the token is in use")]
    TokenExists,
    /// The owner has as many agents as it may make itself.
    #[error("too many agents")]
    TooManyAgents,
    /// The allowlist has no room for the entries.
    #[error("the allowlist is full")]
    AllowlistFull,
    /// The agent blocks as many as it may.
    #[error("the block list is full")]
    BlocksFull,
    /// An agent can't block itself.
    #[error("an agent can't block itself")]
    BlocksItself,
    /// The organisation has no room for the member.
    #[error("the organisation is full")]
    MembersFull,
    /// An agent can't ask itself.
    #[error("an agent can't be its own contact")]
    AsksItself,
    /// The agent has as many unanswered requests as it may.
    #[error("too many unanswered requests")]
    TooManyContacts,
    /// The request was answered the other way.
    #[error("the request was answered")]
    ContactAnswered,
    /// The idempotency key was used by another request.
    #[error("the idempotency key was used by another request")]
    KeyReused,
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NotFound => Self::not_found(),
            Rejection::Revoked => crate::answer::invalid_authorization(),
            Rejection::Forbidden => Self::new(
                Class::Forbidden,
                ErrorCode::Forbidden,
                "This agent may not configure itself; its owner can, or can set self_service.",
            ),
            Rejection::AgentExists => Self::conflict(
                ErrorCode::AgentExists,
                "The handle is taken, or belonged to a deleted agent; choose another.",
            ),
            Rejection::OwnerExists => {
                Self::conflict(ErrorCode::OwnerExists, "The owner exists; rotate its token if it was lost.")
            }
            Rejection::TokenExists => {
                Self::conflict(ErrorCode::TokenExists, "The token is in use; choose another.")
            }
            Rejection::TooManyAgents => Self::conflict(
                ErrorCode::TooManyAgents,
                format!("An owner makes at most {AGENTS_PER_OWNER_MAX} agents; ask the operator."),
            ),
            Rejection::AllowlistFull => Self::conflict(
                ErrorCode::AllowlistFull,
                format!(
                    "An allowlist has at most {ALLOWLIST_ENTRIES_MAX} entries; remove some, or use @owner.*."
                ),
            ),
            Rejection::BlocksFull => Self::conflict(
                ErrorCode::BlocksFull,
                format!("An agent blocks at most {BLOCKS_MAX} others; lift some blocks."),
            ),
            Rejection::BlocksItself => {
                Self::malformed(ErrorCode::InvalidBlockTarget, "An agent can't block itself.")
            }
            Rejection::MembersFull => Self::conflict(
                ErrorCode::MembersFull,
                format!("An organisation has at most {ORG_MEMBERS_MAX} members; remove some."),
            ),
            Rejection::AsksItself => {
                Self::malformed(ErrorCode::InvalidHandle, "to: an agent can't be its own contact.")
            }
            Rejection::TooManyContacts => Self::new(
                Class::TooMany,
                ErrorCode::TooManyContacts,
                format!("At most {CONTACTS_PENDING_MAX} requests wait for an answer; wait for some."),
            ),
            Rejection::ContactAnswered => {
                Self::conflict(ErrorCode::ContactAnswered, "The request was already answered the other way.")
            }
            Rejection::KeyReused => crate::once::key_reused(),
        }
    }
}
