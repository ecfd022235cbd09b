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
    Owner(OwnerName),
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
    #[serde(skip)]
    moved: Option<MovedServer>,
}

/// The server of this machine's data directory, at another address than its usual one: its tokens are valid at both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedServer {
    /// Its usual address.
    pub usual: BaseUrl,
    /// Its present address.
    pub present: BaseUrl,
}

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
    /// The same tokens, of which those for a server's usual address are for its present one too.
    pub(crate) fn with_moved(self, moved: Option<MovedServer>) -> Self {
        Self { moved, ..self }
    }

    /// The usual address of a server that is at another one now.
    fn usual(&self, server: &BaseUrl) -> Option<String> {
        self.moved.as_ref().filter(|moved| moved.present == *server).map(|moved| moved.usual.to_string())
    }

    pub(crate) fn of(&self, server: &BaseUrl) -> ServerTokens {
        let mut tokens = self.servers.get(&server.to_string()).cloned().unwrap_or_default();
        let usual = self.usual(server).and_then(|usual| self.servers.get(&usual)).cloned();
        if let Some(ServerTokens { operator, owners, agents }) = usual {
            tokens.operator = tokens.operator.or(operator);
            for (owner, token) in owners {
                tokens.owners.entry(owner).or_insert(token);
            }
            for (agent, token) in agents {
                tokens.agents.entry(agent).or_insert(token);
            }
        }
        tokens
    }

    /// Every server with tokens, by its URL.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&str, &ServerTokens)> {
        self.servers.iter().map(|(url, tokens)| (url.as_str(), tokens))
    }

    /// Saves a token; replaces the previous one. For a moved server, also for its usual address, unless another server's token
    /// is saved for it.
    pub(crate) fn put(&mut self, server: &BaseUrl, holder: &Holder, token: &str) {
        let own = server.to_string();
        let earlier = self.servers.get(&own).and_then(|tokens| tokens.get(holder)).map(str::to_owned);
        if let Some(usual) = self.usual(server) {
            let tokens = self.servers.entry(usual).or_default();
            if tokens.get(holder).is_none_or(|saved| earlier.as_deref() == Some(saved)) {
                tokens.put(holder, token);
            }
        }
        self.servers.entry(own).or_default().put(holder, token);
    }

    /// Removes a token; returns false if there was none.
    pub(crate) fn remove(&mut self, server: &BaseUrl, holder: &Holder) -> bool {
        let token = self.of(server).get(holder).map(str::to_owned);
        for url in [Some(server.to_string()), self.usual(server)].into_iter().flatten() {
            let Some(tokens) = self.servers.get_mut(&url) else { continue };
            if tokens.get(holder) == token.as_deref() {
                tokens.remove(holder);
            }
            if *tokens == ServerTokens::default() {
                self.servers.remove(&url);
            }
        }
        token.is_some()
    }
}

impl ServerTokens {
    fn put(&mut self, holder: &Holder, token: &str) {
        match holder {
            Holder::Operator => self.operator = Some(token.into()),
            Holder::Owner(owner) => drop(self.owners.insert(owner.clone(), token.into())),
            Holder::Agent(handle) => drop(self.agents.insert(handle.clone(), token.into())),
        }
    }

    fn remove(&mut self, holder: &Holder) {
        match holder {
            Holder::Operator => self.operator = None,
            Holder::Owner(owner) => drop(self.owners.remove(owner)),
            Holder::Agent(handle) => drop(self.agents.remove(handle)),
        }
    }

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

    pub(crate) fn agents(&self) -> impl Iterator<Item = &AgentHandle> {
        self.agents.keys()
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

    #[test]
    fn the_tokens_of_a_moved_server_are_those_of_its_usual_address() {
        let (usual, present): (BaseUrl, BaseUrl) =
            ("http://127.0.0.1:7420".parse().unwrap(), "http://127.0.0.1:4000".parse().unwrap());
        let holder = |name: &str| name.parse::<Holder>().unwrap();
        let mut tokens = Tokens::default();
        tokens.put(&usual, &holder("@nick.a"), "pla_1");
        assert_eq!(tokens.of(&present).get(&holder("@nick.a")), None);
        let moved = Some(MovedServer { usual: usual.clone(), present: present.clone() });
        let mut tokens = tokens.with_moved(moved);
        assert_eq!(tokens.of(&present).get(&holder("@nick.a")), Some("pla_1"));
        tokens.put(&present, &holder("@nick.a"), "pla_2");
        assert_eq!(tokens.of(&present).get(&holder("@nick.a")), Some("pla_2"));
        assert_eq!(tokens.of(&usual).get(&holder("@nick.a")), Some("pla_1"), "it may be another server's");
        tokens.put(&present, &holder("nick"), "plw_1");
        tokens.put(&present, &holder("nick"), "plw_2");
        assert_eq!(tokens.of(&usual).get(&holder("nick")), Some("plw_2"));
        assert!(tokens.remove(&present, &holder("nick")) && tokens.of(&usual).get(&holder("nick")).is_none());
        assert!(tokens.remove(&present, &holder("@nick.a")));
        assert_eq!(tokens.of(&present).get(&holder("@nick.a")), Some("pla_1"));
    }
}
