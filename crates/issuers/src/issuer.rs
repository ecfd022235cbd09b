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

/// What this server is at an issuer, where people sign in.
#[derive(Clone)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its secret; absent for a public client.
    pub secret: Option<String>,
    /// The scope that it asks for: `openid email profile`, and what the operator adds.
    pub scope: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

/// An issuer as the operator configures it.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// Its name here.
    pub name: String,
    /// What people read on the button.
    pub title: String,
    /// Its URL, as its tokens name it.
    pub url: String,
    /// Whether addresses that are not public are reached, and `http` is spoken.
    pub private_addresses: bool,
    /// What this server is there; absent where nobody signs in by it.
    pub client: Option<Client>,
    /// For whom a token is that is exchanged, or sent as an access token: one of these.
    pub audiences: Vec<String>,
    /// Who is admitted at the console; the first that fits counts.
    pub people: Vec<PersonRule>,
    /// Who is admitted as an agent; the first that fits counts.
    pub agents: Vec<AgentRule>,
}

/// What a token of an issuer is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// It is exchanged for a token of this server.
    Exchange,
    /// It is sent in place of one.
    Access,
}

/// An issuer.
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
    /// An issuer that is asked through this pool.
    #[must_use]
    pub fn new(settings: IssuerSettings, pool: GuardedPool) -> Arc<Self> {
        let discovery = Discovery::new(settings.url.clone(), settings.private_addresses, pool);
        Arc::new(Self { settings, discovery, redeeming: Semaphore::new(REDEEMED_AT_ONCE_MAX) })
    }

    /// Its name here.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }
    /// What people read.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.settings.title
    }
    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        self.discovery.url()
    }
    /// Whether people sign in by it.
    #[must_use]
    pub fn signs_in(&self) -> bool {
        self.settings.client.is_some() && !self.settings.people.is_empty()
    }
    /// What a session hangs on that a rule admits: it ends when the operator changes the rule, or removes the issuer.
    #[must_use]
    pub fn person_proof(&self, rule: &PersonRule) -> TokenDigest {
        // No token has a NUL in it, so this is the digest of none.
        let PersonRule { claims, keyring, role, person } = rule;
        let person = person.as_ref().map(ToString::to_string).unwrap_or_default();
        let (name, url) = (self.name(), self.url());
        TokenDigest::of(&format!(
            "a rule of an issuer\0{name}\0{url}\0{claims}\0{keyring}\0{role:?}\0{person}"
        ))
    }
    /// What a token hangs on that a rule admits, in the same way.
    #[must_use]
    pub fn agent_proof(&self, rule: &AgentRule, put_to: TokenUse) -> TokenDigest {
        let AgentRule { claims, agent, scope, lasts_ms } = rule;
        let (name, url, audiences) = (self.name(), self.url(), &self.settings.audiences);
        TokenDigest::of(&format!(
            "a rule of an issuer for agents\0{name}\0{url}\0{audiences:?}\0{claims}\0{agent}\0{scope}\0{lasts_ms}\0{put_to:?}"
        ))
    }
    /// The same of every rule; tokens are sent as they are where `is_authorization`.
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

    /// A token of this issuer for this server.
    ///
    /// # Errors
    /// Why it is not accepted.
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

    /// As whom somebody is admitted at the console.
    ///
    /// # Errors
    /// `NotAdmitted`.
    pub fn person(&self, proven: &Proven) -> Result<&PersonRule, Flaw> {
        self.settings.people.iter().find(|rule| rule.claims.fit(&proven.claims)).ok_or(Flaw::NotAdmitted)
    }

    /// As which agent the bearer of a token is admitted.
    ///
    /// # Errors
    /// `NotAdmitted`.
    pub fn agent(&self, proven: &Proven) -> Result<&AgentRule, Flaw> {
        self.settings.agents.iter().find(|rule| rule.claims.fit(&proven.claims)).ok_or(Flaw::NotAdmitted)
    }
}
