//! Cleans up after this process however it ends: success, failure, Ctrl-C, `kill -9`.
//! Must not know: the resource.
//!
//! A shell in a separate process group (Ctrl-C does not reach it) waits for the end of its standard
//! input, which only this process holds open, and then runs the cleanup command.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use crate::console;

/// Runs its cleanup command when dropped, or when this process has ended.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Sets `script` as the cleanup command, with `args` as `$1`, `$2` …; `prepare` sets its user and
    /// directory.
    pub(crate) fn set(script: &str, args: &[&str], prepare: impl Fn(&mut Command)) -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &format!("while read -r _; do :; done; {script}"), "guard"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        prepare(&mut command);
        let shell = command.spawn().context("could not start the guard that cleans up")?;
        Ok(Self { shell })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Waiting first closes its standard input, which is the signal.
        if let Err(error) = self.shell.wait() {
            console::print_line(&format!("warning: cleaning up failed: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_guard_has_cleaned_up() {
        let file = std::env::temp_dir().join(format!("plenary-guard-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let guard = Guard::set("rm \"$1\"", &[file.to_str().unwrap()], |_| {}).unwrap();
        assert!(file.exists());
        drop(guard);
        assert!(!file.exists());
    }
}
