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

/// Starts a process for the moment `word` of this session, whose program is `of`; returns its id.
pub(super) fn spawn(context: &Context, event: &Event, word: &str, of: &Program) -> Result<u32, String> {
    let failed = |error: std::io::Error| format!("the process of `{word}` cannot be started: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    let found = context.server_address().map_err(|failure| journal::words(&failure))?;
    if found.source == UrlSource::Flag {
        command.args(["--url", &found.url.to_string()]);
    }
    command.args(["hook", word, "--client", event.coding.as_str()]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A process group of its own: it survives the end of this hook.
    command.current_dir("/").process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let told = json!({"hook_event_name": word, "session_id": event.session, "cwd": context.environment.directory(),
        "program": of.pid, "since": of.since});
    let mut input = child.stdin.take().ok_or("it has no standard input")?;
    input.write_all(told.to_string().as_bytes()).map_err(failed)?;
    Ok(child.id())
}
