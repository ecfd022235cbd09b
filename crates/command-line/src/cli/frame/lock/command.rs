//! Runs a command under a claim: passes signals on to it, returns its exit code, and releases the claim at its end,
//! however it ended.
//! Must not know: the claimed resource.

use std::{fs::File, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use tokio::{
    process::{Child, Command},
    signal::unix::{self, SignalKind, signal},
};

use super::{claim::Claim, first_claim};
use crate::cli::failure::{Exit, Failure};

/// The shell's exit code for a command that cannot be run; the next one is for a command that does not exist.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// The shell adds this to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// Claims, runs the command, and releases.
pub(super) async fn run(
    claim: &Claim<'_>,
    wait: Option<Duration>,
    command: &[String],
) -> Result<(), Failure> {
    let mut signals = Signals::watch()?;
    let claimed = tokio::select! {
        result = first_claim::claim(claim, wait) => result.map(drop),
        signal = signals.next() => {
            claim.release().await;
            return Err(Failure::Reported(Exit::Command(by_signal(signal.as_raw()))));
        }
    };
    claimed?;
    let code = match start(claim, command) {
        Ok(mut child) => tokio::select! {
            code = attend(&mut child, &mut signals) => code,
            () = claim.keep_extended() => Ok(0),
        },
        Err(failed) => Ok(failed),
    };
    claim.release().await;
    match code? {
        0 => Ok(()),
        code => Err(Failure::Reported(Exit::Command(code))),
    }
}

/// Starts the command; on failure reports why, and returns the exit code.
fn start(claim: &Claim<'_>, command: &[String]) -> Result<Child, u8> {
    let Some((program, arguments)) = command.split_first() else { return Err(CANNOT_RUN) };
    let started = Command::new(program).args(arguments).env("PLENARY_LEASE", claim.lease_id.as_str()).spawn();
    started.map_err(|error| {
        claim.note(&format!("{program} cannot be run: {error}"));
        if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN }
    })
}

/// Waits for the command to end, and forwards signals to it.
async fn attend(child: &mut Child, signals: &mut Signals) -> Result<u8, Failure> {
    loop {
        tokio::select! {
            ended = child.wait() => {
                return ended.map(code).map_err(|e| Failure::local(format!("the command cannot be waited for: {e}")));
            }
            signal = signals.next() => forward(child, signal),
        }
    }
}

fn forward(child: &Child, signal: Signal) {
    // The terminal signals its whole foreground group; a second signal could mean more to the command.
    if matches!(signal, Signal::INT | Signal::QUIT) && in_foreground() {
        return;
    }
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        // The command may have ended already.
        let _ended = kill_process(pid, signal);
    }
}

/// Whether this process is in the terminal's foreground group, where Ctrl-C reaches the command directly.
fn in_foreground() -> bool {
    File::open("/dev/tty")
        .is_ok_and(|tty| rustix::termios::tcgetpgrp(tty).is_ok_and(|group| group == getpgrp()))
}

fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => by_signal(signal),
        (None, None) => u8::MAX,
    }
}

fn by_signal(number: i32) -> u8 {
    u8::try_from(BY_SIGNAL + number).unwrap_or(u8::MAX)
}

/// The signals that are forwarded.
struct Signals {
    hangup: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    fn watch() -> Result<Self, Failure> {
        let watch =
            |kind| signal(kind).map_err(|e| Failure::local(format!("signals cannot be watched: {e}")));
        Ok(Self {
            hangup: watch(SignalKind::hangup())?,
            interrupt: watch(SignalKind::interrupt())?,
            quit: watch(SignalKind::quit())?,
            terminate: watch(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::HUP,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.quit.recv() => Signal::QUIT,
            _ = self.terminate.recv() => Signal::TERM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_commands_own() {
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(15)), 143);
    }
}
