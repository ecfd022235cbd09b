//! The links and sessions of an owner's console: the fold of their stream. Pure.
//! Must not know: cookies, or the rights of a role.

use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, TimestampMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{ConsoleEvent, LinkMade, Opening, PasskeyUsed};
use crate::{
    TokenDigest,
    limits::{CONSOLE_LINKS_MAX, CONSOLE_SESSIONS_MAX},
};

/// The role of a console session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConsoleRole {
    /// The rights of the owner.
    Owner,
    /// Reads everything that the owner may read.
    Viewer,
    /// The rights of the operator.
    Operator,
}

/// The rights of a session, and of the link or the passkey that opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// The token behind them, with which they end.
    pub through: TokenDigest,
    /// The role.
    pub role: ConsoleRole,
    /// The person. The rights end when the person is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
}

/// The client that opened a session, for display.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClient {
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its `User-Agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// An unused link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The rights of its session.
    #[serde(flatten)]
    pub rights: Rights,
    /// Its expiry.
    pub until: TimestampMs,
}

/// The identity of a person at an issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerSubject {
    /// The configured name of the issuer.
    pub issuer: String,
    /// The subject, which never changes at the issuer.
    pub subject: String,
    /// The name for display.
    pub shown: String,
}

/// A session of a console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleSession {
    /// The digest of its cookie.
    pub cookie: TokenDigest,
    /// Its rights.
    #[serde(flatten)]
    pub rights: Rights,
    /// When it began.
    pub created_at: TimestampMs,
    /// Its last use, accurate to an hour.
    pub last_used_at: TimestampMs,
    /// Its latest end.
    pub until: TimestampMs,
    /// Its client at sign-in.
    #[serde(flatten)]
    pub client: SessionClient,
    /// The passkey that opened it, with which it ends.
    #[serde(default)]
    pub passkey: Option<String>,
    /// The person's identity at the issuer.
    #[serde(default, rename = "at")]
    pub identity: Option<IssuerSubject>,
}

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The credential id from the authenticator, in base64url.
    pub credential: String,
    /// Its public key.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// The rights of its sessions.
    #[serde(flatten)]
    pub rights: Rights,
    /// The authenticator's signature counter.
    pub counter: u32,
    /// When it was added.
    pub created_at: TimestampMs,
    /// The last sign-in with it.
    pub last_used_at: Option<TimestampMs>,
}

impl ConsoleSession {
    /// A session that a link opens.
    fn new(at: TimestampMs, rights: Rights, opening: &Opening) -> Self {
        Self {
            cookie: opening.cookie,
            rights,
            created_at: at,
            last_used_at: at,
            until: opening.until,
            client: opening.client.clone(),
            passkey: None,
            identity: None,
        }
    }

    /// Whether it is open: neither expired nor idle for too long.
    pub fn is_open(&self, now: TimestampMs, idle_ms_max: u64) -> bool {
        now < self.until && now.0 < self.last_used_at.0.saturating_add(idle_ms_max)
    }
}

/// The links and sessions of one owner, or of the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleState {
    links: BTreeMap<String, Link>,
    sessions: BTreeMap<String, ConsoleSession>,
    #[serde(default)]
    passkeys: BTreeMap<String, Passkey>,
    /// The used challenges that have not expired, with their expiry.
    #[serde(default)]
    challenges: BTreeMap<String, TimestampMs>,
}

impl ConsoleState {
    /// A passkey by its id.
    pub fn passkey(&self, id: &str) -> Option<&Passkey> {
        self.passkeys.get(id)
    }
    /// Every passkey, the oldest first.
    pub fn passkeys(&self) -> impl Iterator<Item = (&str, &Passkey)> {
        self.passkeys.iter().map(|(id, passkey)| (id.as_str(), passkey))
    }
    /// Whether a challenge was used, as long as it could be used again.
    pub(crate) fn was_used(&self, challenge: &TokenDigest) -> bool {
        self.challenges.contains_key(&challenge.hex())
    }
    /// How many challenges were used that could be used again.
    pub(crate) fn used_challenge_count(&self, now: TimestampMs) -> usize {
        self.challenges.values().filter(|until| now < **until).count()
    }
    /// A link that nobody has used.
    pub fn link(&self, digest: &TokenDigest) -> Option<&Link> {
        self.links.get(&digest.hex())
    }
    /// A session by its id.
    pub fn session(&self, id: &str) -> Option<&ConsoleSession> {
        self.sessions.get(id)
    }
    /// Every session, the oldest first; those that ran out among them.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, &ConsoleSession)> {
        self.sessions.iter().map(|(id, session)| (id.as_str(), session))
    }
    /// The session of a cookie, whether or not it is open.
    pub fn of_cookie(&self, cookie: &[u8; 32]) -> Option<(&str, &ConsoleSession)> {
        let cookie = TokenDigest::of_digest(*cookie);
        self.sessions().find(|(_, session)| session.cookie.matches(&cookie))
    }

    pub(crate) fn evolve(&mut self, at: TimestampMs, event: &ConsoleEvent) {
        match event {
            ConsoleEvent::LinkMade(event) => self.add_link(at, event),
            ConsoleEvent::SignedIn(event) => {
                let Some(link) = self.links.remove(&event.link.hex()) else { return };
                let session = ConsoleSession::new(at, link.rights, &event.opening);
                self.add_session(at, &event.session, session);
            }
            ConsoleEvent::PasskeyUsed(event) => self.use_passkey(at, event),
            ConsoleEvent::SignedInAtIssuer(event) => {
                let identity = Some(event.identity.clone());
                let session = ConsoleSession::new(at, event.rights.clone(), &event.opening);
                let session = ConsoleSession { identity, ..session };
                self.add_session(at, &event.session, session);
            }
            ConsoleEvent::PasskeyAdded(event) => {
                let passkey = Passkey {
                    credential: event.credential.clone(),
                    key: event.key.clone(),
                    name: event.name.clone(),
                    rights: event.rights.clone(),
                    counter: event.counter,
                    created_at: at,
                    last_used_at: None,
                };
                self.passkeys.insert(event.passkey.clone(), passkey);
                self.note_challenge(at, &event.challenge, event.challenge_until);
            }
            ConsoleEvent::PasskeyRemoved(event) => {
                self.passkeys.remove(&event.passkey);
                self.sessions.retain(|_, session| session.passkey.as_ref() != Some(&event.passkey));
            }
            ConsoleEvent::SessionUsed(event) => {
                if let Some(session) = self.sessions.get_mut(&event.session) {
                    session.last_used_at = at;
                }
            }
            ConsoleEvent::SignedOut(event) => {
                self.sessions.remove(&event.session);
            }
        }
    }

    fn add_session(&mut self, at: TimestampMs, id: &str, session: ConsoleSession) {
        self.sessions.retain(|_, session| at < session.until);
        self.sessions.insert(id.to_owned(), session);
        while self.sessions.len() > CONSOLE_SESSIONS_MAX {
            let least_recent = self.sessions.iter().min_by_key(|(id, session)| (session.last_used_at, *id));
            let Some(least_recent) = least_recent.map(|(id, _)| id.clone()) else { break };
            self.sessions.remove(&least_recent);
        }
    }

    fn use_passkey(&mut self, at: TimestampMs, event: &PasskeyUsed) {
        self.note_challenge(at, &event.challenge, event.challenge_until);
        let Some(passkey) = self.passkeys.get_mut(&event.passkey) else { return };
        passkey.counter = event.counter;
        passkey.last_used_at = Some(at);
        let session = ConsoleSession::new(at, passkey.rights.clone(), &event.opening);
        let session = ConsoleSession { passkey: Some(event.passkey.clone()), ..session };
        self.add_session(at, &event.session, session);
    }

    fn note_challenge(&mut self, at: TimestampMs, challenge: &TokenDigest, until: TimestampMs) {
        self.challenges.retain(|_, until| at < *until);
        self.challenges.insert(challenge.hex(), until);
    }

    fn add_link(&mut self, at: TimestampMs, event: &LinkMade) {
        self.links.retain(|_, link| at < link.until);
        let link = Link { rights: event.rights.clone(), until: event.until };
        self.links.insert(event.link.hex(), link);
        while self.links.len() > CONSOLE_LINKS_MAX {
            let oldest = self.links.iter().min_by_key(|(digest, link)| (link.until, *digest));
            let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) else { break };
            self.links.remove(&oldest);
        }
    }
}
