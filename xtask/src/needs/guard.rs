//! Cleaning up after this process however it ends: success, failure, Ctrl-C, `kill -9`.
//! Must not know: what is being cleaned up.
//!
//! A shell in a process group of its own (Ctrl-C does not reach it) waits for the end of its standard input, which
//! only this process holds open, and then runs the cleaning command.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use crate::console;

/// Runs its cleaning command when dropped, or when this process is gone.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Sets `script` up as the cleaning command, with `args` as `$1`, `$2` …; `prepare` gives it user and place.
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
        // Waiting closes its standard input first: that is the signal.
        if let Err(error) = self.shell.wait() {
            console::say(&format!("warning: cleaning up failed: {error}"));
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
