//! The commands on the sessions of a console. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use super::{
    passkey::{NewPasskey, PasskeyUse},
    state::{ConsoleRole, IssuerSubject},
};
use crate::{Actor, TokenDigest};

/// Creates a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeLink {
    /// The authority.
    pub by: Actor,
    /// The token behind the link: link and session end with it.
    pub through: TokenDigest,
    /// The digest of the link.
    pub link: TokenDigest,
    /// The role of its session.
    pub role: ConsoleRole,
    /// The person of its session.
    pub person: Option<AgentHandle>,
    /// Its validity, in milliseconds.
    pub lasts_ms: u64,
}

/// Uses a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The digest of the link.
    pub link: TokenDigest,
    /// The digest of the cookie.
    pub cookie: TokenDigest,
    /// The session's longest duration, in milliseconds.
    pub lasts_ms: u64,
    /// The client's address.
    pub address: Option<String>,
    /// The client's `User-Agent`.
    pub user_agent: Option<String>,
}

/// The outcome of `SignIn`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// The session.
    pub session: String,
}

/// Records a use of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUse {
    /// The session.
    pub session: String,
    /// The least time between two recorded uses, in milliseconds.
    pub every_ms: u64,
}

/// Ends a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOut {
    /// The authority.
    pub by: Actor,
    /// The session.
    pub session: String,
}

/// Adds a passkey.
#[derive(Debug, Clone)]
pub struct AddPasskey {
    /// The authority.
    pub by: Actor,
    /// The token behind the session in which it is added.
    pub through: TokenDigest,
    /// The role of its sessions.
    pub role: ConsoleRole,
    /// The person of its sessions.
    pub person: Option<AgentHandle>,
    /// The passkey.
    pub new: NewPasskey,
}

/// Signs in with a passkey.
#[derive(Debug, Clone)]
pub struct PasskeySignIn {
    /// The passkey.
    pub passkey: String,
    /// The digest of the cookie.
    pub cookie: TokenDigest,
    /// The session's longest duration, in milliseconds.
    pub lasts_ms: u64,
    /// What was signed.
    pub passkey_use: PasskeyUse,
}

/// Signs in a person whom an issuer vouches for and a rule admits.
#[derive(Debug, Clone)]
pub struct IssuerSignIn {
    /// The person at the issuer.
    pub identity: IssuerSubject,
    /// What the session hangs on.
    pub through: TokenDigest,
    /// The role of the session.
    pub role: ConsoleRole,
    /// Whose session it becomes; absent for the owner's default person.
    pub person: Option<AgentHandle>,
    /// The client's address.
    pub address: Option<String>,
    /// The client's `User-Agent`.
    pub user_agent: Option<String>,
}

/// Removes a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovePasskey {
    /// The authority.
    pub by: Actor,
    /// The passkey.
    pub passkey: String,
}

/// What a sign-in must know of other streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyringFacts {
    /// Whether the token that the link was made with is valid now.
    pub is_token_valid: bool,
}
