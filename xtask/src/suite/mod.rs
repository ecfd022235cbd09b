//! The test command: every check and test, stage by stage. A stage that does not depend on a failed one
//! still runs, so that one run on another machine shows every failure.
//! Must not know: how a server is started, or how a rule decides.

mod a2a;
mod clients;
pub(crate) mod dist;
mod fresh;
mod pages;
mod readme;
mod rerun;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use crate::{
    console,
    needs::{self, Running, rust_tools},
    process, tidy, workspace,
};

/// The options of the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The inner loop: no servers, no installs, short black-box runs
    #[arg(long)]
    quick: bool,
    /// Minutes of generated requests that check the server against its description; none with --quick
    #[arg(long, value_name = "MINUTES", default_value_t = 2)]
    fuzz_minutes: u32,
    /// Run this stage alone, and before it what it needs
    #[arg(long, value_name = "STAGE")]
    only: Option<String>,
}

/// The variable with the binary for black-box tests.
const BINARY: &str = "PLENARY_BIN";
/// `all`: a test whose server is missing fails instead of being skipped.
const REQUIRE: &str = "PLENARY_TEST_REQUIRE";
/// `1`: few rounds of repeating tests, and no servers.
const QUICK: &str = "PLENARY_TEST_QUICK";
/// The duration of the fuzz test, in seconds.
const FUZZ_SECONDS: &str = "PLENARY_TEST_FUZZ_SECONDS";

/// One stage: its name, the advice after a failure, and the work.
struct Stage {
    name: &'static str,
    advice: &'static str,
    work: fn(&mut Run) -> Result<()>,
}

/// The state that stages pass on.
struct Run {
    root: &'static Path,
    quick: bool,
    fuzz_minutes: u32,
    binary: Option<PathBuf>,
    /// The installations that run during the first stages, which need the processor and not the network.
    installs: Option<JoinHandle<Result<()>>>,
    servers: Vec<Running>,
}

impl Run {
    /// Cargo. In a directory without incremental data it builds without it, as it costs the first build
    /// more than it saves the next, and without line tables: a panic message names its line anyway.
    fn cargo(&self, args: &[&str]) -> Result<Command> {
        let mut command = process::cargo(self.root, args);
        let increments = workspace::metadata(self.root)?.target_directory.join("debug/incremental");
        let has_own = fs::read_dir(increments).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("plenary"))
        });
        if !has_own {
            command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        Ok(command)
    }

    fn binary(&self) -> Result<&Path> {
        self.binary.as_deref().context("the binary was not built")
    }
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
        process::run(&mut run.cargo(&args)?)
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
    Stage { name: "binary", advice: "mend the build: `cargo check --workspace`", work: build };
const INSTALLS: Stage = Stage {
    name: "installs",
    advice: "install what is named above; everything else the test command does itself",
    work: |run| match run.installs.take().map(JoinHandle::join) {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) => Err(anyhow!("the installs panicked")),
        None => Ok(()),
    },
};
const SERVERS: Stage = Stage {
    name: "servers",
    advice: "what the server said stands above; PLENARY_TEST_POSTGRES and PLENARY_TEST_PHOENIX can name ones that run \
             already",
    work: servers,
};
const CODING_AGENTS: Stage = Stage {
    name: "coding-agents",
    advice: "`cargo xtask test --only coding-agents` runs it alone; `PLENARY_TEST_KEEP=1` keeps the directory of a flow",
    work: coding_agents,
};
const TESTS: Stage = Stage {
    name: "tests",
    advice: "`cargo xtask test --quick` runs the tests without servers; `cargo test -p CRATE NAME` runs one",
    work: tests,
};
const CLIENTS: Stage = Stage {
    name: "clients",
    advice: "`cargo xtask test --only clients` runs it alone; what is stale is printed again by \
             `python3 clients/generate.py target/debug/plenary`",
    work: |run| clients::run(run.root, run.binary()?),
};
const A2A: Stage = Stage {
    name: "a2a",
    advice: "`cargo xtask test --only a2a` runs it alone; tests/a2a has the walks",
    work: |run| a2a::run(run.root, run.binary()?),
};
const PAGES: Stage = Stage {
    name: "pages",
    advice: "`cargo xtask test --only pages` runs it alone; tests/console/README.md says what each file tests",
    work: |run| pages::run(run.root, run.binary()?),
};
const README: Stage = Stage {
    name: "readme",
    advice: "`cargo xtask test --only readme` runs it alone; what stands above the error is what the page printed",
    work: |run| readme::run(run.root, run.binary()?),
};
const DIST: Stage = Stage {
    name: "dist",
    advice: "`cargo xtask test --only dist` runs it alone; each package has its script in packaging/tests",
    work: |run| dist::run(run.root, run.binary.as_deref().context("the binary was built")?),
};
const DEMO: Stage = Stage {
    name: "demo",
    advice: "`cargo run -- demo --once` shows each step as it crosses the wire",
    work: |run| process::run(Command::new(run.binary()?).args(["demo", "--once"])),
};

