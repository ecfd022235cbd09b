//! A program of this machine: started in its own process group, its lines read within limits, its standard error
//! drained, and stopped together with its child processes.
//! Must not know: the content of its pipes.

pub(crate) mod ending;
pub(crate) mod launcher;
pub(crate) mod lines;
pub(crate) mod process;
pub(crate) mod stderr;

use std::{collections::BTreeMap, path::PathBuf};

use self::launcher::Launcher;
use crate::ConfigFault;

/// Which program, and how it is started.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The program and its arguments; no shell reads them.
    pub(crate) command: Vec<String>,
    /// Where it runs; the server's own directory unless said otherwise.
    pub(crate) directory: Option<PathBuf>,
    /// Variables that it gets beside the server's own, of which those named `PLENARY_…` are taken away.
    pub(crate) env: BTreeMap<String, String>,
    /// What stands between this process and the program.
    pub(crate) launcher: Launcher,
}

impl Program {
    /// A program as a table names it.
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
