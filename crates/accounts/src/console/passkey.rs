//! The interface to passkeys for the rest of the server: a signed-in person adds one; they are found by their
//! credentials, used once per challenge, listed, removed. A passkey ends with the token behind its session.
//! Must not know: WebAuthn; the signature is verified before.

use plenary_engine::{Sealed, seal};
use plenary_kernel::TimestampMs;
use plenary_log::{Fault, Order};

use super::{
    Keyring, OpenSession,
    command::{AddPasskey, PasskeySignIn, RemovePasskey},
    cookie::ConsoleCookie,
    state::{Passkey, SessionClient},
};
use crate::{
    Accounts, Actor, Failure, Principal, Rejection, TokenDigest,
    index::PASSKEYS,
    limits::{CONSOLE_SESSION_MS_MAX, PASSKEY_KEYRINGS_MAX},
};

/// A stored passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPasskey {
    /// Its keyring.
    pub keyring: Keyring,
    /// Its id.
    pub id: String,
    /// Its data.
    pub passkey: Passkey,
    /// Whether the token behind it is valid.
    pub is_usable: bool,
}

/// A verified sign-in with a passkey.
#[derive(Debug, Clone)]
pub struct PasskeyUse {
    /// The authenticator's signature counter; 0 if it does not count.
    pub counter: u32,
    /// The signed challenge.
    pub challenge: TokenDigest,
    /// The expiry of the challenge.
    pub challenge_until: TimestampMs,
    /// The client.
    pub client: SessionClient,
}

/// A new, verified passkey.
#[derive(Debug, Clone)]
pub struct NewPasskey {
    /// The credential id from the authenticator, in base64url.
    pub credential: String,
    /// Its public key.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// The authenticator's signature counter.
    pub counter: u32,
    /// The signed challenge.
    pub challenge: TokenDigest,
    /// The expiry of the challenge.
    pub challenge_until: TimestampMs,
}

/// The index row of a passkey: the digest of its credential, and its keyring.
pub(super) fn row(credential: &str, keyring: &str) -> String {
    format!("{}/{keyring}", TokenDigest::of(credential).hex())
}

impl Accounts {
    /// Adds a passkey for the person of a session.
    ///
    /// # Errors
    /// `PasskeyExists`, `TooManyPasskeys`, `SignedInAtIssuer`, `PasskeyInvalid` when the challenge was used, what the store
    /// says.
    pub fn add_passkey<'a>(
        &'a self,
        by: &'a Principal,
        open_session: &'a OpenSession,
        new: NewPasskey,
    ) -> Sealed<'a, Result<KnownPasskey, Failure>> {
        seal(async move {
            // The passkey would outlast the person's account at the issuer.
            if open_session.session.identity.is_some() {
                return Err(Rejection::SignedInAtIssuer.into());
            }
            let command = AddPasskey {
                by: Actor::from(by.who.clone()),
                rights: open_session.session.rights.clone(),
                new,
            };
            let keyring = open_session.keyring.clone();
            let id = self.on_keyring(&keyring, &command).await?;
            let (state, _) = self.0.keyrings.state(&keyring.to_string()).await?;
            let passkey = state.passkey(&id).cloned().ok_or(Rejection::NotFound)?;
            Ok(KnownPasskey { keyring, id, passkey, is_usable: true })
        })
    }

    /// The passkeys with a credential id. Authenticators choose their ids, so two owners may have the same one; the
    /// signature decides.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn passkeys_of<'a>(&'a self, credential: &'a str) -> Sealed<'a, Result<Vec<KnownPasskey>, Fault>> {
        seal(async move {
            let prefix = row(credential, "");
            let rows = self
                .log()
                .read_index(PASSKEYS, &prefix, None, PASSKEY_KEYRINGS_MAX, Order::Ascending)
                .await?;
            let mut passkeys = Vec::new();
            for row in rows {
                let Ok(keyring) = row.key[prefix.len()..].parse::<Keyring>() else { continue };
                let keyring_passkeys = self.passkeys(&keyring).await?;
                passkeys.extend(
                    keyring_passkeys
                        .into_iter()
                        .filter(|keyring_passkeys| keyring_passkeys.passkey.credential == credential),
                );
            }
            Ok(passkeys)
        })
    }

    /// The passkeys of an owner or the operator, the oldest first.
    ///
    /// # Errors
    /// The fault of the store.
    pub fn passkeys<'a>(&'a self, keyring: &'a Keyring) -> Sealed<'a, Result<Vec<KnownPasskey>, Fault>> {
        seal(async move {
            let (state, _) = self.0.keyrings.fresh(&keyring.to_string()).await?;
            let mut passkeys = Vec::new();
            for (id, passkey) in state.passkeys() {
                let is_usable = self.are_valid(keyring, &passkey.rights).await?;
                let (keyring, id, passkey) = (keyring.clone(), id.to_owned(), passkey.clone());
                passkeys.push(KnownPasskey { keyring, id, passkey, is_usable });
            }
            Ok(passkeys)
        })
    }

    /// Signs in with a verified passkey. Returns the session and its cookie, which is not stored.
    ///
    /// # Errors
    /// `PasskeyInvalid`; the fault of the store.
    pub fn sign_in_by_passkey<'a>(
        &'a self,
        passkey: &'a KnownPasskey,
        passkey_use: PasskeyUse,
    ) -> Sealed<'a, Result<(OpenSession, ConsoleCookie), Failure>> {
        seal(async move {
            if !self.person_exists(passkey.passkey.rights.person.as_ref()).await? {
                return Err(Rejection::PasskeyInvalid.into());
            }
            let keyring = passkey.keyring.clone();
            let cookie = ConsoleCookie::random(&keyring);
            let command = PasskeySignIn {
                passkey: passkey.id.clone(),
                cookie: TokenDigest::of(cookie.expose()),
                lasts_ms: CONSOLE_SESSION_MS_MAX,
                passkey_use,
            };
            Ok((self.open_by(&keyring, &command, Rejection::PasskeyInvalid).await?, cookie))
        })
    }

    /// Removes a passkey, and ends the sessions that it opened.
    ///
    /// # Errors
    /// `NotFound`; the fault of the store.
    pub fn remove_passkey<'a>(
        &'a self,
        by: &'a Principal,
        keyring: &'a Keyring,
        id: &'a str,
    ) -> Sealed<'a, Result<(), Failure>> {
        seal(async move {
            let command = RemovePasskey { by: Actor::from(by.who.clone()), passkey: id.to_owned() };
            Ok(self.on_keyring(keyring, &command).await?)
        })
    }
}
