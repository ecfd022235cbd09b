//! The stage of the console's pages: their types check, and a browser tests them against the binary.
//! Must not know: how anything is installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::rerun;
use crate::{
    needs::{browser, mcp_node},
    process,
};

/// The time limit of one test file, in ms.
const TESTS_MS_MAX: &str = "600000";
/// The files whose figures depend on the load of the machine, and run alone.
const ALONE: [&str; 2] = ["budget.test.mjs", "torture.test.mjs"];

/// Runs the checks and tests.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let directory = root.join("tests/console");
    let node = browser::ensure(&directory)?;
    mcp_node::ensure()?;
    let clients = mcp_node::start()?.url;
    let with = |args: &[&str]| {
        let mut command = Command::new(&node);
        command
            .current_dir(&directory)
            .args(args)
            .env(super::BINARY, binary)
            .env(mcp_node::VARIABLE, &clients);
        command
    };
    process::run(&mut with(&["node_modules/typescript/bin/tsc", "--noEmit", "-p", "jsconfig.json"]))?;
    let (alone, together): (Vec<_>, Vec<_>) = tests(&directory.join("suite"))?
        .into_iter()
        .partition(|file| ALONE.iter().any(|name| file.ends_with(name)));
    // For two cores: each file has a browser and a server of its own.
    for (concurrency, files) in [("2", together), ("1", alone)] {
        let test = with(&["--test", "--test-concurrency", concurrency, "--test-timeout", TESTS_MS_MAX]);
        rerun::node(test, &files)?;
    }
    Ok(())
}

/// The test files, sorted.
fn tests(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
