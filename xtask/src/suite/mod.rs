//! The test command: every check and test, stage by stage, up to the first failure.
//! Must not know: how a server is started, or how a rule decides.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    console,
    needs::{self, Running, rust_tools},
    process, tidy, workspace,
};

/// How much to run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The inner loop: no servers, no installs, short black-box runs
    #[arg(long)]
    quick: bool,
    /// How long the description is held against the server with made-up requests; never with --quick
    #[arg(long, value_name = "MINUTES", default_value_t = 2)]
    fuzz_minutes: u32,
}

/// Where black-box tests find the binary.
const BINARY: &str = "PLENARY_BIN";
/// `all`: a test whose server is absent fails instead of passing over itself.
const REQUIRE: &str = "PLENARY_TEST_REQUIRE";
/// `1`: few rounds of everything that repeats, and no servers.
const QUICK: &str = "PLENARY_TEST_QUICK";
/// How long requests are made up, in seconds.
const FUZZ_SECONDS: &str = "PLENARY_TEST_FUZZ_SECONDS";

/// One stage: its name, what to do when it fails, and the work.
struct Stage {
    name: &'static str,
    advice: &'static str,
    work: fn(&mut Run) -> Result<()>,
}

/// What one stage leaves for the next.
struct Run {
    root: &'static Path,
    quick: bool,
    fuzz_minutes: u32,
    binary: Option<PathBuf>,
    servers: Vec<Running>,
}

const TOOLS: Stage = Stage {
    name: "tools",
    advice: "install what is named above; everything else the test command does itself",
    work: tools,
};
const FORMAT: Stage = Stage {
    name: "format",
    advice: "run `cargo fmt --all`",
    work: |run| process::run(&mut process::cargo(run.root, &["fmt", "--all", "--check"])),
};
const LINTS: Stage = Stage {
    name: "lints",
    advice: "mend what Clippy names, or lower the lint there with a reason",
    work: |run| {
        let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        process::run(&mut process::cargo(run.root, &args))
    },
};
const TIDY: Stage = Stage {
    name: "tidy",
    advice: "each line above names the place and the rule; the rules stand in xtask/src/tidy",
    work: |run| tidy::check(run.root),
};
const DEPENDENCIES: Stage = Stage {
    name: "licences, bans, sources",
    advice: "`cargo deny check bans` shows who brings a crate in; the policy is deny.toml",
    work: |run| {
        let args = ["deny", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
        process::run(&mut process::cargo(run.root, &args))
    },
};
const BUILD: Stage =
    Stage { name: "binary", advice: "mend the build: `cargo build -p plenary`", work: build };
const SERVERS: Stage = Stage {
    name: "servers",
    advice: "what the server said stands above; PLENARY_TEST_POSTGRES and PLENARY_TEST_PHOENIX can name ones that run \
             already",
    work: servers,
};
const TESTS: Stage = Stage {
    name: "tests",
    advice: "`cargo xtask test --quick` runs the tests without servers; `cargo test -p CRATE NAME` runs one",
    work: tests,
};
const DEMO: Stage = Stage {
    name: "demo, release build",
    advice: "`cargo run --release -- demo --once` shows each step as it crosses the wire",
    work: |run| process::run(&mut process::cargo(run.root, &["run", "--release", "--", "demo", "--once"])),
};

const FULL: &[Stage] = &[TOOLS, FORMAT, LINTS, TIDY, DEPENDENCIES, BUILD, SERVERS, TESTS, DEMO];
const INNER_LOOP: &[Stage] = &[FORMAT, LINTS, TIDY, BUILD, TESTS];

/// Runs the stages in order and says how long each took.
pub(crate) fn run(args: &Args) -> Result<()> {
    let stages = if args.quick { INNER_LOOP } else { FULL };
    let Args { quick, fuzz_minutes } = *args;
    let mut run = Run { root: workspace::root(), quick, fuzz_minutes, binary: None, servers: Vec::new() };
    let mut table = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        let watch = console::begin(&format!("[{}/{}] {}", index + 1, stages.len(), stage.name));
        let outcome = (stage.work)(&mut run);
        let took = console::human(watch.elapsed());
        if let Err(error) = outcome {
            console::say(&format!("\nFAILED: {} after {took}\nnext: {}", stage.name, stage.advice));
            return Err(error);
        }
        console::say(&format!("    passed in {took}"));
        table.push(format!("    {:<24} {took:>12}", stage.name));
    }
    console::say(&format!("\nEverything passed:\n{}", table.join("\n")));
    Ok(())
}

