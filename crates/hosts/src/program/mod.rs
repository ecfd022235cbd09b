//! A program of this machine: started in its own process group, its lines read within limits, its standard error
//! drained, and stopped together with its child processes.
//! Must not know: the content of its pipes.

pub(crate) mod exit_report;
pub(crate) mod launcher;
pub(crate) mod lines;
mod lookup;
pub(crate) mod process;
pub(crate) mod stderr;

use std::{collections::BTreeMap, path::PathBuf};

use self::launcher::Launcher;
use crate::ConfigFault;

/// A program and its environment.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The program and its arguments; no shell is involved.
    pub(crate) command: Vec<String>,
    /// The working directory; by default the server's.
    pub(crate) directory: Option<PathBuf>,
    /// Additional environment variables. The program inherits the server's, except those that may contain secrets,
    /// such as `PLENARY_…`.
    pub(crate) env: BTreeMap<String, String>,
    /// The launcher between this process and the program.
    pub(crate) launcher: Launcher,
}

impl Program {
    /// A program of a configuration table.
    pub(crate) fn new(
        command: &[String],
        directory: Option<&PathBuf>,
        env: &BTreeMap<String, String>,
        launcher: &Launcher,
    ) -> Result<Self, ConfigFault> {
        match command.first() {
            Some(program) if !program.is_empty() => {
                let (command, directory, env) = (command.to_vec(), directory.cloned(), env.clone());
                Ok(Self { command, directory, env, launcher: launcher.clone() })
            }
            _ => Err(ConfigFault::member("command", "has no program; write [\"program\", \"argument\"]")),
        }
    }
}
