//! Programs that the automation starts: shown before they run, with an error if they fail.
//! Must not know: which programs.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::console;

/// Most lines of a program's output that wait to be passed on; then the program waits.
const LINES_WAITING_MAX: usize = 1_024;

/// A command of the Cargo that runs this task, at the root of the workspace.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(args);
    // Cargo's variables about this task's package are an input of some build scripts: they, and all that
    // depends on them, would be rebuilt whenever builds by hand and by this task alternate.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs with the terminal's streams; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let command_line = show(command);
    console::print_line(&format!("    $ {command_line}"));
    let status = command.status().with_context(|| format!("could not start `{command_line}`"))?;
    if !status.success() {
        bail!("`{command_line}` ended with {status}");
    }
    Ok(())
}

/// Runs and passes on each line of its standard output; its standard error is the terminal's. Whenever no line
/// has come for `silence_max`, the processes that the command started are killed, and the command goes on
/// without them.
pub(crate) fn follow(command: &mut Command, silence_max: Duration, mut line: impl FnMut(&str)) -> Result<()> {
    let command_line = show(command);
    console::print_line(&format!("    $ {command_line}"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{command_line}`"))?;
    let output = child.stdout.take().context("its standard output is piped")?;
    let (sender, lines) = mpsc::sync_channel(LINES_WAITING_MAX);
    std::thread::spawn(move || {
        for text in BufReader::new(output).lines() {
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    loop {
        match lines.recv_timeout(silence_max) {
            Ok(text) => line(&text?),
            Err(RecvTimeoutError::Timeout) => {
                console::print_line(&format!("    killed: no output for {}", console::human(silence_max)));
                kill_children(child.id())?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{command_line}` ended with {status}");
    }
    Ok(())
}

/// Kills the direct children of a process.
fn kill_children(parent: u32) -> Result<()> {
    for entry in std::fs::read_dir("/proc")?.flatten() {
        // The name in the second field may contain spaces and brackets; the parent is the second word behind it.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let found = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(1));
        if found.and_then(|id| id.parse().ok()) == Some(parent) {
            // It may have ended meanwhile.
            succeeds(Command::new("kill").arg("-KILL").arg(entry.file_name()));
        }
    }
    Ok(())
}

/// Runs quietly and returns its standard output; the error contains its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let command_line = show(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{command_line}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{command_line}` ended with {}: {}", output.status, stderr.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{command_line}` did not print UTF-8"))
}

/// Whether the command starts and succeeds; its output is hidden.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as a user would type it, without the program's directory.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let error = run(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.contains("sh -c exit 3") && error.contains('3'), "{error}");
    }

    #[test]
    fn an_error_of_a_quiet_program_includes_its_standard_error() {
        let error = output(Command::new("sh").args(["-c", "echo no room >&2; exit 1"])).unwrap_err();
        assert!(error.to_string().ends_with("no room"), "{error}");
    }

    #[test]
    fn lines_are_passed_on_and_failure_is_returned() {
        let mut lines = Vec::new();
        let mut command = Command::new("/bin/sh");
        let error =
            follow(command.args(["-c", "echo a; echo b; exit 4"]), LONG, |line| lines.push(line.to_owned()));
        assert_eq!(lines, ["a", "b"]);
        assert!(error.unwrap_err().to_string().contains('4'));
    }

    #[test]
    fn children_that_print_nothing_are_killed_and_the_command_goes_on() {
        let mut lines = Vec::new();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sh -c 'echo hung; exec sleep 600'; echo ended with $?"]);
        follow(&mut command, Duration::from_millis(300), |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["hung", "ended with 137"]);
    }

    #[test]
    fn a_program_that_is_not_there_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-anywhere")));
    }
}
