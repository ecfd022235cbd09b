//! The bench command: builds the server and the benchmark in release, starts PostgreSQL, and runs it.
//! Must not know: the figures, or how they are measured.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{console, needs, process, workspace};

/// The document that a full benchmark writes.
const DOCUMENT: &str = "docs/benchmarks.md";

/// The options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Use small sizes and short windows, to check that everything works
    #[arg(long)]
    quick: bool,
    /// Use ten million events, not one million, for the cost as the log grows; takes several minutes more
    #[arg(long)]
    full: bool,
    /// Only these figures, e.g. P1,P4
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    only: Vec<String>,
    /// Show the table without writing the document, as `--quick` and `--only` do
    #[arg(long)]
    dry: bool,
}

impl Args {
    /// The command as the user typed it.
    fn command(&self) -> String {
        let mut command = "cargo xtask bench".to_owned();
        for (on, flag) in [(self.quick, " --quick"), (self.full, " --full"), (self.dry, " --dry")] {
            command.push_str(if on { flag } else { "" });
        }
        if !self.only.is_empty() {
            command.push_str(" --only ");
            command.push_str(&self.only.join(","));
        }
        command
    }

    /// Only a full benchmark updates the document.
    fn is_whole(&self) -> bool {
        !self.quick && !self.dry && self.only.is_empty()
    }

    /// Whether a figure is selected.
    fn has(&self, figure: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|id| id == figure)
    }
}

/// Builds, measures, and writes the document.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let watch = console::begin("release build");
    // Built separately: a joint build would unify features that the server alone does not have.
    for package in ["plenary", "plenary-bench"] {
        process::run(&mut process::cargo(root, &["build", "--release", "--package", package]))?;
    }
    console::print_line(&format!("    built in {}", console::human(watch.elapsed())));
    let target = workspace::metadata(root)?.target_directory;
    let mut command = Command::new(binary(&target, "plenary-bench")?);
    command.arg("run").arg("--plenary").arg(binary(&target, "plenary")?).arg("--scratch").arg(&target);
    command.args(["--command", &args.command()]);
    let mut servers = Vec::new();
    for server in needs::SERVERS {
        if let Some((_, flag)) = server.measured.filter(|(figure, _)| args.has(figure)) {
            (server.ensure)().with_context(|| format!("{} cannot be had", server.name))?;
            let running = (server.start)().with_context(|| format!("{} did not start", server.name))?;
            command.arg(flag).arg(&running.url);
            servers.push(running);
        }
    }
    for (on, flag) in [(args.quick, "--quick"), (args.full, "--full")] {
        command.args(on.then_some(flag));
    }
    if !args.only.is_empty() {
        command.args(["--only", &args.only.join(",")]);
    }
    if args.is_whole() {
        command.arg("--write").arg(root.join(DOCUMENT));
    }
    let watch = console::begin("measurement");
    let status = command.stdin(Stdio::null()).status().context("could not start the measurement")?;
    if !status.success() {
        bail!("the measurement ended with {status}");
    }
    console::print_line(&format!("    measured in {}", console::human(watch.elapsed())));
    Ok(())
}

fn binary(target: &std::path::Path, name: &str) -> Result<PathBuf> {
    let path = target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        bail!("Cargo built no {name}");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_that_no_figure_needs() {
        let measured: Vec<_> = needs::SERVERS.iter().filter_map(|server| server.measured).collect();
        assert_eq!(measured, [("P11", "--postgresql"), ("P20", "--model")]);
    }

    #[test]
    fn only_the_whole_measurement_is_written() {
        let whole = Args { quick: false, full: false, only: Vec::new(), dry: false };
        assert!(whole.is_whole() && whole.has("P11"));
        assert_eq!(whole.command(), "cargo xtask bench");
        let part = Args { quick: true, only: vec!["P1".to_owned(), "P4".to_owned()], ..whole };
        assert!(!part.is_whole() && !part.has("P11") && part.has("P4"));
        assert_eq!(part.command(), "cargo xtask bench --quick --only P1,P4");
    }
}
