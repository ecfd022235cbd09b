//! Repeats failed tests once, alone: on a busy machine a browser or a server may be late. A test that
//! passes then is reported as unsteady and the run continues; one that fails twice has failed. A test that
//! does not end has failed: its process is killed, so that the run ends and names it.
//! Must not know: the tests.

use std::{collections::BTreeSet, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result};

use crate::{console, process};

/// With more failures the cause is not chance, and no test is repeated.
const RERUN_MAX: usize = 12;
/// Tests mostly wait for a server, so two threads per core keep the cores busy.
const THREADS_PER_CORE: usize = 2;

/// Everything except examples, which Clippy compiles, and documentation tests, which do not exist.
const TESTS: [&str; 6] = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// The time without a finished test after which a test has hung; the fuzz test's own duration comes on top.
const SILENCE_MAX: Duration = Duration::from_secs(480);

/// The tests that have failed so far, and those that the test runner reported as slow and that have not ended.
#[derive(Default)]
struct Outcomes {
    failed: BTreeSet<String>,
    slow: BTreeSet<String>,
}

impl Outcomes {
    /// Notes what a line of the test runner reports.
    fn note(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test ") else { return };
        if let Some((name, _)) = rest.split_once(" has been running for over ") {
            self.slow.insert(name.to_owned());
        } else if let Some((name, outcome)) = rest.rsplit_once(" ... ") {
            self.slow.remove(name);
            if outcome == "FAILED" {
                self.failed.insert(name.to_owned());
            }
        }
    }

    /// The tests to repeat.
    fn repetitions(self) -> Vec<String> {
        self.failed.union(&self.slow).cloned().collect()
    }
}

/// Runs every test of the workspace; `command` creates a Cargo command with arguments.
pub(super) fn cargo(fuzz: Duration, command: impl Fn(&[&str]) -> Result<Command>) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    let silence_max = SILENCE_MAX + fuzz;
    // Cargo prints nothing on standard output while it builds.
    process::run(command(&TESTS)?.arg("--no-run"))?;
    // One failure must not hide the others: often only the log of a run is available.
    let mut first = command(&TESTS)?;
    first.env("RUST_TEST_THREADS", threads.to_string());
    let mut outcomes = Outcomes::default();
    let outcome = process::follow(&mut first, silence_max, |line| {
        console::print_line(line);
        outcomes.note(line);
    });
    let Err(error) = outcome else { return Ok(()) };
    let failed = outcomes.repetitions();
    if failed.is_empty() || failed.len() > RERUN_MAX {
        return Err(error);
    }
    console::print_line(&format!("\nonce more: {}", failed.join(", ")));
    process::follow(command(&TESTS)?.args(["--", "--exact"]).args(&failed), silence_max, console::print_line)
        .with_context(|| format!("{error:#}"))?;
    console::print_line(&format!("unsteady, passed the second time: {}", failed.join(", ")));
    Ok(())
}

/// Runs Node's test runner on these files.
pub(super) fn node(mut command: Command, files: &[PathBuf]) -> Result<()> {
    let state = tempfile::tempdir()?;
    command.arg("--test-rerun-failures").arg(state.path().join("passed.json")).args(files);
    let Err(error) = process::run(&mut command) else { return Ok(()) };
    console::print_line("\nonce more: what failed");
    process::run(&mut command).with_context(|| format!("{error:#}"))?;
    console::print_line("unsteady: what failed has passed the second time");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_and_hung_tests_are_distinguished_from_the_rest() {
        let mut outcomes = Outcomes::default();
        for line in [
            "test a::b ... ok",
            "test a::b_c ... FAILED",
            "test a::slow has been running for over 60 seconds",
            "test a::hung has been running for over 60 seconds",
            "test a::slow ... ok",
            "test result: FAILED. 1 passed",
            "---- a stdout ----",
            "test x - should panic ... ok",
        ] {
            outcomes.note(line);
        }
        assert_eq!(outcomes.repetitions(), ["a::b_c", "a::hung"]);
    }
}
