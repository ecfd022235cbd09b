//! The soak command: coding agents with every known fault against the real binary, for a chosen number
//! of messages.
//! Must not know: the faults.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{console, process, workspace};

/// The test that it runs.
const TEST: &str = "hook::soak";

/// The options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of messages to the coding agents; the suite sends about 300
    #[arg(long, default_value_t = 20_000)]
    sends: u32,
    /// The seed that a failing run printed
    #[arg(long)]
    seed: Option<u64>,
    /// The binary to test [default: one is built in the profile of the tests]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Builds the binary and the suite, and runs the test.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("{} is absent", binary.display()))?,
        None => {
            process::run(&mut process::cargo(root, &["build", "--workspace", "--bin", "plenary"]))?;
            workspace::metadata(root)?.target_directory.join("debug/plenary")
        }
    };
    let watch = console::begin("soak");
    let test = ["test", "--workspace", "--test", "suite", "--", TEST, "--nocapture", "--test-threads=1"];
    let mut command = process::cargo(root, &test);
    command.env("PLENARY_BIN", binary).env("PLENARY_TEST_SOAK_SENDS", args.sends.to_string());
    if let Some(seed) = args.seed {
        command.env("PLENARY_TEST_SEED", seed.to_string());
    }
    process::run(&mut command)?;
    console::print_line(&format!("    soaked in {}", console::human(watch.elapsed())));
    Ok(())
}
