//! The commands on an owner's stream. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::OwnerName;

use crate::{Authority, TokenDigest};

/// Gives an owner a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveToken {
    /// The authority.
    pub authority: Authority,
    /// The owner.
    pub owner: OwnerName,
    /// Whether it is the owner's first token, or replaces one.
    pub gift: Gift,
    /// The digest of the token.
    pub token: TokenDigest,
}

/// The facts of `GiveToken` from other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GiveFacts {
    /// Whether the token is in use already.
    pub token_exists: bool,
    /// Whether a person acts who signed in at an issuer.
    pub signed_in_at_issuer: bool,
}

/// The occasion of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gift {
    /// The owner's first token; creates the owner if it is new.
    First,
    /// Replaces the token, if any, of an existing owner.
    Replacement,
}
