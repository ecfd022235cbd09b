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

/// What the server keeps to itself: variables that begin like this may hold its secrets.
const OWN_VARIABLES: [&str; 2] = ["PLENARY_", "AWS_"];

/// And those that end like this: `OTEL_EXPORTER_OTLP_HEADERS` and its kin hold the collector's token.
const HEADERS_VARIABLE: (&str, &str) = ("OTEL_EXPORTER_OTLP_", "HEADERS");

/// How long a program may take from the line that cancels to the end of its process: then SIGTERM, then SIGKILL.
const TERM_AFTER: Duration = Duration::from_secs(2);
const KILL_AFTER: Duration = Duration::from_secs(2);

/// How long the output of a program that is over may be held open by what it left behind.
const OUTPUT_AFTER_EXIT_MAX: Duration = Duration::from_secs(2);

/// A program that was started.
pub(crate) struct ChildProcess {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) group: Group,
}

/// A program with whatever it started. Killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    /// The launcher, or where there is none the program, which leads its process group.
    leader: Option<Pid>,
    launcher: Launcher,
    over: AtomicBool,
}

/// What is wanted of it.
enum ProcessOrder {
    /// To end.
    Ending,
    /// To be killed.
    Killing,
}

impl Group {
    fn of(child: &Child, launcher: &Launcher) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, launcher: launcher.clone(), over: AtomicBool::new(false) }
    }

    /// Tells all of it. One that is over is left alone: its number may belong to others by now.
    fn tell(&self, wanted: ProcessOrder) {
        let Some(leader) = self.leader.filter(|_| !self.over.load(Ordering::Acquire)) else { return };
        // It may be over already.
        let _ = match (self.launcher.is_between(), wanted) {
            (true, ProcessOrder::Ending) => kill_process(leader, Signal::USR1),
            (true, ProcessOrder::Killing) => kill_process(leader, Signal::TERM),
            (false, ProcessOrder::Ending) => kill_process_group(leader, Signal::TERM),
            (false, ProcessOrder::Killing) => kill_process_group(leader, Signal::KILL),
        };
    }

    /// Kills what is left of it, for good.
    pub(crate) fn kill(&self) {
        self.tell(ProcessOrder::Killing);
        self.over.store(true, Ordering::Release);
    }

    /// Its leader has ended. A launcher takes everything along.
    pub(crate) fn ended(&self) {
        if self.launcher.is_between() {
            self.over.store(true, Ordering::Release);
        } else {
            self.kill();
        }
    }

    /// Gives it the time to end by itself, then asks, then kills.
    pub(crate) async fn stop(&self) {
        sleep(TERM_AFTER).await;
        self.tell(ProcessOrder::Ending);
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

    /// Whether the program could not be started; why, it wrote last.
    pub(crate) fn could_not_start(&self, status: ExitStatus) -> bool {
        self.launcher.could_not_start(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the program; or says for people why it can't be.
pub(crate) fn start(program: &Program) -> Result<ChildProcess, String> {
    let mut command = command(program, std::env::vars_os().map(|(name, _)| name));
    let mut child = command.spawn().map_err(|error| cannot_start(program, &error))?;
    let group = Group::of(&child, &program.launcher);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    match (stdin, stdout, stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(ChildProcess { child, stdin, stdout, stderr, group }),
        _ => Err("the program has no pipes".into()),
    }
}

/// The program as it will be started, with these variables around it.
pub(crate) fn command(program: &Program, around: impl IntoIterator<Item = OsString>) -> Command {
    let words = program.launcher.words(&program.command);
    let (first, arguments) = words.split_first().expect("a program has a name");
    let mut command = Command::new(first);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A launcher that was killed would leave everything behind.
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
    let (begins, ends) = HEADERS_VARIABLE;
    OWN_VARIABLES.iter().any(|own| name.starts_with(own)) || name.starts_with(begins) && name.ends_with(ends)
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

/// Waits until the program has ended and its output with it. What it left running is killed, so that nobody holds its
/// output open; who left the group may hold it a little longer.
pub(crate) async fn gone(child: &mut Child, group: &Group) {
    // A process that can't be waited for is as good as over.
    let _ = child.wait().await;
    group.ended();
    sleep(OUTPUT_AFTER_EXIT_MAX).await;
}

/// Writes lines to the program until it is over; holds its input open meanwhile. A program that closed its input, or
/// never reads it, is not held up by that.
pub(crate) async fn write_lines(
    mut lines: mpsc::Receiver<String>,
    mut stdin: impl AsyncWrite + Unpin,
) -> Infallible {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
    std::future::pending().await
}
