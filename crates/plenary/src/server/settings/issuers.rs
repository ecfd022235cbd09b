//! `[issuers.NAME]` in `plenary.toml`: external issuers of tokens, and their rules of admission.
//! Must not know: how an issuer is contacted.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use plenary_accounts::{ConsoleRole, Keyring, Scope};
use plenary_hosts::time_text;
use plenary_issuers::{
    AgentRule, ClaimPatterns, Client, IssuerSettings, PersonRule,
    limits::{EXCHANGED_MS_DEFAULT, EXCHANGED_MS_MAX, ISSUERS_MAX, RULES_MAX},
};
use plenary_kernel::{AgentHandle, OwnerName};
use serde::Deserialize;

use super::{super::privacy, source::Source};
use crate::{duration::parse_duration, secrets};

/// Longest name of an issuer, in characters.
const NAME_CHARS_MAX: usize = 32;
/// The scopes that a client requests from every issuer.
const SCOPES: &str = "openid email profile";

/// The configured issuers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredIssuers {
    /// Each issuer, with its own certificate authorities if it has some.
    pub(crate) all: Vec<(IssuerSettings, Option<PathBuf>)>,
    /// The name of the issuer that gives access tokens in place of this server.
    pub(crate) authorization: Option<String>,
}

/// The table of one issuer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IssuerTable {
    /// Its URL, as its tokens name it
    url: String,
    /// Label of its sign-in button [default: the name]
    title: Option<String>,
    /// Whether private addresses and `http` are allowed [default: false]
    #[serde(default)]
    private_addresses: bool,
    /// Certificate authorities instead of the system's
    ca_file: Option<PathBuf>,
    /// This server's client id at the issuer, for people who sign in
    client_id: Option<String>,
    /// File with the client's secret, instead of `PLENARY_ISSUER_NAME_SECRET` [default: a public client]
    client_secret_file: Option<PathBuf>,
    /// Scopes to request in addition to `openid email profile`
    #[serde(default)]
    scopes: Vec<String>,
    /// Accepted audiences of agents' tokens [default: the public URL, and its `/mcp`]
    audience: Option<Vec<String>>,
    /// Rules for people who sign in to the console
    #[serde(default)]
    people: Vec<PersonTable>,
    /// Rules for programs that act as an agent
    #[serde(default)]
    agents: Vec<AgentTable>,
}

/// A rule for people.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonTable {
    claims: BTreeMap<String, String>,
    owner: Option<OwnerName>,
    role: ConsoleRole,
    person: Option<AgentHandle>,
}

/// A rule for agents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentTable {
    claims: BTreeMap<String, String>,
    agent: AgentHandle,
    scope: Scope,
    #[serde(default, deserialize_with = "time_text")]
    lasts: Option<String>,
}

impl ConfiguredIssuers {
    /// The URL of the issuer that gives access tokens in place of this server.
    pub(crate) fn authorization_url(&self) -> Option<&str> {
        let named = |settings: &IssuerSettings| Some(&settings.name) == self.authorization.as_ref();
        self.all.iter().find(|(settings, _)| named(settings)).map(|(settings, _)| settings.url.as_str())
    }

    /// Reads and checks the tables. `authorization` is `[oauth] issuer`.
    pub(super) fn read(
        tables: BTreeMap<String, IssuerTable>,
        authorization: Option<String>,
        public_url: Option<&str>,
        source: &Source,
    ) -> anyhow::Result<Self> {
        ensure!(tables.len() <= ISSUERS_MAX, "at most {ISSUERS_MAX} [issuers.NAME] are configured");
        let mut all = Vec::new();
        for (name, table) in tables {
            let ca_file = table.ca_file.clone().map(|file| source.resolve(file));
            let settings = table
                .settings(&name, public_url, source)
                .with_context(|| format!("[issuers.{name}] in the configuration file"))?;
            all.push((settings, ca_file));
        }
        let urls = || all.iter().map(|(settings, _)| &settings.url);
        for (nth, url) in urls().enumerate() {
            ensure!(!urls().take(nth).any(|other| other == url), "two [issuers.NAME] have the URL {url}");
        }
        if let Some(name) = &authorization {
            let found = all.iter().find(|(settings, _)| settings.name == *name);
            let (settings, _) =
                found.with_context(|| format!("[oauth] issuer = {name:?} names no [issuers.{name}]"))?;
            ensure!(
                !settings.agents.is_empty(),
                "[issuers.{name}] is named in [oauth] and has no rule for agents"
            );
        }
        Ok(Self { all, authorization })
    }
}

