//! Agents that are programs on this machine: the line protocol of D.8, spoken by a real process that does what it is
//! told, well or badly. Must not know: how the server starts or watches it.

mod cancel;
pub(in crate::runs) mod daemons;
mod endings;
mod garbage;
mod limits;
mod process;
mod requests;
mod sharing;

use blackbox::eventually;

/// Whether a process is there. One that has ended but was not waited for counts as gone.
pub(super) fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !status.is_empty() && !status.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

/// Waits until a process is gone.
pub(in crate::runs) async fn gone(pid: &str) {
    eventually("the process is gone", || async { (!is_alive(pid)).then_some(()) }).await;
}
