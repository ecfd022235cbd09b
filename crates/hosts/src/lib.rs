//! The kinds of agents: each `kind` of `[agents.NAME]` is a [`Runner`] of the room of runs.
//! Must not know: the log, HTTP routes, or permissions to run an agent.

pub mod a2a;
pub mod acp;
mod config;
pub mod connected;
pub mod exec;
pub mod hosting;
mod key;
pub mod launcher;
pub mod openai;
mod program;
mod protocol;
pub mod remote;
#[cfg(test)]
mod testing;
mod threads;
mod tools;

use std::sync::Arc;

use plenary_kernel::AgentHandle;
use plenary_runs::{Input, RunSignal, Runner};

pub use config::{ConfigFault, time_text};
pub use connected::AttachPoint;
pub use program::launcher::{COMMAND as LAUNCH, Launcher};
pub use tools::{NoTools, Tool, Toolbox};

/// The parts of the server that the kinds share.
#[derive(Clone)]
pub struct HostContext {
    /// The tools for models.
    pub toolbox: Arc<dyn Toolbox>,
    /// The agents that attach themselves.
    pub attaching: AttachPoint,
    /// The launcher of programs.
    pub launcher: Launcher,
    /// Reads an environment variable.
    pub variable: fn(&str) -> Option<String>,
}

/// The runner for an agent `handle` of a kind, from the kind's own members of the table.
///
/// # Errors
/// If the kind is unknown to this crate, or its table is invalid.
pub fn runner(
    kind: &str,
    handle: &AgentHandle,
    table: toml::Table,
    around: &HostContext,
) -> Result<Arc<dyn Runner>, ConfigFault> {
    let variable = around.variable;
    match kind {
        "a2a" => Ok(Arc::new(a2a::A2a::new(config::read(table)?, variable)?)),
        "acp" => {
            let acp = acp::Acp::new(config::read(table)?, &around.launcher)?;
            warn_about(handle, acp.check_program());
            Ok(Arc::new(acp))
        }
        "connected" => {
            Ok(Arc::new(connected::ConnectedRunner::new(config::read(table)?, handle, &around.attaching)?))
        }
        "exec" => {
            let exec = exec::Exec::new(config::read(table)?, &around.launcher)?;
            warn_about(handle, exec.check_program());
            Ok(Arc::new(exec))
        }
        "openai" => {
            Ok(Arc::new(openai::OpenAi::new(config::read(table)?, around.toolbox.clone(), variable)?))
        }
        "remote" => Ok(Arc::new(remote::Remote::new(config::read(table)?, variable)?)),
        kind => Err(ConfigFault::UnknownKind(kind.to_owned())),
    }
}

/// The program may be installed later, so the agent is served; until then its runs fail.
fn warn_about(handle: &AgentHandle, checked: Result<(), String>) {
    if let Err(why) = checked {
        tracing::warn!(agent = %handle, why, "the runs of an agent will fail");
    }
}

/// Waits until the run is canceled. Input that arrives in the meantime is ignored.
pub(crate) async fn until_canceled(input: &mut Input) {
    while !matches!(input.wait().await, RunSignal::Cancel) {}
}
