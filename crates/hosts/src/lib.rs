//! Where agents run: each kind of `[agents.NAME]` as a [`Runner`] of the room of runs.
//! Must not know: the log, HTTP routes, or who may run an agent.

mod config;
pub mod exec;

use std::sync::Arc;

use plenary_runs::Runner;

pub use config::ConfigFault;
pub use exec::Exec;

/// The runner of a kind, from the members of its table in the configuration that the kind itself knows.
///
/// # Errors
/// When the kind is none of this crate's, or its table is not what the kind wants.
pub fn runner(kind: &str, table: toml::Table) -> Result<Arc<dyn Runner>, ConfigFault> {
    match kind {
        "exec" => Ok(Arc::new(Exec::new(config::read(table)?)?)),
        kind => Err(ConfigFault::UnknownKind(kind.to_owned())),
    }
}
