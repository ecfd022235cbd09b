//! Measures the server against bare limits: `run` is the measurement, `limit` is one bare program that it starts as
//! a child process, as it starts the real server. Must not know: any crate of the server.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

mod bench;
mod console;
mod disk;
mod figures;
mod limits;
mod load;
mod machine;
mod process;
mod report;
mod world;

/// Speed and size of Plenary, each as a ratio to a bare limit of the same run.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Measure, and print the table
    Run(RunArgs),
    /// Be a bare limit
    #[command(subcommand)]
    Limit(limits::Limit),
}

/// What is measured, and with what.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// The server's binary
    #[arg(long)]
    plenary: PathBuf,
    /// A directory for stores, on the disk to measure; what is put there is removed again
    #[arg(long)]
    scratch: PathBuf,
    /// A PostgreSQL superuser's URL; without it the figures on PostgreSQL are left out
    #[arg(long = "postgresql")]
    postgres: Option<String>,
    /// A sentence-transformers directory; without it the figures of a model are left out
    #[arg(long)]
    model: Option<String>,
    /// Small sizes and short windows: does everything work?
    #[arg(long)]
    quick: bool,
    /// The full ten million events for the cost as the log grows
    #[arg(long)]
    full: bool,
    /// Only these figures, e.g. P1,P4
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The document whose table is written anew
    #[arg(long)]
    write: Option<PathBuf>,
    /// What the document says was typed
    #[arg(long, default_value = "plenary-bench run")]
    command: String,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().role {
        Role::Limit(limit) => limits::run(limit),
        Role::Run(args) => run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::print_line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &RunArgs) -> Result<()> {
    machine::raise_file_limit()?;
    // One thread makes the load: the other core, and what is left of this one, are the server's.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let table = runtime.block_on(figures::measure(args))?;
    console::print(&table.to_markdown())?;
    if let Some(file) = &args.write {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let written = report::replace_generated(&text, &table.to_document(&args.command));
        std::fs::write(file, written).context("could not write the document")?;
    }
    Ok(())
}