/// Installs everything before the long stages begin, so that what cannot be had is known at once.
fn tools(run: &mut Run) -> Result<()> {
    rust_tools::ensure_components(run.root)?;
    rust_tools::ensure_deny(run.root)?;
    for server in needs::SERVERS {
        (server.ensure)().with_context(|| format!("{} cannot be had", server.name))?;
    }
    Ok(())
}

/// Builds the binary in the profile of the tests, which start it.
fn build(run: &mut Run) -> Result<()> {
    process::run(&mut process::cargo(run.root, &["build", "--package", "plenary"]))?;
    let name = format!("plenary{}", std::env::consts::EXE_SUFFIX);
    let binary = workspace::metadata(run.root)?.target_directory.join("debug").join(name);
    if !binary.is_file() {
        return Err(anyhow!("Cargo built no {}", binary.display()));
    }
    run.binary = Some(binary);
    Ok(())
}

fn servers(run: &mut Run) -> Result<()> {
    for server in needs::SERVERS {
        let running = (server.start)().with_context(|| format!("{} did not start", server.name))?;
        console::say(&format!("    {}: {}={}", server.name, running.variable, running.url));
        run.servers.push(running);
    }
    Ok(())
}

fn tests(run: &mut Run) -> Result<()> {
    // One failure must not hide the others: the log of a run is all that is left of a machine.
    let mut command = process::cargo(run.root, &["test", "--workspace", "--no-fail-fast"]);
    environment(&mut command, run);
    process::run(&mut command)?;
    // Nothing after the tests talks to them.
    run.servers.clear();
    Ok(())
}

/// What the tests are told, whatever the caller's own environment says.
fn environment(command: &mut Command, run: &Run) {
    for variable in needs::SERVER_VARIABLES.iter().chain(&[REQUIRE, QUICK]) {
        command.env_remove(variable);
    }
    if run.quick {
        command.env(QUICK, "1");
    } else {
        command.env(REQUIRE, "all");
    }
    command.env(FUZZ_SECONDS, (u64::from(run.fuzz_minutes) * 60).to_string());
    if let Some(binary) = &run.binary {
        command.env(BINARY, binary);
    }
    for server in &run.servers {
        command.env(server.variable, &server.url).envs(server.more.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(quick: bool) -> Vec<(String, Option<String>)> {
        let (root, binary) = (workspace::root(), Some("bin/plenary".into()));
        let run = Run { root, quick, fuzz_minutes: 10, binary, servers: Vec::new() };
        let mut command = Command::new("cargo");
        environment(&mut command, &run);
        let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
        command.get_envs().map(|(name, value)| (text(name), value.map(text))).collect()
    }

    #[test]
    fn the_full_run_requires_every_server() {
        let told = told(false);
        assert!(told.contains(&(REQUIRE.to_owned(), Some("all".to_owned()))));
        assert!(told.contains(&(QUICK.to_owned(), None)));
        assert!(told.contains(&(BINARY.to_owned(), Some("bin/plenary".to_owned()))));
        assert!(told.contains(&(FUZZ_SECONDS.to_owned(), Some("600".to_owned()))));
    }

    #[test]
    fn the_inner_loop_forgets_servers_that_the_caller_named() {
        let told = told(true);
        assert!(told.contains(&(QUICK.to_owned(), Some("1".to_owned()))));
        assert!(told.contains(&(REQUIRE.to_owned(), None)));
        for variable in needs::SERVER_VARIABLES {
            assert!(told.contains(&((*variable).to_owned(), None)));
        }
    }
}
