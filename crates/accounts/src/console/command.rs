//! The commands on the sessions of a console. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::AgentHandle;
use serde::{Deserialize, Serialize};

use super::{
    passkey::{NewPasskey, PasskeyUse},
    state::{ConsoleRole, IssuerSubject},
};
use crate::{Actor, TokenDigest};

/// Makes a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeLink {
    /// The authority.
    pub by: Actor,
    /// The token that it is made with: link and session end with it.
    pub through: TokenDigest,
    /// The digest of the link.
    pub link: TokenDigest,
    /// The role of its session.
    pub role: ConsoleRole,
    /// Whose session it becomes.
    pub person: Option<AgentHandle>,
    /// How long it may be used, in milliseconds.
    pub lasts_ms: u64,
}

/// Uses a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The digest of the link.
    pub link: TokenDigest,
    /// The digest of the cookie.
    pub cookie: TokenDigest,
    /// How long the session may last, in milliseconds.
    pub lasts_ms: u64,
    /// From where.
    pub address: Option<String>,
    /// With what.
    pub user_agent: Option<String>,
}

/// What became of `SignIn`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// The session.
    pub session: String,
}

/// Notes that a session is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUse {
    /// The session.
    pub session: String,
    /// A use is noted when the last one is so long ago, in milliseconds.
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
    /// The token that the session was begun with in which it is added.
    pub through: TokenDigest,
    /// The role of its sessions.
    pub role: ConsoleRole,
    /// Whose sessions they become.
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
    /// How long the session may last, in milliseconds.
    pub lasts_ms: u64,
    /// What was signed.
    pub used: PasskeyUse,
}

/// Signs in a person whom an issuer vouches for and a rule admits.
#[derive(Debug, Clone)]
pub struct IssuerSignIn {
    /// Who it is there.
    pub at: IssuerSubject,
    /// What the session hangs on.
    pub through: TokenDigest,
    /// The role of the session.
    pub role: ConsoleRole,
    /// Whose session it becomes; absent for the owner's default person.
    pub person: Option<AgentHandle>,
    /// From where.
    pub address: Option<String>,
    /// With what.
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
    pub through_holds: bool,
}
