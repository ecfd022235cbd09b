//! The server's own operations as tools of hosted models: listed when the configuration is read, called in the name
//! of the run's agent once the server runs.
//! Must not know: the list of tools, or their effects.

use std::{collections::HashMap, sync::Arc};

use axum::Router;
use parking_lot::RwLock;
use plenary_accounts::Accounts;
use plenary_hosts::{Tool, Toolbox};
use plenary_kernel::AgentHandle;
use plenary_mcp::{
    operations::{Caller, Operations},
    tool::{CallOutcome, Tools, Toolset},
    tools,
};
use plenary_room::async_trait;
use plenary_runs::{Registry, RunRequest};
use serde_json::{Map, Value};

use super::surface;

/// The tools of a server.
pub(crate) struct OwnTools {
    /// The descriptions of the tools, which cannot be called.
    listed: Tools,
    ready: RwLock<Option<Arc<Ready>>>,
}

/// The callable tools.
struct Ready {
    tools: Tools,
    accounts: Accounts,
    agents: HashMap<String, AgentHandle>,
}

impl Default for OwnTools {
    fn default() -> Self {
        let nowhere = Operations::new(Router::new(), surface::askable());
        Self { listed: tools::all(&nowhere), ready: RwLock::default() }
    }
}

impl std::fmt::Debug for OwnTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnTools").finish_non_exhaustive()
    }
}

impl OwnTools {
    /// Makes the tools callable, once the server runs.
    pub(super) fn begin(&self, tools: Tools, accounts: Accounts, agents: &Registry) {
        let agents =
            agents.all().iter().map(|agent| (agent.name().to_owned(), agent.handle.clone())).collect();
        self.set_ready(Some(Ready { tools, accounts, agents }));
    }

    /// Drops the callable tools when the server stops.
    pub(super) fn end(&self) {
        self.set_ready(None);
    }

    fn set_ready(&self, ready: Option<Ready>) {
        *self.ready.write() = ready.map(Arc::new);
    }
}

#[async_trait]
impl Toolbox for OwnTools {
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String> {
        let toolsets =
            Toolset::parse(&sets.join(",")).map_err(|set| format!("there is no set of tools `{set}`"))?;
        let listed_tool = |tool: &plenary_mcp::tool::Tool| Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: Value::Object(Map::clone(&tool.input)),
        };
        Ok(self.listed.in_sets(&toolsets).map(listed_tool).collect())
    }

    async fn call(
        &self,
        request: &RunRequest,
        tool: &str,
        args: &Map<String, Value>,
    ) -> Result<String, String> {
        let ready = self.ready.read().clone();
        let ready = ready.ok_or("the server is not there")?;
        let handle = ready.agents.get(&*request.agent).ok_or("this server does not run the agent")?;
        let acting = ready.accounts.acting(handle, request.depth).ok_or("the agent has no account")?;
        let tool = ready.tools.get(tool).ok_or_else(|| format!("there is no tool `{tool}`"))?;
        match tool.action.call(&Caller::default().known_as(acting), args.clone()).await {
            CallOutcome::Done(value) => Ok(value.to_string()),
            CallOutcome::Refused { code, message } => Err(format!("{code}: {message}")),
        }
    }
}
