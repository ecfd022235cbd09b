//! The events of an owner's console sessions, and their stored form. The forms are frozen. Pure.

use plenary_kernel::TimestampMs;
use serde::{Deserialize, Serialize};

use super::state::{IssuerSubject, Rights, SessionClient};
use crate::{Actor, TokenDigest};

/// An event of a console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// A link was made.
    LinkMade(LinkMade),
    /// A link was used, and a session began.
    SignedIn(SessionBegan),
    /// A session was in use; noted now and then.
    SessionUsed(SessionUsed),
    /// A session ended before its time.
    SignedOut(SessionEnded),
    /// A passkey was added.
    PasskeyAdded(PasskeyAdded),
    /// A passkey was used, and a session began.
    PasskeyUsed(PasskeyUsed),
    /// A passkey was removed, and the sessions that it opened ended.
    PasskeyRemoved(PasskeyRemoved),
    /// A person signed in at an issuer, and a session began.
    SignedInAtIssuer(IssuerSessionBegan),
}

/// See [`ConsoleEvent::LinkMade`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMade {
    /// The creator.
    pub by: Actor,
    /// The digest of the link.
    pub link: TokenDigest,
    /// The rights of its session.
    #[serde(flatten)]
    pub rights: Rights,
    /// Its expiry.
    pub until: TimestampMs,
}

/// What each sign-in records of the session that it opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The digest of the cookie.
    pub cookie: TokenDigest,
    /// Its latest end.
    pub until: TimestampMs,
    /// Its client.
    #[serde(flatten)]
    pub client: SessionClient,
}

/// See [`ConsoleEvent::SignedIn`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBegan {
    /// The session.
    pub session: String,
    /// The used link.
    pub link: TokenDigest,
    /// What the browser has of it.
    #[serde(flatten)]
    pub opening: Opening,
}

/// See [`ConsoleEvent::SessionUsed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionUsed {
    /// The session.
    pub session: String,
}

/// See [`ConsoleEvent::SignedOut`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The cause.
    pub by: Actor,
    /// The session.
    pub session: String,
}

/// See [`ConsoleEvent::PasskeyAdded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyAdded {
    /// The cause.
    pub by: Actor,
    /// Its id.
    pub passkey: String,
    /// The credential id from the authenticator, in base64url.
    pub credential: String,
    /// Its public key: `es256:` and an uncompressed point, or `ed25519:` and a key, in hex.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// The rights of its sessions; the token is that of the session in which it was added.
    #[serde(flatten)]
    pub rights: Rights,
    /// The authenticator's signature counter.
    pub counter: u32,
    /// The signed challenge.
    pub challenge: TokenDigest,
    /// The expiry of the challenge.
    pub challenge_until: TimestampMs,
}

/// See [`ConsoleEvent::PasskeyUsed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyUsed {
    /// The passkey.
    pub passkey: String,
    /// The authenticator's signature counter.
    pub counter: u32,
    /// The signed challenge.
    pub challenge: TokenDigest,
    /// The expiry of the challenge.
    pub challenge_until: TimestampMs,
    /// The session.
    pub session: String,
    /// What the browser has of it.
    #[serde(flatten)]
    pub opening: Opening,
}

/// See [`ConsoleEvent::SignedInAtIssuer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerSessionBegan {
    /// The session.
    pub session: String,
    /// The person at the issuer.
    #[serde(rename = "at")]
    pub identity: IssuerSubject,
    /// Its rights; in place of a token the proof of the rule that admitted the person.
    #[serde(flatten)]
    pub rights: Rights,
    /// What the browser has of it.
    #[serde(flatten)]
    pub opening: Opening,
}

/// See [`ConsoleEvent::PasskeyRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyRemoved {
    /// The cause.
    pub by: Actor,
    /// The passkey.
    pub passkey: String,
    /// The credential id from the authenticator.
    pub credential: String,
}

plenary_engine::stored_forms! {
    ConsoleEvent: LinkMade, SignedIn, SessionUsed, SignedOut, PasskeyAdded, PasskeyUsed, PasskeyRemoved,
    SignedInAtIssuer
}

#[cfg(test)]
mod tests {
    use plenary_engine::golden::assert_frozen;

    use super::*;

    #[test]
    fn stored_forms_are_frozen() {
        assert_frozen::<ConsoleEvent>(&[
            (
                "LinkMade",
                r#"{"by":"~nick","link":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","through":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","role":"viewer","person":"@nick.nick","until":7}"#,
            ),
            (
                "SignedIn",
                r#"{"session":"01","link":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","cookie":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","until":8,"address":"127.0.0.1"}"#,
            ),
            ("SessionUsed", r#"{"session":"01"}"#),
            ("SignedOut", r#"{"by":"operator","session":"01"}"#),
            (
                "PasskeyAdded",
                r#"{"by":"~nick","passkey":"02","credential":"AQI","key":"ed25519:00","name":"Phone","through":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","role":"owner","person":"@nick.nick","counter":0,"challenge":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","challenge_until":9}"#,
            ),
            (
                "PasskeyUsed",
                r#"{"passkey":"02","counter":3,"challenge":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","challenge_until":9,"session":"03","cookie":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","until":8,"user_agent":"Firefox"}"#,
            ),
            ("PasskeyRemoved", r#"{"by":"operator","passkey":"02","credential":"AQI"}"#),
            (
                "SignedInAtIssuer",
                r#"{"session":"01","at":{"issuer":"google","subject":"17","shown":"ida@acme.com"},"through":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","role":"viewer","person":"@acme.ida","cookie":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b","until":8,"address":"127.0.0.1"}"#,
            ),
        ]);
    }
}
