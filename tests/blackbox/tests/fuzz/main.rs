//! The description and the server agree: the document is valid OpenAPI 3.1, and thousands of made-up requests, within
//! it and beside it, get neither a 5xx nor an answer that it does not have.
//!
//! A run of its own, with the machine to itself: requests are made up for as long as `PLENARY_TEST_FUZZ_SECONDS` says.

mod world;

use std::{path::Path, process::Stdio, time::Duration};

use blackbox::{Server, TempDir, TestDependency};
use serde_json::Value;
use tokio::{process::Command, time::timeout};

use self::world::World;

const HOOKS: &str = include_str!("../../interop/fuzz_hooks.py");
const CONFIG: &str = include_str!("../../interop/schemathesis.toml");
const DOCUMENT: &str = include_str!("../../interop/document.py");
/// How long in all, where nobody says.
const SECONDS: u64 = 120;
/// What it walks by, where nobody says: the same way each time.
const SEED: u64 = 20_261_122;
/// What it takes to start, to read the document, and to end the request that is under way.
const AROUND: Duration = Duration::from_secs(240);
/// Of the output, so many of the last bytes are shown.
const SHOWN_MAX: usize = 20_000;

fn asked_for(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Runs a program to its end: whether it succeeded, and what it printed.
async fn run(command: &mut Command, within: Duration) -> (bool, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = timeout(within, command.output()).await;
    let output =
        output.unwrap_or_else(|_| panic!("{command:?} did not end within {within:?}")).expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn the_description_is_valid_and_its_examples_fit() {
    let TestDependency::Available(python) = TestDependency::schemathesis() else { return };
    let server = Server::start().await;
    let (done, out) = run(Command::new(python).args(["-c", DOCUMENT, &server.url()]), AROUND).await;
    assert!(done, "{out}");
    let seen: Value = serde_json::from_str(out.trim()).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert_eq!(seen["faults"], serde_json::json!([]));
    assert!(seen["examples"].as_u64().is_some_and(|count| count > 20), "{seen}");
}

/// As an agent, as an owner, as the operator: a third of the time each, on a server of its own.
#[tokio::test]
async fn made_up_requests_find_no_5xx_and_no_answer_that_is_not_described() {
    let TestDependency::Available(python) = TestDependency::schemathesis() else { return };
    let seconds = asked_for("PLENARY_TEST_FUZZ_SECONDS", SECONDS).div_ceil(3).max(1);
    let seed = asked_for("PLENARY_TEST_SEED", SEED);
    for who in ["agent", "owner", "operator"] {
        let mut server = Server::start().await;
        let world = World::of(&server).await;
        let home = TempDir::new();
        std::fs::write(home.path().join("fuzz_hooks.py"), HOOKS).expect("a file can be written");
        let config = home.path().join("schemathesis.toml");
        std::fs::write(&config, format!("{CONFIG}{}", world.config(who))).expect("a file can be written");
        let mut command = pass(&python, home.path(), seconds, seed);
        command.args(["-H", &format!("Authorization: Bearer {}", world.token(who))]);
        command.arg(format!("{}/openapi.json", server.url()));
        let (done, out) = run(&mut command, Duration::from_secs(seconds) + AROUND).await;
        let start = out.len().saturating_sub(SHOWN_MAX);
        let start = (start..out.len()).find(|at| out.is_char_boundary(*at)).unwrap_or(0);
        let shown = &out[start..];
        assert!(done, "as the {who}; again with PLENARY_TEST_SEED={seed}:\n{shown}");
        assert!(out.contains("Stateful"), "every phase was run, as the {who}:\n{shown}");
        server.stop().await;
        assert!(!server.log_text().contains("panicked"), "as the {who}; PLENARY_TEST_SEED={seed}");
    }
}

/// One pass of schemathesis, but for whom and where.
fn pass(python: &str, home: &Path, seconds: u64, seed: u64) -> Command {
    let mut command = Command::new(python);
    command.current_dir(home).env("PYTHONPATH", home).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["-m", "schemathesis.cli", "--config-file"]).arg(home.join("schemathesis.toml"));
    command.args(["run", "--no-color", "--workers", "1"]);
    command.args(["--max-time", &seconds.to_string(), "--seed", &seed.to_string()]);
    command
}
