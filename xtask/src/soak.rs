//! The soak command: coding agents with every known fault against the real binary, for as long as it is told.
//! Must not know: which faults there are.

use anyhow::Result;

use crate::{console, process, workspace};

/// The test that it is.
const TEST: &str = "hook::soak";

/// How long.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many steps the coding agents take together; the suite takes 120
    #[arg(long, default_value_t = 3_000)]
    steps: u32,
    /// The seed that a failing run printed
    #[arg(long)]
    seed: Option<u64>,
}

/// Builds the binary and the suite, and runs the test.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    process::run(&mut process::cargo(root, &["build", "--workspace", "--bin", "plenary"]))?;
    let binary = workspace::metadata(root)?.target_directory.join("debug/plenary");
    let watch = console::begin("soak");
    let test = ["test", "--workspace", "--test", "suite", "--", TEST, "--nocapture", "--test-threads=1"];
    let mut command = process::cargo(root, &test);
    command.env("PLENARY_BIN", binary).env("PLENARY_TEST_SOAK_STEPS", args.steps.to_string());
    if let Some(seed) = args.seed {
        command.env("PLENARY_TEST_SEED", seed.to_string());
    }
    process::run(&mut command)?;
    console::say(&format!("    soaked in {}", console::human(watch.elapsed())));
    Ok(())
}
