//! The agents of a server, by name: those of its configuration, and enlisted ones.
//! Must not know: how an agent is configured in a file, or how it runs.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::{RwLock, RwLockReadGuard};
use plenary_kernel::{AgentHandle, OwnerName};

use crate::{
    access::Gate,
    limits::{AGENTS_MAX, ENLISTED_PER_OWNER_MAX},
    runner::Runner,
};

/// The limits of one run; beyond any of them the run ends with an error that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Longest running time, without the time in which it waits for input.
    pub time_max: Duration,
    /// Longest wait for one input.
    pub waiting_max: Duration,
    /// Most events.
    pub events_max: u64,
    /// Most bytes of events and artifacts.
    pub bytes_max: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            time_max: Duration::from_secs(60 * 60),
            waiting_max: Duration::from_secs(7 * 24 * 60 * 60),
            events_max: 100_000,
            bytes_max: 256 << 20,
        }
    }
}

/// An agent that this server runs (SC-1).
#[derive(Clone)]
pub struct Agent {
    /// The handle, `@owner.name`.
    pub handle: AgentHandle,
    /// Carries out the runs of the agent.
    pub runner: Arc<dyn Runner>,
    /// The limits of each of its runs.
    pub limits: RunLimits,
    name: String,
    is_open: bool,
}

impl Agent {
    /// An agent of the configuration, at `/agent/<name>`.
    pub fn new(handle: AgentHandle, runner: Arc<dyn Runner>, limits: RunLimits) -> Self {
        let name = handle.name().to_owned();
        Self { handle, runner, limits, name, is_open: false }
    }

    /// An enlisted agent, at `/agent/<owner>.<name>`, a path that no other agent can have.
    pub fn enlisted(handle: AgentHandle, runner: Arc<dyn Runner>, limits: RunLimits) -> Self {
        let name = full_name(&handle).to_owned();
        Self { handle, runner, limits, name, is_open: false }
    }

    /// The same agent, open to every caller without a block.
    pub fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// The rule for callers that may run it.
    pub fn gate(&self) -> Gate {
        Gate { agent: self.handle.clone(), is_open: self.is_open }
    }

    /// The name in the agent's path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a thread that was opened under this name belongs to the agent. An agent of the configuration may have
    /// been enlisted before, under its full name.
    pub fn has_name(&self, name: &str) -> bool {
        name == self.name || name == full_name(&self.handle)
    }

    /// Whether the agent is enlisted.
    pub fn is_enlisted(&self) -> bool {
        self.name == full_name(&self.handle)
    }

    /// The owner of the agent.
    pub fn owner(&self) -> OwnerName {
        self.handle.owner_name()
    }
}

/// The full name, `owner.name`.
fn full_name(handle: &AgentHandle) -> &str {
    handle.as_str().trim_start_matches('@')
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// The handle for a full name, with or without its `@`.
pub fn handle_of(name: &str) -> Option<AgentHandle> {
    format!("@{}", name.strip_prefix('@').unwrap_or(name)).parse().ok()
}

/// Why the configured agents are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two agents have the same name.
    #[error("two agents have the name {0}")]
    NameTwice(String),
    /// More than [`AGENTS_MAX`].
    #[error("more than {AGENTS_MAX} agents")]
    TooMany,
}

/// The agents of a server. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Registry(Arc<RwLock<AgentTable>>);

#[derive(Debug, Default)]
struct AgentTable {
    by_name: BTreeMap<String, Arc<Agent>>,
    by_handle: HashMap<AgentHandle, Arc<Agent>>,
}

impl AgentTable {
    fn put(&mut self, agent: Agent) {
        let agent = Arc::new(agent);
        self.by_handle.insert(agent.handle.clone(), agent.clone());
        self.by_name.insert(agent.name.clone(), agent);
    }
}

impl Registry {
    /// A registry with the agents of a configuration.
    ///
    /// # Errors
    /// If two agents have the same name, or there are too many.
    pub fn new(agents: impl IntoIterator<Item = Agent>) -> Result<Self, RegistryError> {
        let mut table = AgentTable::default();
        for agent in agents {
            if table.by_name.len() == AGENTS_MAX {
                return Err(RegistryError::TooMany);
            }
            if table.by_name.contains_key(&agent.name) {
                return Err(RegistryError::NameTwice(agent.name));
            }
            table.put(agent);
        }
        Ok(Self(Arc::new(RwLock::new(table))))
    }

    /// Adds or updates an enlisted agent. An agent of the configuration stays unchanged.
    ///
    /// # Errors
    /// If there are too many.
    pub fn enlist(&self, agent: Agent) -> Result<(), RegistryError> {
        let mut table = self.0.write();
        match table.by_handle.get(&agent.handle) {
            Some(agent) if !agent.is_enlisted() => return Ok(()),
            None if table.by_name.len() >= AGENTS_MAX => return Err(RegistryError::TooMany),
            Some(_) | None => {}
        }
        table.put(agent);
        Ok(())
    }

