//! The tools of hosted models: the server's own operations, called as the agent itself.
//! Must not know: the list of operations, or how they are called.

use std::{future::Future, pin::Pin};

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

/// The result of a tool: text for the model, or an error.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// The tools of a server.
pub trait Toolbox: Send + Sync + 'static {
    /// The tools of these sets, in a stable order.
    ///
    /// # Errors
    /// The name of an unknown set.
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String>;

    /// Calls a tool on behalf of the run's agent.
    fn call<'a>(
        &'a self,
        request: &'a RunRequest,
        tool: &'a str,
        args: &'a Map<String, Value>,
    ) -> ToolFuture<'a>;
}

/// A server without tools.
#[derive(Debug, Clone, Copy)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn tools(&self, sets: &[String]) -> Result<Vec<Tool>, String> {
        sets.first().map_or(Ok(Vec::new()), |set| Err(format!("there is no set of tools `{set}`")))
    }

    fn call<'a>(&'a self, _: &'a RunRequest, tool: &'a str, _: &'a Map<String, Value>) -> ToolFuture<'a> {
        Box::pin(std::future::ready(Err(format!("there is no tool `{tool}`"))))
    }
}
