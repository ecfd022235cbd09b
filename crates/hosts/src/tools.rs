//! The tools of hosted models: the server's own operations, called as the agent itself.
//! Must not know: the list of operations, or how they are called.

use plenary_room::async_trait;
use plenary_runs::RunRequest;
use serde_json::{Map, Value};

/// The description of a tool for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Letters, digits, `_` and `-`, at most 64 of them.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
}

/// The tools of a server.
#[async_trait]
pub trait Toolbox: Send + Sync + 'static {
    /// The tools of these sets, in a stable order.
    ///
    /// # Errors
    /// The name of an unknown set.
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String>;

    /// Calls a tool on behalf of the run's agent.
    async fn call(
        &self,
        request: &RunRequest,
        tool: &str,
        args: &Map<String, Value>,
    ) -> Result<String, String>;
}

/// A server without tools.
#[derive(Debug, Clone, Copy)]
pub struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String> {
        sets.first().map_or(Ok(Vec::new()), |set| Err(format!("there is no set of tools `{set}`")))
    }

    async fn call(&self, _: &RunRequest, tool: &str, _: &Map<String, Value>) -> Result<String, String> {
        Err(format!("there is no tool `{tool}`"))
    }
}