    /// Removes an enlisted agent; false if there is none.
    pub fn dismiss(&self, handle: &AgentHandle) -> bool {
        let mut table = self.0.write();
        let is_enlisted = table.by_handle.get(handle).is_some_and(|agent| agent.is_enlisted());
        if is_enlisted && let Some(agent) = table.by_handle.remove(handle) {
            table.by_name.remove(&agent.name);
        }
        is_enlisted
    }

    /// Whether the server, or the agent's owner, has the maximum number of agents, unless this agent is already in
    /// the registry.
    pub fn is_full_for(&self, handle: &AgentHandle) -> bool {
        let table = self.table();
        let is_agents_of_owner =
            |agent: &&Arc<Agent>| agent.is_enlisted() && agent.handle.owner() == handle.owner();
        let agents_of_owner = table.by_handle.values().filter(is_agents_of_owner).count();
        let is_full = table.by_name.len() >= AGENTS_MAX || agents_of_owner >= ENLISTED_PER_OWNER_MAX;
        is_full && !table.by_handle.contains_key(handle)
    }

    /// The agent of a name: its path name, its full name `owner.name`, or its handle.
    pub fn get(&self, name: &str) -> Option<Arc<Agent>> {
        let table = self.table();
        table.by_name.get(name).cloned().or_else(|| table.by_handle.get(&handle_of(name)?).cloned())
    }

    /// The agent of a handle.
    pub fn of(&self, handle: &AgentHandle) -> Option<Arc<Agent>> {
        self.table().by_handle.get(handle).cloned()
    }

    /// All agents, by name.
    pub fn all(&self) -> Vec<Arc<Agent>> {
        self.table().by_name.values().cloned().collect()
    }

    fn table(&self) -> RwLockReadGuard<'_, AgentTable> {
        self.0.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Echo;

    fn agent(make: fn(AgentHandle, Arc<dyn Runner>, RunLimits) -> Agent, handle: &str) -> Agent {
        make(handle.parse().unwrap(), Arc::new(Echo::default()), RunLimits::default())
    }

    #[test]
    fn an_agent_has_its_name_and_its_whole_name() {
        let registry = Registry::new([agent(Agent::new, "@nick.a")]).unwrap();
        registry.enlist(agent(Agent::enlisted, "@ann.a")).unwrap();
        let agent_names =
            |name: &str| registry.get(name).map(|agent| (agent.handle.to_string(), agent.name().to_owned()));
        assert_eq!(agent_names("a"), Some(("@nick.a".into(), "a".into())));
        assert_eq!((agent_names("nick.a"), agent_names("@nick.a")), (agent_names("a"), agent_names("a")));
        assert_eq!(agent_names("ann.a"), Some(("@ann.a".into(), "ann.a".into())));
        assert_eq!(
            (agent_names("b"), agent_names("@@ann.a"), agent_names("@a"), agent_names("")),
            (None, None, None, None)
        );
        let has_name = |name: &str, other: &str| registry.get(name).unwrap().has_name(other);
        assert!(has_name("a", "a") && has_name("a", "nick.a") && has_name("ann.a", "ann.a"));
        assert!(!has_name("ann.a", "a") && !has_name("a", "ann.a"));
    }

    #[test]
    fn only_enlisted_agents_are_dismissed() {
        let registry = Registry::new([agent(Agent::new, "@nick.a")]).unwrap();
        for handle in ["@nick.a", "@ann.a"] {
            registry.enlist(agent(Agent::enlisted, handle)).unwrap();
            registry.dismiss(&handle.parse().unwrap());
        }
        let names: Vec<_> = registry.all().iter().map(|agent| agent.name().to_owned()).collect();
        assert_eq!(names, ["a"]);
        assert!(registry.of(&"@ann.a".parse().unwrap()).is_none());
    }

    #[test]
    fn the_registry_has_a_limit() {
        let registry = Registry::default();
        for nth in 0..AGENTS_MAX {
            registry.enlist(agent(Agent::enlisted, &format!("@nick.a{nth}"))).unwrap();
        }
        registry.enlist(agent(Agent::enlisted, "@nick.a0")).unwrap();
        let result = registry.enlist(agent(Agent::enlisted, "@nick.more"));
        assert_eq!(result, Err(RegistryError::TooMany));
    }

    #[test]
    fn no_owner_takes_all_places() {
        let registry = Registry::default();
        let is_full_for = |handle: &str| registry.is_full_for(&handle.parse().unwrap());
        for nth in 0..ENLISTED_PER_OWNER_MAX {
            assert!(!is_full_for("@nick.more"), "{nth}");
            registry.enlist(agent(Agent::enlisted, &format!("@nick.a{nth}"))).unwrap();
        }
        assert!(is_full_for("@nick.more"));
        assert!(!is_full_for("@nick.a0") && !is_full_for("@ann.a"));
    }
}
