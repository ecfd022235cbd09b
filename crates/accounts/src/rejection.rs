//! Every normal "no" of this room, and its code on the wire.
//! Must not know: HTTP bodies.

use plenary_kernel::{Class, Refusal};

use crate::limits::{
    AGENTS_PER_OWNER_MAX, ALLOWLIST_ENTRIES_MAX, BLOCKS_MAX, CONTACTS_PENDING_MAX, CONTACTS_PENDING_TO_MAX,
    ORG_MEMBERS_MAX, PASSKEYS_MAX, TOKENS_BELOW_ONE_MAX, TOKENS_PER_AGENT_MAX,
};

/// The reason why a command is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// It does not exist, or the caller may not know that it exists.
    #[error("not found")]
    NotFound,
    /// The caller's token was revoked meanwhile.
    #[error("the token was revoked")]
    Revoked,
    /// The agent may not configure itself (ASP-3).
    #[error("the agent may not configure itself")]
    Forbidden,
    /// The handle is or was in use.
    #[error("the handle is taken")]
    AgentExists,
    /// The default person of an owner, who stays as long as the owner; no agent takes the name.
    #[error("the name is kept for the person of the owner")]
    OwnersPerson,
    /// The owner has its token already.
    #[error("the owner exists")]
    OwnerExists,
    /// Such names are reserved for owners of other networks.
    #[error("the owner's name is for another network")]
    OwnerElsewhere,
    /// The token is in use.
    #[error("the token is in use")]
    TokenExists,
    /// The owner has reached its limit of agents.
    #[error("too many agents")]
    TooManyAgents,
    /// The allowlist has no room for the entries.
    #[error("the allowlist is full")]
    AllowlistFull,
    /// The agent has reached its limit of blocks.
    #[error("the block list is full")]
    BlocksFull,
    /// An agent cannot block itself.
    #[error("an agent cannot block itself")]
    BlocksItself,
    /// The organisation has no room for the member.
    #[error("the organisation is full")]
    MembersFull,
    /// An agent can't send itself a contact request.
    #[error("an agent cannot be its own contact")]
    OwnContact,
    /// The agent has reached its limit of unanswered requests.
    #[error("too many unanswered requests")]
    TooManyContacts,
    /// The request already has the opposite answer.
    #[error("the request was answered")]
    ContactAnswered,
    /// The console link was used, has expired, or never existed.
    #[error("the link cannot be used")]
    LinkInvalid,
    /// The passkey was not accepted.
    #[error("the passkey is not accepted")]
    PasskeyInvalid,
    /// The owner has this passkey.
    #[error("the passkey exists")]
    PasskeyExists,
    /// The owner has reached its limit of passkeys.
    #[error("too many passkeys")]
    TooManyPasskeys,
    /// The session began at an issuer, and the result would outlast the person's account there.
    #[error("the person signed in at an issuer")]
    SignedInAtIssuer,
    /// The end of the attention level is in the past, too far ahead, or given for `open`.
    #[error("this end cannot be meant")]
    AttentionEnd,
    /// The new token's scope exceeds that of the token that creates it.
    #[error("the token may not do as much")]
    ScopeExceeded,
    /// The new token would last longer than the token that creates it.
    #[error("the token would last too long")]
    LastsTooLong,
    /// The agent has reached its limit of tokens.
    #[error("too many tokens")]
    TooManyTokens,
    /// `TOKENS_BELOW_ONE_MAX`.
    #[error("too many tokens below one")]
    TooManyTokensBelow,
    /// The repeated request made a token that has ended.
    #[error("the token has ended")]
    TokenEnded,
    /// A person has no tokens.
    #[error("a person has no tokens")]
    NoTokens,
    /// The code or the refresh token is invalid.
    #[error("the grant can't be used")]
    GrantInvalid,
    /// The idempotency key was used by another request.
    #[error("the idempotency key was used by another request")]
    KeyReused,
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NotFound => Self::not_found(),
            Rejection::Revoked => crate::answer::invalid_authorization(),
            Rejection::Forbidden => forbidden(
                "forbidden",
                "This agent may not configure itself; its owner can do it, or can set self_service.",
            ),
            Rejection::AgentExists => agent_exists(),
            Rejection::OwnersPerson => owners_person(),
            Rejection::OwnerExists => {
                Self::conflict("owner_exists", "The owner exists; rotate its token if the token is lost.")
            }
            Rejection::OwnerElsewhere => Self::malformed(
                "invalid_owner",
                "A name with `-at-` in it is for an owner of another network; choose another.",
            ),
            Rejection::TokenExists => Self::conflict("token_exists", "The token is in use; choose another."),
            Rejection::BlocksItself => {
                Self::malformed("invalid_block_target", "An agent cannot block itself.")
            }
            Rejection::OwnContact => {
                Self::malformed("invalid_handle", "to: an agent cannot be its own contact.")
            }
            Rejection::TooManyContacts => Self::new(
                Class::TooMany,
                "too_many_contacts",
                format!(
                    "An agent may have at most {CONTACTS_PENDING_MAX} unanswered contact requests, and the agents of one owner \
                     {CONTACTS_PENDING_TO_MAX} to the same agent; wait for answers."
                ),
            ),
            Rejection::ContactAnswered => {
                Self::conflict("contact_answered", "The request already has the opposite answer.")
            }
            Rejection::LinkInvalid => Self::new(
                Class::Unauthenticated,
                "link_invalid",
                "The link was used, has expired or is not valid; create another one with `plenary console`.",
            ),
            Rejection::PasskeyInvalid => crate::answer::passkey_invalid(),
            Rejection::SignedInAtIssuer => forbidden(
                "signed_in_at_issuer",
                "You signed in at an issuer, which says who comes in; links, passkeys and an owner's token would come in without it.",
            ),
            Rejection::PasskeyExists => {
                Self::conflict("passkey_exists", "This passkey is registered already; remove it first.")
            }
            Rejection::AttentionEnd => Self::malformed(
                "invalid_attention",
                "`attention_until` must be after now, by at most 366 days; `open` has no end.",
            ),
            Rejection::ScopeExceeded => forbidden("insufficient_scope", "The token itself may not do that."),
            Rejection::LastsTooLong => {
                Self::malformed("invalid_expires_in", "expires_in: the token itself does not last as long.")
            }
            Rejection::TokenEnded => token_ended(),
            Rejection::NoTokens => forbidden("forbidden", "A person has no tokens of its own."),
            Rejection::GrantInvalid => {
                Self::malformed("invalid_grant", "The code or the refresh token is not valid.")
            }
            Rejection::KeyReused => crate::once::key_reused(),
            Rejection::TooManyAgents => limit_reached(Limit::Agents),
            Rejection::AllowlistFull => limit_reached(Limit::Allowlist),
            Rejection::BlocksFull => limit_reached(Limit::Blocks),
            Rejection::MembersFull => limit_reached(Limit::Members),
            Rejection::TooManyPasskeys => limit_reached(Limit::Passkeys),
            Rejection::TooManyTokens => limit_reached(Limit::Tokens),
            Rejection::TooManyTokensBelow => limit_reached(Limit::TokensBelow),
        }
    }
}

