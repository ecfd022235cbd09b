//! The automation of this repository: one subcommand, one module with `Args` and `run`.
//! Must not know: how a subcommand works. To add one: its `mod`, its variant, its arm.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod cluster;
mod console;
mod count;
mod dist;
mod needs;
mod process;
mod soak;
mod suite;
mod tidy;
mod torture;
mod workspace;

/// Checks, tests and measures Plenary.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure speed and size against baselines, and write docs/benchmarks.md
    Bench(bench::Args),
    /// Run three nodes with three NATS servers on this machine, until Ctrl-C
    Cluster(cluster::Args),
    /// Count lines of code per crate
    Count(count::Args),
    /// Make the packages of a release from one binary
    Dist(dist::Args),
    /// Run coding agents with every known fault for a long time
    Soak(soak::Args),
    /// Run every check and test; installs missing tools
    Test(suite::Args),
    /// Check the project rules that the compiler does not check
    Tidy(tidy::Args),
    /// Run three nodes and three NATS servers with every kind of fault, for a long time
    Torture(torture::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Bench(args) => bench::run(&args),
        Task::Cluster(args) => cluster::run(&args),
        Task::Count(args) => count::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Test(args) => suite::run(&args),
        Task::Tidy(args) => tidy::run(&args),
        Task::Torture(args) => torture::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::print_line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
