//! The program of a coding agent, found from a hook that it runs: the nearest ancestor that is not a shell.
//! Must not know: the purpose.

use rustix::process::{Pid, Signal, getppid, kill_process, test_kill_process};

use crate::cli::environment::Environment;

/// The variable with the process whose end is the end of the session, if no ancestor is.
const PID_VAR: &str = "PLENARY_AGENT_PID";
/// Programs that may run between a coding agent and its hook.
const SHELLS: &[&str] = &["ash", "bash", "busybox", "dash", "env", "fish", "ksh", "sh", "timeout", "zsh"];
/// Maximum number of such programs in a row.
const SHELLS_MAX: usize = 8;

/// A process: its id, and its start time if known, since ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) pid: u32,
    pub(crate) since: Option<u64>,
}

/// Information about a process.
struct ProcessInfo {
    name: String,
    parent: u32,
    since: Option<u64>,
}

impl Program {
    /// The process that has this id now.
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, since: process_info(pid).and_then(|process| process.since) }
    }

    /// Sends it SIGTERM.
    pub(crate) fn request_end(self) -> rustix::io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
        kill_process(pid, Signal::TERM)
    }

    pub(crate) fn is_running(self) -> bool {
        let started_at = || process_info(self.pid).and_then(|process| process.since);
        is_running(self.pid) && self.since.is_none_or(|since| started_at() == Some(since))
    }
}

/// Whether a process of this id runs; false for 0.
pub(super) fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// The coding agent that runs this hook.
pub(crate) fn calling_program(environment: &Environment) -> Option<Program> {
    if let Some(pid) = environment.var(PID_VAR).and_then(|text| text.parse().ok()) {
        return process_info(pid).map(|process| Program { pid, since: process.since });
    }
    let mut pid = u32::try_from(getppid()?.as_raw_nonzero().get()).ok()?;
    for _ in 0..SHELLS_MAX {
        let process = process_info(pid).filter(|_| pid > 1)?;
        if !SHELLS.contains(&process.name.trim_start_matches('-')) {
            return Some(Program { pid, since: process.since });
        }
        pid = process.parent;
    }
    None
}

#[cfg(target_os = "linux")]
fn process_info(pid: u32) -> Option<ProcessInfo> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses, and may contain some.
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let since = fields.nth(17)?.parse().ok()?;
    // A zombie does not count as running.
    (!matches!(state, "Z" | "X")).then(|| ProcessInfo { name: name.to_owned(), parent, since: Some(since) })
}

#[cfg(not(target_os = "linux"))]
fn process_info(pid: u32) -> Option<ProcessInfo> {
    let output =
        std::process::Command::new("ps").args(["-o", "ppid=,comm=", "-p", &pid.to_string()]).output();
    let output = String::from_utf8(output.ok()?.stdout).ok()?;
    let (parent, path) = output.trim().split_once(char::is_whitespace)?;
    let name = path.trim().rsplit('/').next().unwrap_or_default();
    Some(ProcessInfo { name: name.to_owned(), parent: parent.parse().ok()?, since: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_identified_by_its_number_and_its_start() {
        let me = std::process::id();
        let process = process_info(me).unwrap();
        assert!(process.parent > 0 && is_running(me) && !is_running(0));
        let program = Program { pid: me, since: process.since };
        assert!(program.is_running());
        let another = Program { since: Some(1), ..program };
        assert!(!another.is_running() || process.since.is_none(), "its number was used again");
        assert!(!Program { pid: i32::MAX.unsigned_abs(), since: None }.is_running());
    }
}