const FULL: &[Stage] = &[
    TOOLS,
    FORMAT,
    TIDY,
    BUILD,
    LINTS,
    INSTALLS,
    DEPENDENCIES,
    SERVERS,
    TESTS,
    CODING_AGENTS,
    CLIENTS,
    A2A,
    PAGES,
    README,
    DIST,
    DEMO,
];
/// The stages that later ones depend on.
const NEEDED: &[&str] = &[TOOLS.name, BUILD.name, INSTALLS.name, SERVERS.name];
const INNER_LOOP: &[Stage] = &[FORMAT, LINTS, TIDY, BUILD, TESTS];
/// The stages that run alone, each after those that it needs.
const ALONE: &[&[Stage]] = &[
    &[TOOLS, BUILD, INSTALLS, SERVERS, TESTS],
    &[BUILD, CODING_AGENTS],
    &[BUILD, CLIENTS],
    &[BUILD, A2A],
    &[BUILD, PAGES],
    &[BUILD, README],
    &[BUILD, DIST],
];

/// Runs the stages in order and shows the duration of each.
pub(crate) fn run(args: &Args) -> Result<()> {
    let stages = match &args.only {
        None if args.quick => INNER_LOOP,
        None => FULL,
        Some(name) => alone(name)?,
    };
    let Args { quick, fuzz_minutes, .. } = *args;
    let mut run = Run {
        root: workspace::root(),
        quick,
        fuzz_minutes,
        binary: None,
        installs: None,
        servers: Vec::new(),
    };
    let (mut table, mut failed) = (Vec::new(), Vec::new());
    for (index, stage) in stages.iter().enumerate() {
        let watch = console::begin(&format!("[{}/{}] {}", index + 1, stages.len(), stage.name));
        let outcome = (stage.work)(&mut run);
        let took = console::human(watch.elapsed());
        if let Err(error) = outcome {
            console::print_line(&format!("\nFAILED: {} after {took}\nnext: {}", stage.name, stage.advice));
            if NEEDED.contains(&stage.name) {
                return Err(error);
            }
            console::print_line(&format!("{error:#}"));
            failed.push(stage.name);
            continue;
        }
        console::print_line(&format!("    passed in {took}"));
        table.push(format!("    {:<24} {took:>12}", stage.name));
    }
    if !failed.is_empty() {
        return Err(anyhow!("these stages failed: {}", failed.join(", ")));
    }
    console::print_line(&format!("\nEverything passed:\n{}", table.join("\n")));
    Ok(())
}

fn alone(name: &str) -> Result<&'static [Stage]> {
    let named = |stages: &&[Stage]| stages.last().is_some_and(|stage| stage.name == name);
    ALONE.iter().copied().find(named).with_context(|| {
        let names: Vec<_> = ALONE.iter().filter_map(|stages| stages.last()).map(|stage| stage.name).collect();
        format!("`{name}` does not run alone; these do: {}", names.join(", "))
    })
}

