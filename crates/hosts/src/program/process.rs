//! The process of a run, in its own group, so that its child processes end with it.
//! Must not know: the content of its pipes.

use std::{
    convert::Infallible,
    ffi::OsString,
    io,
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    time::sleep,
};

use super::{Program, launcher::Launcher};

/// Prefixes of variables that the program does not inherit, because they may contain secrets of the server.
const OWN_VARIABLES: [&str; 2] = ["PLENARY_", "AWS_"];

/// Prefix and suffix of more such variables: `OTEL_EXPORTER_OTLP_HEADERS` and similar ones contain the collector's
/// token.
const HEADERS_VARIABLE: (&str, &str) = ("OTEL_EXPORTER_OTLP_", "HEADERS");

/// How long a program may take to end after the cancel line: then SIGTERM, then SIGKILL.
const TERM_AFTER: Duration = Duration::from_secs(2);
const KILL_AFTER: Duration = Duration::from_secs(2);

/// How long surviving child processes may hold the output of an ended program open.
const OUTPUT_AFTER_EXIT_MAX: Duration = Duration::from_secs(2);

/// A started program.
pub(crate) struct ChildProcess {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) group: Group,
}

/// A program with its child processes. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct Group {
    /// The launcher, or without one the program, which leads its process group.
    leader: Option<Pid>,
    launcher: Launcher,
    is_over: AtomicBool,
}

/// An order to the group.
enum ProcessOrder {
    Ending,
    Killing,
}

impl Group {
    fn new(child: &Child, launcher: &Launcher) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, launcher: launcher.clone(), is_over: AtomicBool::new(false) }
    }

    /// Signals the whole group. A group that has ended gets no signal: its process id may be reused.
    fn signal(&self, order: ProcessOrder) {
        let Some(leader) = self.leader.filter(|_| !self.is_over.load(Ordering::Acquire)) else { return };
        // It may have ended already.
        let _ = match (self.launcher.is_between(), order) {
            (true, ProcessOrder::Ending) => kill_process(leader, Signal::USR1),
            (true, ProcessOrder::Killing) => kill_process(leader, Signal::TERM),
            (false, ProcessOrder::Ending) => kill_process_group(leader, Signal::TERM),
            (false, ProcessOrder::Killing) => kill_process_group(leader, Signal::KILL),
        };
    }

    /// Kills what is left of the group, finally.
    pub(crate) fn kill(&self) {
        self.signal(ProcessOrder::Killing);
        self.is_over.store(true, Ordering::Release);
    }

    /// Notes that the leader has ended. A launcher kills its descendants itself.
    pub(crate) fn note_exit(&self) {
        if self.launcher.is_between() {
            self.is_over.store(true, Ordering::Release);
        } else {
            self.kill();
        }
    }

    /// Waits for the program to end by itself, then sends SIGTERM, then kills it.
    pub(crate) async fn stop(&self) {
        sleep(TERM_AFTER).await;
        self.signal(ProcessOrder::Ending);
        sleep(KILL_AFTER).await;
        self.kill();
    }

    /// How the program ended, for people.
    pub(crate) fn end_of(&self, status: ExitStatus) -> String {
        match (self.launcher.signal(status), status.code()) {
            (Some(signal), _) => format!("was ended by signal {signal}"),
            (None, Some(code)) => format!("ended with exit code {code}"),
            (None, None) => "ended".into(),
        }
    }

    /// Whether the program could not be started; the reason is on its standard error.
    pub(crate) fn could_not_start(&self, status: ExitStatus) -> bool {
        self.launcher.could_not_start(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the program; the error is text for people.
pub(crate) fn start(program: &Program) -> Result<ChildProcess, String> {
    let mut command = command(program, std::env::vars_os().map(|(name, _)| name));
    let mut child = command.spawn().map_err(|error| cannot_start(program, &error))?;
    let group = Group::new(&child, &program.launcher);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    match (stdin, stdout, stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(ChildProcess { child, stdin, stdout, stderr, group }),
        _ => Err("the program has no pipes".into()),
    }
}

/// The command for the program. Of the inherited variables `around`, the server's own are removed.
pub(crate) fn command(program: &Program, around: impl IntoIterator<Item = OsString>) -> Command {
    let command_line = program.launcher.command_line(&program.command);
    let (first, arguments) = command_line.split_first().expect("a program has a name");
    let mut command = Command::new(first);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // If the launcher were killed, its descendants would survive.
    command.process_group(0).kill_on_drop(!program.launcher.is_between());
    for name in around.into_iter().filter(is_own) {
        command.env_remove(name);
    }
    command.envs(&program.env);
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    command
}

fn is_own(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let (prefix, suffix) = HEADERS_VARIABLE;
    OWN_VARIABLES.iter().any(|own| name.starts_with(own))
        || name.starts_with(prefix) && name.ends_with(suffix)
}

fn cannot_start(program: &Program, error: &io::Error) -> String {
    let name = program.command.first().map_or("", String::as_str);
    match &program.directory {
        Some(directory) if !directory.is_dir() => {
            format!("the program {name} cannot be started: there is no directory {}", directory.display())
        }
        _ => format!("the program {name} cannot be started: {error}"),
    }
}

/// Waits until the program has ended and its output is closed. Child processes in the group are killed, so that they
/// do not hold the output open; those that left the group may hold it a little longer.
pub(crate) async fn wait_for_exit(child: &mut Child, group: &Group) {
    // A process that cannot be waited for counts as ended.
    let _ = child.wait().await;
    group.note_exit();
    sleep(OUTPUT_AFTER_EXIT_MAX).await;
}

/// Writes lines to the program until it ends, and holds its input open. A program that closed its input, or never
/// reads it, does not block this.
pub(crate) async fn write_lines(lines: mpsc::Receiver<String>, stdin: impl AsyncWrite + Unpin) -> Infallible {
    write(lines, stdin).await;
    std::future::pending().await
}

/// Writes lines to the program until it accepts no more or the queue is closed.
pub(crate) async fn write(mut lines: mpsc::Receiver<String>, mut stdin: impl AsyncWrite + Unpin) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
}
