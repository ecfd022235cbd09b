//! The deposit before a session is summarised or after it ended: made by a separate process in the background.
//! Must not know: the content of the deposit.

use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
};

use plenary_kernel::AgentHandle;

use super::journal;
use crate::cli::{
    context::Context,
    identity::{Setting, find_in_project_file},
    server_address::UrlSource,
};

/// Starts the deposit, if the directory belongs to a project.
pub(super) fn spawn(context: &Context, handle: &AgentHandle, directory: &Path) -> Result<(), String> {
    let has_variable = context.environment.var("PLENARY_PROJECT").is_some();
    let bound = find_in_project_file(&context.environment, directory, Setting::Project)
        .map_err(|failure| journal::describe(&failure))?;
    if !has_variable && bound.is_none() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let mut command = Command::new(program);
    let address = context.server_address().map_err(|failure| journal::describe(&failure))?;
    if address.source == UrlSource::Flag {
        command.args(["--url", &address.url.to_string()]);
        command.envs(context.absolute_cacert(&address.url).map(|file| ("PLENARY_CACERT", file)));
    }
    command.args(["--as", handle.as_str(), "context", "deposit", "--git", "--auto"]);
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(journal::open(&context.environment).map_or_else(Stdio::null, Stdio::from));
    // A process group of its own: it survives the end of this hook.
    command.process_group(0);
    command.spawn().map_err(|error| format!("the deposit cannot start: {error}"))?;
    Ok(())
}
