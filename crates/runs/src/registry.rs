//! The agents of a server, by name: built once, when it starts.
//! Must not know: how an agent is configured in a file, or how it runs.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use plenary_kernel::{AgentHandle, OwnerName};

use crate::{limits::AGENTS_MAX, runner::Runner};

/// What one run may take; past any of it the run ends with an error that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How long it may run, without the time in which it waits for input.
    pub time_max: Duration,
    /// How long it may wait for input at a time.
    pub waiting_max: Duration,
    /// Events.
    pub events_max: u64,
    /// Octets of events and artifacts.
    pub octets_max: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            time_max: Duration::from_secs(60 * 60),
            waiting_max: Duration::from_secs(7 * 24 * 60 * 60),
            events_max: 100_000,
            octets_max: 256 << 20,
        }
    }
}

/// An agent that this server runs (SC-1).
#[derive(Clone)]
pub struct Agent {
    /// Whose it is, and its name: `@owner.name`. It is reached at `/agent/<name>`.
    pub handle: AgentHandle,
    /// What carries out its runs.
    pub runner: Arc<dyn Runner>,
    /// What one of its runs may take.
    pub limits: RunLimits,
}

impl Agent {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.name()
    }

    /// Whose it is.
    #[must_use]
    pub fn owner(&self) -> OwnerName {
        self.handle.owner_name()
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// Why the agents of a configuration can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two have one name.
    #[error("two agents have the name {0}")]
    NameTwice(String),
    /// More than [`AGENTS_MAX`].
    #[error("more than {AGENTS_MAX} agents")]
    TooMany,
}

/// The agents of a server.
#[derive(Debug, Clone, Default)]
pub struct Registry(BTreeMap<String, Agent>);

impl Registry {
    /// All of them.
    ///
    /// # Errors
    /// When two have one name, or there are too many.
    pub fn new(agents: impl IntoIterator<Item = Agent>) -> Result<Self, RegistryError> {
        let mut by_name = BTreeMap::new();
        for agent in agents {
            if by_name.len() == AGENTS_MAX {
                return Err(RegistryError::TooMany);
            }
            let name = agent.name().to_owned();
            if by_name.insert(name.clone(), agent).is_some() {
                return Err(RegistryError::NameTwice(name));
            }
        }
        Ok(Self(by_name))
    }

    /// The agent of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Agent> {
        self.0.values()
    }
}
