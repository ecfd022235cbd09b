//! Saved tokens as values: by server and holder.
//! Must not know: files.

use std::{collections::BTreeMap, fmt, str::FromStr};

use plenary_client::BaseUrl;
use plenary_kernel::{AgentHandle, MalformedText, OwnerName};
use serde::{Deserialize, Serialize};

/// The holder of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The server's operator.
    Operator,
    /// An owner.
    Owner(OwnerName),
    /// An agent.
    Agent(AgentHandle),
}

impl Holder {
    /// Its name on the command line.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Operator => "--operator",
            Self::Owner(owner) => owner.as_str(),
            Self::Agent(handle) => handle.as_str(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("the operator"),
            Self::Owner(owner) => write!(f, "owner {owner}"),
            Self::Agent(handle) => write!(f, "{handle}"),
        }
    }
}

impl FromStr for Holder {
    type Err = MalformedText;
    /// `@owner.name` is an agent, a bare name an owner.
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        if text.starts_with('@') { text.parse().map(Self::Agent) } else { text.parse().map(Self::Owner) }
    }
}

/// Every saved token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    servers: BTreeMap<String, ServerTokens>,
}

/// The tokens for one server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerTokens {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    owners: BTreeMap<OwnerName, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<AgentHandle, String>,
}

impl Tokens {
    /// The tokens for a server.
    pub(crate) fn of(&self, server: &BaseUrl) -> ServerTokens {
        self.servers.get(&server.to_string()).cloned().unwrap_or_default()
    }

    /// Every server with tokens, by its URL.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&str, &ServerTokens)> {
        self.servers.iter().map(|(url, tokens)| (url.as_str(), tokens))
    }

    /// Saves a token; replaces the previous one.
    pub(crate) fn put(&mut self, server: &BaseUrl, holder: &Holder, token: &str) {
        let tokens = self.servers.entry(server.to_string()).or_default();
        match holder {
            Holder::Operator => tokens.operator = Some(token.into()),
            Holder::Owner(owner) => drop(tokens.owners.insert(owner.clone(), token.into())),
            Holder::Agent(handle) => drop(tokens.agents.insert(handle.clone(), token.into())),
        }
    }

    /// Removes a token; returns false if there was none.
    pub(crate) fn remove(&mut self, server: &BaseUrl, holder: &Holder) -> bool {
        let url = server.to_string();
        let Some(tokens) = self.servers.get_mut(&url) else { return false };
        let was_there = match holder {
            Holder::Operator => tokens.operator.take().is_some(),
            Holder::Owner(owner) => tokens.owners.remove(owner).is_some(),
            Holder::Agent(handle) => tokens.agents.remove(handle).is_some(),
        };
        if *tokens == ServerTokens::default() {
            self.servers.remove(&url);
        }
        was_there
    }
}

impl ServerTokens {
    /// The token of one holder.
    pub(crate) fn get(&self, holder: &Holder) -> Option<&str> {
        match holder {
            Holder::Operator => self.operator.as_deref(),
            Holder::Owner(owner) => self.owners.get(owner).map(String::as_str),
            Holder::Agent(handle) => self.agents.get(handle).map(String::as_str),
        }
    }

    /// The holders with a token: the operator, owners, agents.
    pub(crate) fn holders(&self) -> impl Iterator<Item = Holder> {
        let operator = self.operator.iter().map(|_| Holder::Operator);
        let owners = self.owners.keys().cloned().map(Holder::Owner);
        operator.chain(owners).chain(self.agents.keys().cloned().map(Holder::Agent))
    }

    /// The only owner with a token here, if there is exactly one.
    pub(crate) fn only_owner(&self) -> Option<&OwnerName> {
        let mut owners = self.owners.keys();
        owners.next().filter(|_| owners.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_and_holder_has_its_own_token() {
        let (here, there): (BaseUrl, BaseUrl) =
            ("http://127.0.0.1:7420".parse().unwrap(), "https://a.example".parse().unwrap());
        let (agent, owner): (Holder, Holder) = ("@nick.a".parse().unwrap(), "nick".parse().unwrap());
        let mut tokens = Tokens::default();
        tokens.put(&here, &agent, "pla_1");
        tokens.put(&here, &owner, "plw_1");
        tokens.put(&here, &Holder::Operator, "plo_1");
        tokens.put(&there, &agent, "pla_2");
        assert_eq!(tokens.of(&here).get(&agent), Some("pla_1"));
        assert_eq!(tokens.of(&there).get(&agent), Some("pla_2"));
        assert_eq!(tokens.of(&there).get(&owner), None);
        assert_eq!(tokens.of(&here).only_owner().unwrap().as_str(), "nick");

        let text = toml::to_string(&tokens).unwrap();
        assert!(toml::from_str::<Tokens>(&text).unwrap() == tokens, "{text}");
        assert!(tokens.remove(&there, &agent) && !tokens.remove(&there, &agent));
        assert_eq!(tokens.servers().count(), 1);
    }
}
