//! Ctrl-C and SIGTERM, any number of times, and optionally the hang-up of the terminal.
//! Must not know: the interrupted work.

use std::{fs, future::pending, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals; once this exists, they do not end the process.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl Interrupts {
    /// Watches Ctrl-C and SIGTERM.
    ///
    /// # Errors
    /// When the signals cannot be watched.
    pub fn new() -> io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, hangup: None })
    }

    /// Watches SIGHUP too, unless the parent process has made it ignored, as `nohup` does.
    ///
    /// # Errors
    /// When the signals cannot be watched.
    pub fn with_hangup() -> io::Result<Self> {
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { hangup, ..Self::new()? })
    }

    /// Waits for the next signal. May be dropped and called again.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up(&mut self.hangup) => {}
        }
    }
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => pending().await,
    }
}

/// Whether SIGHUP is ignored; true if that is unknown.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status");
    status.ok().and_then(|status| is_hangup_in(&status)).unwrap_or(true)
}

/// Whether a process's status in the format of Linux ignores SIGHUP.
fn is_hangup_in(status: &str) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask & 1 << (SignalKind::hangup().as_raw_value() - 1) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_sighup_is_detected() {
        let status =
            |mask: &str| format!("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t1\n");
        assert_eq!(is_hangup_in(&status("0000000000001001")), Some(true));
        assert_eq!(is_hangup_in(&status("0000000000001000")), Some(false));
        assert_eq!((is_hangup_in(&status("?")), is_hangup_in("Name:\tx\n")), (None, None));
    }
}
