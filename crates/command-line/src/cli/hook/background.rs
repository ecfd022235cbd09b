//! Starts a process that stays when its hook ends: a hook with a moment of its own.
//! Must not know: the work of the process.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use serde_json::json;

use super::{event::Event, journal, program::Program};
use crate::cli::{context::Context, server_address::UrlSource};

/// Starts a process for the moment `moment` of this session, which runs in `program`; returns its id.
pub(super) fn spawn(
    context: &Context,
    event: &Event,
    moment: &str,
    program: &Program,
) -> Result<u32, String> {
    let failed = |error: std::io::Error| format!("the process of `{moment}` cannot be started: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    let address = context.server_address().map_err(|failure| journal::describe(&failure))?;
    // The process runs in another directory.
    if matches!(address.source, UrlSource::Flag | UrlSource::Connected(_)) {
        command.args(["--url", &address.url.to_string()]);
        command.envs(context.absolute_cacert(&address.url).map(|file| ("PLENARY_CACERT", file)));
    }
    command.args(["hook", moment, "--client", event.coding.as_str()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A process group of its own: it survives the end of this hook.
    command.current_dir("/").process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let directory = context.environment.directory().map(|directory| directory.to_string_lossy());
    let members = json!({"hook_event_name": moment, "session_id": event.session, "cwd": directory,
        "program": program.pid, "since": program.since});
    let mut input = child.stdin.take().ok_or("it has no standard input")?;
    input.write_all(members.to_string().as_bytes()).map_err(failed)?;
    Ok(child.id())
}
