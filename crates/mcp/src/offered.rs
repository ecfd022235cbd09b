//! The tools for models that the server itself runs: definitions by sets, and calls in somebody's name.
//! Must not know: who runs the models, or the form in which they are told of tools.

use serde_json::{Map, Value};

use crate::{
    operations::Caller,
    tool::{Called, Tools, Toolset},
};

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Letters, digits and `_`, at most 64.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Value,
}

/// The tools of a server, for models in the same process.
#[derive(Clone)]
pub struct Offered(Tools);

impl Offered {
    /// These tools.
    #[must_use]
    pub const fn new(tools: Tools) -> Self {
        Self(tools)
    }

    /// The tools of these sets, by name.
    ///
    /// # Errors
    /// The name that no set has.
    pub fn tools(&self, sets: &[String]) -> Result<Vec<Definition>, String> {
        let sets = Toolset::parse(&sets.join(","))?;
        let definition = |tool: &crate::tool::Tool| Definition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: Value::from((*tool.input).clone()),
        };
        Ok(self.0.of(&sets).map(definition).collect())
    }

    /// Calls a tool in the caller's name: its result as text.
    ///
    /// # Errors
    /// What went wrong, for the model to read: the code and what to do.
    pub async fn call(
        &self,
        caller: &Caller,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let Some(tool) = self.0.get(name) else {
            return Err(format!("unknown_tool: there is no tool {name}"));
        };
        match tool.action.call(caller, arguments.clone()).await {
            Called::Done(Value::String(text)) => Ok(text),
            Called::Done(value) => Ok(value.to_string()),
            Called::Refused { code, message } => Err(format!("{code}: {message}")),
        }
    }
}
