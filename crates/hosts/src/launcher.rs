//! The process between a server and one of its programs. It ends everything that the program started, even processes
//! that left its process group or session, and even if the server is killed. It is the `plenary` binary itself,
//! started as `plenary __launch PROGRAM ARGUMENT…`.
//!
//! Orphans of the program become its children (Linux: a child subreaper), so it finds and kills them all. The end of
//! its standard input, which it copies to the program, tells it that the server is gone.
//! Must not know: the content of the pipes, or the server.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs::File,
    os::fd::AsFd,
    process::{ExitCode, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait, waitpid};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe::Receiver,
    process::{Child, ChildStdin, Command},
    signal::unix::{SignalKind, signal},
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, sleep, sleep_until},
};

use crate::program::launcher::CANNOT_START;

/// How long a program may run after its input ended: its run is over, or its server is gone.
const AFTER_INPUT: Duration = Duration::from_secs(5);
/// Most bytes that wait for a program that does not read; beyond it the program is killed.
const UNREAD_BYTES_MAX: usize = 64 << 20;
/// Most pieces of waiting input; beyond it the program is killed.
const UNREAD_PIECES_MAX: usize = 4_096;
/// How long killing may take; a process that the system does not release is then left behind.
const KILLING: Duration = Duration::from_secs(5);
/// The pause between two looks for survivors.
const KILL_EVERY: Duration = Duration::from_millis(2);
/// The offset of signal numbers in exit codes, as in shells.
const BY_SIGNAL: i32 = 128;

/// Implements `plenary __launch`: `command_line` is the program and its arguments.
pub fn launch(command_line: impl IntoIterator<Item = OsString>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let code = match runtime {
        Ok(runtime) => runtime.block_on(run_program(command_line.into_iter().collect())),
        Err(error) => Err(error.to_string()),
    };
    code.unwrap_or_else(|error| {
        // The server reads the last line of standard error.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes());
        ExitCode::from(CANNOT_START)
    })
}

async fn run_program(command_line: Vec<OsString>) -> Result<ExitCode, String> {
    let cannot = |error: std::io::Error| format!("a program cannot be started: {error}");
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| cannot(error.into()))?;
    // Before the program starts: a signal at this moment must not leave one behind.
    let mut kill = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut terminate_signal = signal(SignalKind::user_defined1()).map_err(cannot)?;
    let mut children = signal(SignalKind::child()).map_err(cannot)?;
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(cannot)?;
    let input = Receiver::from_owned_fd(input).map_err(cannot)?;
    let (mut child, stdin) = start(&command_line)?;
    let program = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let copying = copy_input(input, stdin);
    tokio::pin!(copying);
    let mut deadline = None;
    let exit_status = loop {
        tokio::select! {
            biased;
            _ = kill.recv() => break None,
            exit_status = child.wait() => break exit_status.ok(),
            _ = terminate_signal.recv() => terminate(program),
            outcome = &mut copying, if deadline.is_none() => match outcome {
                InputOver::Ended => deadline = Some(Instant::now() + AFTER_INPUT),
                InputOver::Unread => break None,
            },
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => break None,
            _ = children.recv() => reap_orphans(program),
        }
    };
    kill_all(program).await;
    Ok(exit_status.map_or(ExitCode::FAILURE, code_of))
}

/// Starts the program in its own group. From then on no other process holds its output.
fn start(command_line: &[OsString]) -> Result<(Child, ChildStdin), String> {
    let Some((program, arguments)) = command_line.split_first() else {
        return Err("no program is named".into());
    };
    let name = program.to_string_lossy();
    let cannot = |error: std::io::Error| format!("the program {name} cannot be started: {error}");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(cannot)?;
    let null_device = File::options().write(true).open("/dev/null").map_err(cannot)?;
    rustix::stdio::dup2_stdout(&null_device).map_err(|error| cannot(error.into()))?;
    rustix::stdio::dup2_stderr(&null_device).map_err(|error| cannot(error.into()))?;
    let stdin = child.stdin.take().ok_or_else(|| format!("the program {name} has no input"))?;
    Ok((child, stdin))
}

/// Why the copying of input stopped.
enum InputOver {
    /// The server has closed it, or is gone.
    Ended,
    /// The program does not read it.
    Unread,
}

/// Copies the input to the program. It is read whether or not the program reads, so that its end is noticed at once.
async fn copy_input(mut source: Receiver, mut stdin: ChildStdin) -> InputOver {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(UNREAD_PIECES_MAX);
    let unread = Arc::new(AtomicUsize::new(0));
    let unread_by_program = unread.clone();
    tokio::spawn(async move {
        while let Some(piece) = receiver.recv().await {
            if stdin.write_all(&piece).await.is_err() {
                return;
            }
            unread_by_program.fetch_sub(piece.len(), Ordering::AcqRel);
        }
    });
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match source.read(&mut buffer).await {
            Ok(0) | Err(_) => return InputOver::Ended,
            Ok(count) => count,
        };
        // A program that closed its input gets no more, and continues to run.
        match sender.try_send(buffer[..count].to_vec()) {
            Ok(()) if unread.fetch_add(count, Ordering::AcqRel) + count <= UNREAD_BYTES_MAX => {}
            Err(TrySendError::Closed(_)) => {}
            Ok(()) | Err(TrySendError::Full(_)) => return InputOver::Unread,
        }
    }
}

/// Asks the program and its descendants to end.
fn terminate(program: Option<Pid>) {
    if let Some(program) = program {
        // Each may have ended already.
        let _ = kill_process_group(program, Signal::TERM);
        for process in descendants().into_iter().filter(|process| *process != program) {
            let _ = kill_process(process, Signal::TERM);
        }
    }
}

/// Reaps ended orphans, but not the program itself.
fn reap_orphans(program: Option<Pid>) {
    for child in children_of(rustix::process::getpid()) {
        if Some(child) != program {
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
    }
}

/// Kills the descendants repeatedly until none is left, so that processes that start meanwhile are killed too.
async fn kill_all(program: Option<Pid>) {
    let deadline = Instant::now() + KILLING;
    while Instant::now() < deadline {
        if let Some(program) = program {
            let _ = kill_process_group(program, Signal::KILL);
        }
        for process in descendants() {
            let _ = kill_process(process, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There are no children any more, so there are no orphans either.
                Err(_) => return,
            }
        }
        sleep(KILL_EVERY).await;
    }
}

/// The descendants of this process; empty on systems without `/proc`.
fn descendants() -> Vec<Pid> {
    let (mut all, mut visited, mut pending) = (Vec::new(), HashSet::new(), vec![rustix::process::getpid()]);
    while let Some(process) = pending.pop() {
        for child in children_of(process) {
            if visited.insert(child.as_raw_nonzero()) {
                all.push(child);
                pending.push(child);
            }
        }
    }
    all
}

/// The children of a process, over all its threads.
fn children_of(process: Pid) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
    let lists = threads.into_iter().flatten().flatten();
    let lists = lists.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let parse_pids = |list: String| {
        let pids = list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        pids.collect::<Vec<_>>()
    };
    lists.flat_map(parse_pids).collect()
}

/// The exit code of the program, as in shells.
fn code_of(exit_status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    let by_signal = exit_status.signal().map(|signal| BY_SIGNAL + signal);
    let code = exit_status.code().or(by_signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