fn agent_exists() -> Refusal {
    Refusal::conflict("agent_exists", "The handle is taken, or belonged to a deleted agent; choose another.")
}

fn owners_person() -> Refusal {
    let why = "This is the account of the owner's person: the server creates it, and it stays while the owner exists. An \
               agent needs another name.";
    Refusal::conflict("owners_person", why)
}

fn token_ended() -> Refusal {
    let why = "This request made a token that has ended; use a new Idempotency-Key to make another.";
    Refusal::conflict("token_ended", why)
}

fn forbidden(code: &'static str, why: &'static str) -> Refusal {
    Refusal::new(Class::Forbidden, code, why)
}

/// A limited resource.
#[derive(Clone, Copy)]
enum Limit {
    Agents,
    Allowlist,
    Blocks,
    Members,
    Passkeys,
    Tokens,
    TokensBelow,
}

/// The refusal past a limit.
fn limit_reached(limit: Limit) -> Refusal {
    let (code, text) = match limit {
        Limit::Agents => (
            "too_many_agents",
            format!(
                "An owner may create at most {AGENTS_PER_OWNER_MAX} agents; the operator can create more."
            ),
        ),
        Limit::Allowlist => (
            "allowlist_full",
            format!(
                "An allowlist may have at most {ALLOWLIST_ENTRIES_MAX} entries; remove some, or use @owner.*."
            ),
        ),
        Limit::Blocks => {
            ("blocks_full", format!("An agent may block at most {BLOCKS_MAX} others; remove some blocks."))
        }
        Limit::Members => (
            "members_full",
            format!("An organisation may have at most {ORG_MEMBERS_MAX} members; remove some."),
        ),
        Limit::Passkeys => (
            "too_many_passkeys",
            format!("An owner may have at most {PASSKEYS_MAX} passkeys; remove one first."),
        ),
        Limit::Tokens => (
            "too_many_tokens",
            format!("An agent has at most {TOKENS_PER_AGENT_MAX} tokens beside its own; revoke some."),
        ),
        Limit::TokensBelow => (
            "too_many_tokens",
            format!(
                "At most {TOKENS_BELOW_ONE_MAX} tokens may be made with one token and with those below it; revoke some of \
                 them."
            ),
        ),
    };
    Refusal::conflict(code, text)
}
