//! Where agents run: each kind of `[agents.NAME]` as a [`Runner`] of the room of runs.
//! Must not know: the log, HTTP routes, or who may run an agent.

mod config;
pub mod exec;
pub mod openai;
#[cfg(test)]
mod testing;
mod tools;

use std::sync::Arc;

use plenary_runs::Runner;

pub use config::ConfigFault;
pub use tools::{Answering, NoTools, Tool, Toolbox};

/// The runner of a kind, from the members of its table in the configuration that the kind itself knows.
///
/// # Errors
/// When the kind is none of this crate's, or its table is not what the kind wants.
pub fn runner(
    kind: &str,
    table: toml::Table,
    toolbox: &Arc<dyn Toolbox>,
) -> Result<Arc<dyn Runner>, ConfigFault> {
    let variable = |name: &str| std::env::var(name).ok();
    match kind {
        "exec" => Ok(Arc::new(exec::Exec::new(config::read(table)?)?)),
        "openai" => Ok(Arc::new(openai::OpenAi::new(config::read(table)?, toolbox.clone(), variable)?)),
        kind => Err(ConfigFault::UnknownKind(kind.to_owned())),
    }
}
