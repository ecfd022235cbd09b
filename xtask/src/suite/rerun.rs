//! Repeats failed tests once, alone: on a busy machine a browser or a server may be late. A test that
//! passes then is reported as unsteady and the run continues; one that fails twice has failed.
//! Must not know: the tests.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{console, process};

/// With more failures the cause is not chance, and no test is repeated.
const RERUN_MAX: usize = 12;
/// Tests mostly wait for a server, so two threads per core keep the cores busy.
const THREADS_PER_CORE: usize = 2;

/// Everything except examples, which Clippy compiles, and documentation tests, which do not exist.
const TESTS: [&str; 6] = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"];

/// The name of a failed test, if the line reports one.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Runs every test of the workspace; `command` creates a Cargo command with arguments.
pub(super) fn cargo(command: impl Fn(&[&str]) -> Result<Command>) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) * THREADS_PER_CORE;
    // One failure must not hide the others: often only the log of a run is available.
    let mut first = command(&TESTS)?;
    first.env("RUST_TEST_THREADS", threads.to_string());
    let mut failed = Vec::new();
    let outcome = process::follow(&mut first, |line| {
        console::print_line(line);
        failed.extend(failed_test(line).map(str::to_owned));
    });
    let Err(error) = outcome else { return Ok(()) };
    if failed.is_empty() || failed.len() > RERUN_MAX {
        return Err(error);
    }
    console::print_line(&format!("\nonce more: {}", failed.join(", ")));
    process::run(command(&TESTS)?.args(["--", "--exact"]).args(&failed))
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
    fn failed_tests_are_distinguished_from_the_rest() {
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
