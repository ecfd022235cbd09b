//! The commands on the sessions of a console. Pure.
//! Must not know: permissions; the decider checks them.

use plenary_kernel::Stamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    decide::ConsoleDecision,
    passkey::{NewPasskey, PasskeyUse},
    state::{ConsoleState, IssuerSubject, Rights, SessionClient},
};
use crate::{Actor, TokenDigest};

/// Creates a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeLink {
    /// The authority.
    pub by: Actor,
    /// The digest of the link.
    pub link: TokenDigest,
    /// The rights of its session.
    pub rights: Rights,
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
    /// Its client.
    pub client: SessionClient,
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
    /// The rights of the session in which it is added, and of its own sessions.
    pub rights: Rights,
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
    /// The rights of the session.
    pub rights: Rights,
    /// The digest of the cookie.
    pub cookie: TokenDigest,
    /// Its client.
    pub client: SessionClient,
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

/// A command on the links, sessions and passkeys of a console.
pub(crate) trait ConsoleCommand: Send + Sync {
    const NAME: &'static str;
    type Reply: Serialize + DeserializeOwned + Send + Sync;

    /// The token that must be valid, if any.
    fn required_token<'a>(&'a self, _state: &'a ConsoleState) -> Option<&'a TokenDigest> {
        None
    }
    fn decide(
        &self,
        state: &ConsoleState,
        facts: KeyringFacts,
        stamp: &Stamp,
    ) -> ConsoleDecision<Self::Reply>;
    /// An owner without quota must still be able to sign in and see the reason.
    fn exceeds_quota(&self) -> bool {
        true
    }
}
