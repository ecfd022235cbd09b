//! One issuer: its configuration, and the verification of its tokens.
//! Must not know: the use of a token.

use std::{fmt, sync::Arc};

use plenary_accounts::TokenDigest;
use plenary_kernel::TimestampMs;
use plenary_outward::guard::GuardedPool;
use tokio::sync::Semaphore;

use crate::{
    discovery::Discovery,
    flaw::Flaw,
    limits::REDEEMED_AT_ONCE_MAX,
    rules::{AgentRule, PersonRule},
    verify::{Expected, Head, Proven, verify},
};

/// The registration of this server as a client of an issuer.
#[derive(Clone)]
pub struct Client {
    /// Client id.
    pub id: String,
    /// Client secret; absent for a public client.
    pub secret: Option<String>,
    /// The requested scope: `openid email profile`, and the additions of the operator.
    pub scope: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The configuration of an issuer.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// The local name.
    pub name: String,
    /// The text on the sign-in button.
    pub title: String,
    /// The URL, as in `iss` of its tokens.
    pub url: String,
    /// Whether private addresses and plain `http` are allowed.
    pub private_addresses: bool,
    /// This server as its client; absent if people do not sign in with it.
    pub client: Option<Client>,
    /// The accepted audiences of tokens that are exchanged or sent as access tokens.
    pub audiences: Vec<String>,
    /// The rules for people at the console; the first match counts.
    pub people: Vec<PersonRule>,
    /// The rules for agents; the first match counts.
    pub agents: Vec<AgentRule>,
}

/// The use of a token of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// Exchanged for a token of this server.
    Exchange,
    /// Sent instead of a token of this server.
    Access,
}

/// An issuer of tokens.
pub struct Issuer {
    settings: IssuerSettings,
    discovery: Discovery,
    redeeming: Semaphore,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Issuer {
    /// An issuer that is reached through this connection pool.
    pub fn new(settings: IssuerSettings, pool: GuardedPool) -> Arc<Self> {
        let discovery = Discovery::new(settings.url.clone(), settings.private_addresses, pool);
        Arc::new(Self { settings, discovery, redeeming: Semaphore::new(REDEEMED_AT_ONCE_MAX) })
    }

    /// The local name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }
    /// The text on the sign-in button.
    pub fn title(&self) -> &str {
        &self.settings.title
    }
    /// The URL, as in `iss` of its tokens.
    pub fn url(&self) -> &str {
        self.discovery.url()
    }
    /// Whether people sign in with it.
    pub fn signs_in(&self) -> bool {
        self.settings.client.is_some() && !self.settings.people.is_empty()
    }
    /// The proof of a session that a rule admitted: the session ends when the operator changes the rule or removes the issuer.
    pub fn person_proof(&self, rule: &PersonRule) -> TokenDigest {
        // No token contains a NUL, so this is not the digest of a token.
        let PersonRule { claims, keyring, role, person } = rule;
        let person = person.as_ref().map(ToString::to_string).unwrap_or_default();
        let (name, url) = (self.name(), self.url());
        TokenDigest::of(&format!(
            "a rule of an issuer\0{name}\0{url}\0{claims}\0{keyring}\0{role:?}\0{person}"
        ))
    }
    /// The proof of a token that a rule admitted, for the same purpose.
    pub fn agent_proof(&self, rule: &AgentRule, put_to: TokenUse) -> TokenDigest {
        let AgentRule { claims, agent, scope, lasts_ms } = rule;
        let (name, url, audiences) = (self.name(), self.url(), &self.settings.audiences);
        TokenDigest::of(&format!(
            "a rule of an issuer for agents\0{name}\0{url}\0{audiences:?}\0{claims}\0{agent}\0{scope}\0{lasts_ms}\0{put_to:?}"
        ))
    }
    /// The proofs of all rules; `is_authorization` adds those of tokens that are sent unchanged.
    pub(crate) fn proofs(&self, is_authorization: bool) -> impl Iterator<Item = TokenDigest> {
        let uses = [TokenUse::Exchange].into_iter().chain(is_authorization.then_some(TokenUse::Access));
        let agents = uses.flat_map(move |put_to| {
            self.settings.agents.iter().map(move |rule| self.agent_proof(rule, put_to))
        });
        self.settings.people.iter().map(|rule| self.person_proof(rule)).chain(agents)
    }

    pub(crate) fn client(&self) -> Option<&Client> {
        self.settings.client.as_ref()
    }
    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }
    pub(crate) fn redeeming(&self) -> &Semaphore {
        &self.redeeming
    }
    pub(crate) fn unavailable(&self, why: &str) -> Flaw {
        tracing::warn!(issuer = self.name(), why, "an issuer could not be asked");
        Flaw::Unavailable
    }

    /// Verifies a token of this issuer for this server.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub async fn verify(&self, token: &str, now: TimestampMs) -> Result<Proven, Flaw> {
        self.verified(token, &self.settings.audiences, false, now).await
    }

    pub(crate) async fn verified(
        &self,
        token: &str,
        audiences: &[String],
        is_id_token: bool,
        now: TimestampMs,
    ) -> Result<Proven, Flaw> {
        let head = Head::of(token)?;
        let known = self.discovery.known(head.key.as_deref(), now).await?;
        let expected = Expected { issuer: self.url(), audiences, is_id_token };
        verify(token, &head, &known.keys, expected, now)
    }

    /// The rule that admits a person at the console.
    ///
    /// # Errors
    /// `NotAdmitted`.
    pub fn person(&self, proven: &Proven) -> Result<&PersonRule, Flaw> {
        self.settings.people.iter().find(|rule| rule.claims.fit(&proven.claims)).ok_or(Flaw::NotAdmitted)
    }

    /// The rule that admits the bearer of a token as an agent.
    ///
    /// # Errors
    /// `NotAdmitted`.
    pub fn agent(&self, proven: &Proven) -> Result<&AgentRule, Flaw> {
        self.settings.agents.iter().find(|rule| rule.claims.fit(&proven.claims)).ok_or(Flaw::NotAdmitted)
    }
}
