//! Clients that were not written here: the Python and the TypeScript SDK, the inspector, and the conformance suite.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use blackbox::{Agent, Server, TempDir, TestDependency};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::said::{SESSIONS, SINGLE, served};

/// The longest that one of them runs: the conformance suite takes some seconds on an idle machine.
const RUN_MAX: Duration = Duration::from_secs(180);
const PYTHON: &str = include_str!("../../../interop/client.py");
const TOGETHER: &str = include_str!("../../../interop/together.py");
const TYPESCRIPT: &str = include_str!("../../../interop/client.mjs");
const OAUTH: &str = include_str!("../../../interop/oauth.mjs");
const BROWSER: &str = include_str!("../../../interop/browser.mjs");
const AUTHORIZATION: &str = include_str!("../../../interop/authorization.mjs");
const BEARER: &str = include_str!("../../../interop/bearer.mjs");

/// Runs a program to its end: its exit code and standard output.
async fn run(command: &mut Command) -> (i32, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = timeout(RUN_MAX, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{command:?} did not end")).expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let out = text(&output.stdout);
    let code = output.status.code().unwrap_or(-1);
    assert!(code == 0 || !out.is_empty(), "{command:?} failed: {}", text(&output.stderr));
    (code, out)
}

/// What a client printed last, which is what it saw.
fn seen(code: i32, out: &str) -> Value {
    assert_eq!(code, 0, "{out}");
    serde_json::from_str(out.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn saw_it_all(seen: &Value, agent: &Agent, revision: &str) {
    assert_eq!(seen["revision"], revision, "{seen}");
    assert_eq!(seen["me"], agent.handle.as_str(), "{seen}");
    assert_eq!(seen["stable"], true, "{seen}");
    assert_eq!(seen["called"], "This is a simple text response for testing.", "{seen}");
    assert_eq!(seen["refused"], true, "{seen}");
    assert_eq!(seen["changed"], "plenary://sessions", "{seen}");
    assert!(seen["orient"].as_str().is_some_and(|text| text.contains(&agent.handle)), "{seen}");
    let tools = seen["tools"].as_array().unwrap_or_else(|| panic!("tools: {seen}"));
    assert!(tools.iter().any(|name| name == "test_simple_text"), "{seen}");
}

/// The Python SDK, in both eras.
#[tokio::test]
async fn the_python_sdk_gets_on_with_it() {
    let TestDependency::Available(python) = TestDependency::mcp_python() else { return };
    let server = served().await;
    for (revision, handle) in [(SINGLE, "@nick.single"), (SESSIONS, "@nick.sessions")] {
        let agent = server.agent(handle).await;
        let mut command = Command::new(&python);
        command.args(["-c", PYTHON, &server.url(), agent.token(), revision]);
        let (code, out) = run(&mut command).await;
        saw_it_all(&seen(code, &out), &agent, revision);
    }
}

/// Two agents that have nothing but tools, by the Python SDK, in both eras: they find each other, converse, lock and hand
/// over a file, and remember a decision.
#[tokio::test]
async fn two_agents_of_the_python_sdk_work_together() {
    let TestDependency::Available(python) = TestDependency::mcp_python() else { return };
    for revision in [SINGLE, SESSIONS] {
        let server = Server::start().await;
        let (one, other) = (server.agent("@nick.one").await, server.agent("@nick.other").await);
        let mut command = Command::new(&python);
        command.args(["-c", TOGETHER, &server.url(), revision, one.token(), other.token()]);
        let (code, out) = run(&mut command).await;
        let came_to =
            json!({"refused": "resource_claimed", "claimed": "src/parser.rs", "recalled": "Parser"});
        assert_eq!(seen(code, &out), came_to);
    }
}

/// The programs from npm, and a directory in which scripts find their packages.
struct Npm {
    home: TempDir,
    packages: PathBuf,
}

impl Npm {
    fn asked() -> Option<Self> {
        let TestDependency::Available(directory) = TestDependency::mcp_node() else { return None };
        let (home, packages) = (TempDir::new(), PathBuf::from(directory));
        std::os::unix::fs::symlink(packages.join("node_modules"), home.path().join("node_modules"))
            .expect("a link");
        for (name, script) in [
            ("client.mjs", TYPESCRIPT),
            ("browser.mjs", BROWSER),
            ("oauth.mjs", OAUTH),
            ("authorization.mjs", AUTHORIZATION),
            ("bearer.mjs", BEARER),
        ] {
            std::fs::write(home.path().join(name), script).expect("a script can be written");
        }
        Some(Self { home, packages })
    }

    fn node(&self) -> Command {
        let mut command = Command::new(self.packages.join("node"));
        command.current_dir(self.home.path());
        command
    }

    fn package(&self, path: &str) -> PathBuf {
        self.packages.join("node_modules/@modelcontextprotocol").join(path)
    }
}

/// The TypeScript SDK, which speaks the initialize era.
#[tokio::test]
async fn the_typescript_sdk_gets_on_with_it() {
    let Some(npm) = Npm::asked() else { return };
    let server = served().await;
    let agent = server.agent("@nick.ts").await;
    let (code, out) = run(npm.node().args(["client.mjs", &server.url(), agent.token()])).await;
    saw_it_all(&seen(code, &out), &agent, SESSIONS);
}

/// The TypeScript SDK without a token: it finds the authorization server, registers, sends a person to it, gets tokens,
/// renews them, and asks for more where its scope is not enough.
#[tokio::test]
async fn the_typescript_sdk_is_let_in_by_a_person() {
    let Some(npm) = Npm::asked() else { return };
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    server.agent("@nick.other").await;
    let made = server.owner("nick").await.post("/console/links", json!({})).await.ok(201);
    let link = made["url"].as_str().expect("a link");
    let (code, out) = run(npm.node().args(["oauth.mjs", &server.url(), link])).await;
    let seen = seen(code, &out);
    assert_eq!((&seen["me"], &seen["scope"]), (&json!("@nick.bot"), &json!("read")), "{seen}");
    assert_eq!(
        (&seen["rotated"], &seen["tools"], &seen["escaped"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!(seen["resource"], format!("{}/mcp", server.url()), "{seen}");
    assert_eq!(seen["stepped"], "read sessions:write", "{seen}");
    let policy = seen["policy"].as_str().expect("a policy");
    for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self' http://127.0.0.1:3118"] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe-inline") && !policy.contains("script-src"), "{policy}");
}

/// The inspector, from its command line.
#[tokio::test]
async fn the_inspector_gets_on_with_it() {
    let Some(npm) = Npm::asked() else { return };
    let server = served().await;
    let agent = server.agent("@nick.inspector").await;
    let inspector = npm.package("inspector/clients/launcher/build/index.js");
    let (url, bearer) = (format!("{}/mcp", server.url()), format!("Authorization: Bearer {}", agent.token()));
    let inspect = async |words: &[&str]| -> Value {
        let mut command = npm.node();
        command.arg(&inspector).args(["--cli", &url, "--transport", "http", "--header", &bearer, "--method"]);
        let (code, out) = run(command.args(words)).await;
        assert_eq!(code, 0, "{words:?}: {out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{words:?}: {error}: {out}"))
    };
    let tools = inspect(&["tools/list"]).await;
    assert!(tools["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools}");
    let called = inspect(&["tools/call", "--tool-name", "test_simple_text"]).await;
    assert_eq!(called["content"][0]["type"], "text", "{called}");
    let read = inspect(&["resources/read", "--uri", "plenary://me"]).await;
    assert!(
        read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("@nick.inspector")),
        "{read}"
    );
}

/// The scenarios that a revision requires of servers, as the suite itself lists them.
fn required(npm: &Npm, revision: &str) -> BTreeSet<String> {
    let path = npm.package(&format!("conformance/requirements/{revision}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let listed = text
        .lines()
        .skip_while(|line| *line != "server:")
        .skip(1)
        .map_while(|line| line.strip_prefix("  - "));
    let listed: BTreeSet<_> = listed.map(str::to_owned).collect();
    assert!(listed.len() >= 25, "the list was read: {listed:?}");
    listed
}

/// The scenarios of a summary, those that passed and those that did not.
fn summary(out: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let lines = out
        .lines()
        .skip_while(|line| !line.contains("=== SUMMARY ==="))
        .take_while(|line| !line.starts_with("Total:"));
    let (mut passed, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for line in lines {
        let Some((name, counts)) = line.split_once(": ") else { continue };
        // A scenario without a single check has shown nothing.
        match name.strip_prefix("✓ ") {
            Some(name) if !counts.starts_with("0 passed") => drop(passed.insert(name.to_owned())),
            Some(name) => drop(failed.insert(name.to_owned())),
            None => drop(name.strip_prefix("✗ ").map(|name| failed.insert(name.to_owned()))),
        }
    }
    (passed, failed)
}

async fn conforms(revision: &str) {
    let Some(npm) = Npm::asked() else { return };
    let server: Server = served().await;
    let agent = server.agent("@nick.conformance").await;
    let suite = npm.package("conformance/dist/index.js");
    let mut command = npm.node();
    command.args(["bearer.mjs", &server.url(), agent.token()]).arg(&suite);
    command.args(["server", "--url", "{url}/mcp", "--requirements", revision, "--output-dir"]);
    let (code, out) = run(command.arg(npm.home.path().join("results"))).await;
    let (passed, failed) = summary(&out);
    let required = required(&npm, revision);
    let missing: Vec<_> = required.difference(&passed).collect();
    assert!(missing.is_empty(), "these did not pass: {missing:?}, failed: {failed:?}\n{out}");
    assert_eq!(code, 0, "{out}");
}

/// Every scored scenario of the initialize era.
#[tokio::test]
async fn the_conformance_suite_passes_in_sessions() {
    conforms(SESSIONS).await;
}

/// Every scored scenario of the revision without sessions.
#[tokio::test]
async fn the_conformance_suite_passes_in_single_requests() {
    conforms(SINGLE).await;
}

/// What the suite has for authorization servers: the metadata, and a code that a person lets a client have.
#[tokio::test]
async fn the_conformance_suite_passes_with_the_authorization_server() {
    let Some(npm) = Npm::asked() else { return };
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let made = server.owner("nick").await.post("/console/links", json!({})).await.ok(201);
    let link = made["url"].as_str().expect("a link");
    let suite = npm.package("conformance/dist/index.js");
    let mut command = npm.node();
    command.args(["authorization.mjs", &server.url(), link]).arg(&suite);
    let (code, out) = run(command.arg(npm.home.path().join("results"))).await;
    let (passed, failed) = summary(&out);
    for scenario in ["authorization-server-metadata-endpoint", "authorization-code-grant"] {
        assert!(passed.contains(scenario), "{scenario}, failed: {failed:?}\n{out}");
    }
    assert_eq!(code, 0, "{out}");
}