impl IssuerTable {
    fn settings(
        self,
        name: &str,
        public_url: Option<&str>,
        source: &Source,
    ) -> anyhow::Result<IssuerSettings> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ensure!(
            (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(is_name),
            "a name has 1 to {NAME_CHARS_MAX} characters a-z, 0-9 and -"
        );
        check_url(&self.url, self.private_addresses)?;
        let people: Vec<_> = self.people.into_iter().map(PersonTable::rule).collect::<Result<_, _>>()?;
        let agents: Vec<_> = self.agents.into_iter().map(AgentTable::rule).collect::<Result<_, _>>()?;
        ensure!(
            people.len() <= RULES_MAX && agents.len() <= RULES_MAX,
            "at most {RULES_MAX} rules for people and {RULES_MAX} for agents"
        );
        let secret = secret(name, self.client_secret_file.map(|file| source.resolve(file)).as_deref())?;
        let client = match self.client_id {
            Some(id) => {
                let scope =
                    std::iter::once(SCOPES.to_owned()).chain(self.scopes).collect::<Vec<_>>().join(" ");
                Some(Client { id, secret, scope })
            }
            None if secret.is_some() => bail!("a client's secret needs `client_id`"),
            None => None,
        };
        ensure!(
            client.is_some() != people.is_empty(),
            "people sign in with `client_id` and at least one [[issuers.{name}.people]]; leave both out, or none"
        );
        let of_url = |url: &str| {
            vec![url.trim_end_matches('/').to_owned(), format!("{}/mcp", url.trim_end_matches('/'))]
        };
        let audiences = self.audience.or_else(|| public_url.map(of_url)).unwrap_or_default();
        ensure!(
            agents.is_empty() || !audiences.is_empty(),
            "agents need `audience`, or `public_url`: for whom their tokens are"
        );
        // A token that signs a person in must not be valid where a program's token is.
        if let Some(client) = &client {
            ensure!(!audiences.contains(&client.id), "`audience` must not be the `client_id`");
        }
        Ok(IssuerSettings {
            title: self.title.unwrap_or_else(|| name.to_owned()),
            name: name.to_owned(),
            url: self.url,
            private_addresses: self.private_addresses,
            client,
            audiences,
            people,
            agents,
        })
    }
}

fn check_url(url: &str, plain_too: bool) -> anyhow::Result<()> {
    let parsed = url.parse::<http::Uri>().ok().filter(|uri| uri.host().is_some() && uri.query().is_none());
    let parsed = parsed.with_context(|| format!("`url` = {url:?} is not a URL of a host and a path"))?;
    match parsed.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if plain_too => Ok(()),
        _ => bail!("`url` must be https, or http with `private_addresses = true`"),
    }
}

/// The client's secret, from its file or the environment.
fn secret(name: &str, file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let variable = format!("PLENARY_ISSUER_{}_SECRET", name.to_ascii_uppercase().replace('-', "_"));
    if let Some(text) = secrets::variable(&variable).filter(|text| !text.is_empty()) {
        return Ok(Some(text));
    }
    let Some(file) = file else { return Ok(None) };
    privacy::secret(file)?;
    let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    ensure!(!text.trim().is_empty(), "{} is empty", file.display());
    Ok(Some(text.trim().to_owned()))
}

fn patterns(claims: BTreeMap<String, String>) -> anyhow::Result<ClaimPatterns> {
    ClaimPatterns::new(claims).map_err(|why| anyhow::anyhow!("a rule {why}"))
}

impl PersonTable {
    fn rule(self) -> anyhow::Result<PersonRule> {
        let Self { claims, owner, role, person } = self;
        let keyring = owner.map_or(Keyring::Operator, Keyring::Owner);
        match (&keyring, role) {
            (Keyring::Operator, ConsoleRole::Owner) => bail!("a rule of role owner needs `owner`"),
            (Keyring::Owner(_), ConsoleRole::Operator) => bail!("a rule of role operator has no `owner`"),
            (Keyring::Operator | Keyring::Owner(_), _) => {}
        }
        if let Some(person) = &person {
            ensure!(
                keyring.owner().is_some() && keyring.has(person),
                "`person` must be of the rule's `owner`"
            );
        }
        Ok(PersonRule { claims: patterns(claims)?, keyring, role, person })
    }
}

impl AgentTable {
    fn rule(self) -> anyhow::Result<AgentRule> {
        let Self { claims, agent, scope, lasts } = self;
        let lasts = lasts.as_deref().map(parse_duration).transpose();
        let lasts = lasts.map_err(|why| anyhow::anyhow!("`lasts`: {why}"))?;
        let lasts_ms = lasts.map_or(Ok(EXCHANGED_MS_DEFAULT), |lasts| u64::try_from(lasts.as_millis()))?;
        ensure!(
            (1_000..=EXCHANGED_MS_MAX).contains(&lasts_ms),
            "`lasts` is from 1s to {}h",
            EXCHANGED_MS_MAX / 3_600_000
        );
        Ok(AgentRule { claims: patterns(claims)?, agent, scope, lasts_ms })
    }
}