/// Starts all other installations, so that the network is busy while the processor builds.
fn tools(run: &mut Run) -> Result<()> {
    rust_tools::ensure_components(run.root)?;
    let root = run.root;
    run.installs = Some(std::thread::spawn(move || installs(root)));
    Ok(())
}

fn installs(root: &Path) -> Result<()> {
    for server in needs::SERVERS {
        (server.ensure)().with_context(|| format!("{} cannot be had", server.name))?;
    }
    needs::coding_agents::ensure()?;
    needs::browser::ensure(&root.join("tests/console"))?;
    needs::clients::ensure(&root.join("clients/typescript"))?;
    needs::a2a::ensure()?;
    needs::uv::ensure()?;
    needs::network::ensure()?;
    rust_tools::ensure_deny(root)
}

/// Builds the binary in the profile of the tests, which start it.
fn build(run: &mut Run) -> Result<()> {
    // Builds it with a test of it: with the features of the tests, so that no dependency is built twice.
    process::run(&mut run.cargo(&["test", "--workspace", "--test", "cli", "--no-run"])?)?;
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
        console::print_line(&format!("    {}: {}={}", server.name, running.variable, running.url));
        run.servers.push(running);
    }
    Ok(())
}

/// Runs the installed coding agents with a scripted model.
fn coding_agents(run: &mut Run) -> Result<()> {
    let installed = needs::coding_agents::ensure()?;
    // Their permission requests are answered in the console.
    needs::browser::ensure(&run.root.join("tests/console"))?;
    let mut command = Command::new(installed.join("node"));
    // For two cores: each file runs in a separate process.
    command.args(["--test", "--test-concurrency=2", "--test-timeout=120000"]);
    command.current_dir(run.root.join("tests/coding-agents"));
    command.env(BINARY, run.binary()?).env(needs::coding_agents::VARIABLE, &installed);
    let files = ["claude", "codex", "gemini", "tools", "opencode", "sessions", "launch", "approvals"]
        .map(|name| format!("{name}.test.js").into());
    rerun::node(command, &files)
}

fn tests(run: &mut Run) -> Result<()> {
    let fuzz = Duration::from_secs(u64::from(run.fuzz_minutes) * 60);
    rerun::cargo(fuzz, |args| {
        let mut command = run.cargo(args)?;
        environment(&mut command, run);
        Ok(command)
    })?;
    // No stage after the tests uses the servers.
    run.servers.clear();
    Ok(())
}

/// Sets the variables of the tests, whatever the caller's environment.
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

    fn variables(quick: bool) -> Vec<(String, Option<String>)> {
        let (root, binary) = (workspace::root(), Some("bin/plenary".into()));
        let run = Run { root, quick, fuzz_minutes: 10, binary, installs: None, servers: Vec::new() };
        let mut command = Command::new("cargo");
        environment(&mut command, &run);
        let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
        command.get_envs().map(|(name, value)| (text(name), value.map(text))).collect()
    }

    #[test]
    fn the_full_run_requires_every_server() {
        let set = variables(false);
        assert!(set.contains(&(REQUIRE.to_owned(), Some("all".to_owned()))));
        assert!(set.contains(&(QUICK.to_owned(), None)));
        assert!(set.contains(&(BINARY.to_owned(), Some("bin/plenary".to_owned()))));
        assert!(set.contains(&(FUZZ_SECONDS.to_owned(), Some("600".to_owned()))));
    }

    #[test]
    fn the_inner_loop_forgets_servers_that_the_caller_named() {
        let set = variables(true);
        assert!(set.contains(&(QUICK.to_owned(), Some("1".to_owned()))));
        assert!(set.contains(&(REQUIRE.to_owned(), None)));
        for variable in needs::SERVER_VARIABLES {
            assert!(set.contains(&((*variable).to_owned(), None)));
        }
    }
}
