//! Tests that failed are run once more, by themselves: on a busy machine a browser or a server may be late. What passes then
//! is named as unsteady and the run goes on; what fails twice has failed.
//! Must not know: what is tested.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{console, process};

/// Where more tests fail, something is broken, and they are not run again.
const RERUN_MAX: usize = 12;
/// Tests mostly wait for a server, so that two for each core keep the cores busy.
const THREADS_PER_CORE: usize = 2;

/// Everything but examples, which Clippy compiles, and tests in documentation, of which there are none.
const TESTS: [&str; 6] = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// The name of a test that failed, if the line says so.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Runs every test of the workspace by `command`, which makes a Cargo with arguments.
pub(super) fn cargo(command: impl Fn(&[&str]) -> Result<Command>) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    // One failure must not hide the others: the log of a run is all that is left of a machine.
    let mut first = command(&TESTS)?;
    first.env("RUST_TEST_THREADS", threads.to_string());
    let mut failed = Vec::new();
    let outcome = process::follow(&mut first, |line| {
        console::say(line);
        failed.extend(failed_test(line).map(str::to_owned));
    });
    let Err(error) = outcome else { return Ok(()) };
    if failed.is_empty() || failed.len() > RERUN_MAX {
        return Err(error);
    }
    console::say(&format!("\nonce more: {}", failed.join(", ")));
    process::run(command(&TESTS)?.args(["--", "--exact"]).args(&failed))
        .with_context(|| format!("{error:#}"))?;
    console::say(&format!("unsteady, passed the second time: {}", failed.join(", ")));
    Ok(())
}

/// Runs the test runner of Node on these files.
pub(super) fn node(mut command: Command, files: &[PathBuf]) -> Result<()> {
    let state = tempfile::tempdir()?;
    command.arg("--test-rerun-failures").arg(state.path().join("passed.json")).args(files);
    let Err(error) = process::run(&mut command) else { return Ok(()) };
    console::say("\nonce more: what failed");
    process::run(&mut command).with_context(|| format!("{error:#}"))?;
    console::say("unsteady: what failed has passed the second time");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_failed_are_told_from_the_rest() {
        assert_eq!(failed_test("test a::b_c ... FAILED"), Some("a::b_c"));
        for line in [
            "test a::b ... ok",
            "test result: FAILED. 1 passed",
            "---- a stdout ----",
            "test x - should panic ... ok",
        ] {
            assert_eq!(failed_test(line), None, "{line}");
        }
    }
}
