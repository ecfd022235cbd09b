//! The process of a run, in a group of its own, so that what it started goes with it.
//! Must not know: what is said through its pipes.

use std::{
    ffi::OsString,
    io,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::sleep,
};

use super::Settings;

/// What the server keeps to itself: its variables may hold secrets.
const OWN_VARIABLES: &str = "PLENARY_";

/// How long a program may take from the line that cancels to the end of its process: then SIGTERM, then SIGKILL.
const TERM_AFTER: Duration = Duration::from_secs(2);
const KILL_AFTER: Duration = Duration::from_secs(2);

/// How long the output of a program that is over may be held open by what it left behind.
const OUTPUT_AFTER_EXIT_MAX: Duration = Duration::from_secs(2);

/// A program that was started.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) group: Group,
}

/// The process group of a run. Killed when it is dropped.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
    over: AtomicBool,
}

impl Group {
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, over: AtomicBool::new(false) }
    }

    /// Sends a signal to all of it. A group that is over is left alone: its number may belong to others by now.
    fn tell(&self, signal: Signal) {
        if let Some(leader) = self.leader
            && !self.over.load(Ordering::Acquire)
        {
            // It may be over already.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Kills what is left of it, for good.
    pub(super) fn kill(&self) {
        self.tell(Signal::KILL);
        self.over.store(true, Ordering::Release);
    }

    /// Gives it the time to end by itself, then asks, then kills.
    pub(super) async fn stop(&self) {
        sleep(TERM_AFTER).await;
        self.tell(Signal::TERM);
        sleep(KILL_AFTER).await;
        self.kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the program; or says for people why it can't be.
pub(super) fn start(settings: &Settings) -> Result<Started, String> {
    let mut command = command(settings, std::env::vars_os().map(|(name, _)| name));
    let mut child = command.spawn().map_err(|error| cannot_start(settings, &error))?;
    let group = Group::of(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    match (stdin, stdout, stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Started { child, stdin, stdout, stderr, group }),
        _ => Err("the program has no pipes".into()),
    }
}

/// The program as it will be started, with these variables around it.
pub(super) fn command(settings: &Settings, around: impl IntoIterator<Item = OsString>) -> Command {
    let mut words = settings.command.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    for name in around.into_iter().filter(|name| name.to_string_lossy().starts_with(OWN_VARIABLES)) {
        command.env_remove(name);
    }
    command.envs(&settings.env);
    if let Some(directory) = &settings.directory {
        command.current_dir(directory);
    }
    command
}

fn cannot_start(settings: &Settings, error: &io::Error) -> String {
    let program = settings.command.first().map_or("", String::as_str);
    match &settings.directory {
        Some(directory) if !directory.is_dir() => {
            format!("the program {program} cannot be started: there is no directory {}", directory.display())
        }
        _ => format!("the program {program} cannot be started: {error}"),
    }
}

/// Waits until the program has ended and its output with it. What it left running is killed, so that nobody holds its
/// output open; who left the group may hold it a little longer.
pub(super) async fn gone(child: &mut Child, group: &Group) {
    // A process that can't be waited for is as good as over.
    let _ = child.wait().await;
    group.kill();
    sleep(OUTPUT_AFTER_EXIT_MAX).await;
}
