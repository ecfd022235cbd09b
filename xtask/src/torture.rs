//! The torture command: three nodes with three NATS servers in network namespaces, with injected faults
//! of every kind.
//! Must not know: the faults, and the invariants.

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    console,
    needs::{nats, network},
    process, workspace,
};

/// The test that it runs.
const TEST: &str = "nodes::nodes_lose_nothing";

/// The options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of rounds: each fault in turn, then faults chosen at random
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Number of the first round, to continue after a failed one
    #[arg(long, default_value_t = 0)]
    first: u32,
    /// Only faults whose names begin so, e.g. `Kill(Pen)` or `Damage`; may be repeated
    #[arg(long, value_name = "FAULT")]
    only: Vec<String>,
    /// Seed of an earlier run, to repeat its choices
    #[arg(long)]
    seed: Option<u64>,
    /// File for the figures of each round, one JSON object per line
    #[arg(long)]
    figures: Option<PathBuf>,
}

/// Builds the binary and the suite, and runs the test. It requires the permission to create network
/// namespaces.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    nats::ensure()?;
    network::ensure()?;
    process::run(&mut process::cargo(root, &["build", "--workspace", "--bin", "plenary"]))?;
    let binary = workspace::metadata(root)?.target_directory.join("debug/plenary");
    let watch = console::begin("torture");
    let test = ["test", "-p", "blackbox", "--test", "torture", "--", TEST, "--nocapture"];
    let mut command = process::cargo(root, &test);
    command.env("PLENARY_BIN", binary).env("PLENARY_TEST_NATS", nats::binary()?);
    command.env("PLENARY_TORTURE_ROUNDS", args.rounds.to_string());
    command.env("PLENARY_TORTURE_FIRST", args.first.to_string());
    command.env("PLENARY_TORTURE_ONLY", args.only.join(";"));
    if let Some(seed) = args.seed {
        command.env("PLENARY_TEST_SEED", seed.to_string());
    }
    if let Some(figures) = &args.figures {
        command.env("PLENARY_TORTURE_FIGURES", std::path::absolute(figures)?);
    }
    process::run(&mut command)?;
    console::print_line(&format!("    {} rounds in {}", args.rounds, console::human(watch.elapsed())));
    Ok(())
}
