//! The actor: the bearer of a token, as events record it.
//! Must not know: HTTP, or how a token was checked.

use std::{fmt, str::FromStr};

use plenary_kernel::{AgentHandle, MalformedText, OwnerName, SovereignHandle};
use plenary_room::Searcher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::TokenDigest;

/// The owner of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenOwner {
    /// The operator, with all rights.
    Operator,
    /// An owner: manages its own agents, but never speaks as an agent.
    Owner(OwnerName),
    /// An agent: speaks as itself, and configures only what its owner permits.
    Agent(AgentHandle),
}

/// The bearer of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The owner of the token.
    pub who: TokenOwner,
    /// The token's digest.
    pub token: TokenDigest,
}

/// The cause of an event. Its text is `operator`, `seed`, `~owner` or `@owner.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The operator.
    Operator,
    /// The seed file, when the server starts.
    Seed,
    /// An owner.
    Owner(OwnerName),
    /// An agent.
    Agent(AgentHandle),
}

impl Actor {
    /// The owner for which it acts; `None` for the operator and the seed file.
    pub fn owner(&self) -> Option<OwnerName> {
        match self {
            Self::Owner(owner) => Some(owner.clone()),
            Self::Agent(agent) => Some(agent.owner_name()),
            Self::Operator | Self::Seed => None,
        }
    }

    /// The agent, if it is one.
    pub fn agent(&self) -> Option<&AgentHandle> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Operator | Self::Owner(_) | Self::Seed => None,
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Seed => f.write_str("seed"),
            Self::Owner(owner) => write!(f, "~{owner}"),
            Self::Agent(agent) => agent.fmt(f),
        }
    }
}

impl FromStr for Actor {
    type Err = MalformedText;
    fn from_str(text: &str) -> Result<Self, MalformedText> {
        match text {
            "operator" => Ok(Self::Operator),
            "seed" => Ok(Self::Seed),
            _ if text.starts_with('~') => Ok(Self::Owner(text.parse::<SovereignHandle>()?.owner().parse()?)),
            _ => Ok(Self::Agent(text.parse()?)),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, str::parse)
    }
}

/// The actor of a command, and the token that must still be valid when the command is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// The actor.
    pub by: Actor,
    /// The token; `None` for the seed file.
    pub token: Option<TokenDigest>,
}

impl Authority {
    /// The authority of the seed file.
    pub const fn seed() -> Self {
        Self { by: Actor::Seed, token: None }
    }
}

impl From<TokenOwner> for Actor {
    fn from(who: TokenOwner) -> Self {
        match who {
            TokenOwner::Operator => Self::Operator,
            TokenOwner::Owner(owner) => Self::Owner(owner),
            TokenOwner::Agent(agent) => Self::Agent(agent),
        }
    }
}

impl From<&TokenOwner> for Searcher {
    fn from(who: &TokenOwner) -> Self {
        match who {
            TokenOwner::Operator => Self::Operator,
            TokenOwner::Owner(owner) => Self::Owner(owner.clone()),
            TokenOwner::Agent(agent) => Self::Agent(agent.clone()),
        }
    }
}

impl From<&Searcher> for Actor {
    fn from(searcher: &Searcher) -> Self {
        match searcher {
            Searcher::Operator => Self::Operator,
            Searcher::Owner(owner) => Self::Owner(owner.clone()),
            Searcher::Agent(agent) => Self::Agent(agent.clone()),
        }
    }
}

impl From<Principal> for Authority {
    fn from(principal: Principal) -> Self {
        Self { by: principal.who.into(), token: Some(principal.token) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_read_as_it_was_written() {
        for text in ["operator", "seed", "~nick", "@nick.bot"] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), text);
        }
        for bad in ["", "nick", "~", "@nick", "Operator"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad}");
        }
    }
}
