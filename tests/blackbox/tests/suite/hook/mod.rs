//! Hooks as coding agents run them: JSON in, JSON or nothing out, and never a failure.

mod addresses;
mod asking;
mod attention;
mod context;
mod delivery;
mod siblings;
mod soak;
mod trouble;
mod waking;

use std::path::PathBuf;

use blackbox::{Cli, CommandOutput};
use serde_json::{Value, json};

use crate::connect::{connected, home, json_of, server};

/// A coding agent at work in a directory.
struct Coding {
    kind: &'static str,
    handle: String,
    directory: PathBuf,
}

impl Coding {
    async fn begin(home: &Cli, kind: &'static str, name: &str) -> Self {
        let directory = home.dir().join(name);
        let handle = connected(home, &directory, kind).await;
        Self { kind, handle, directory }
    }

    /// The line that its settings run at an event.
    fn line(&self, event: &str) -> String {
        let (file, inner) = match self.kind {
            "claude" => (".claude/settings.local.json", true),
            "codex" => (".codex/hooks.json", true),
            "gemini" => (".gemini/settings.json", true),
            _ => (".cursor/hooks.json", false),
        };
        let text = std::fs::read_to_string(self.directory.join(file)).expect("settings");
        let entry = json_of(&text)["hooks"][event][0].clone();
        let hook = if inner { entry["hooks"][0].clone() } else { entry };
        hook["command"].as_str().unwrap_or_else(|| panic!("no hook at {event}: {text}")).to_owned()
    }

    /// Its token, as it is saved.
    fn token(&self, home: &Cli) -> String {
        let saved = home.dir().join(".config/plenary/tokens.toml");
        let tokens = std::fs::read_to_string(saved).expect("tokens are saved");
        let line = tokens.lines().find(|line| line.contains(&self.handle)).expect("its token is among them");
        line.rsplit('"').nth(1).expect("a token").to_owned()
    }

    /// Runs the hook of an event with what the coding agent says at it.
    async fn at(&self, home: &Cli, event: &str, more: Value) -> CommandOutput {
        let mut input = json!({"session_id": "s-1", "transcript_path": "/t", "cwd": self.directory,
            "hook_event_name": event, "permission_mode": "default"});
        for (name, value) in more.as_object().expect("an object") {
            input[name] = value.clone();
        }
        let ran = home.shell(&self.directory, &self.line(event), &input.to_string()).await;
        assert!(ran.code == 0 && ran.err.is_empty(), "{event}: {ran:?}");
        assert!(ran.out.chars().count() <= 10_001, "{}", ran.out.len());
        ran
    }
}

/// What the hooks of this home wrote down.
fn journal(home: &Cli) -> String {
    std::fs::read_to_string(home.dir().join(".local/state/plenary/hook.log")).unwrap_or_default()
}

#[tokio::test]
async fn whatever_goes_wrong_nothing_is_printed_and_the_exit_is_zero() {
    let server = server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let program = claude.line("Stop");
    let program = program.split(" hook ").next().expect("a program");
    std::fs::write(claude.directory.join("latin"), b"\xe9").expect("a file can be written");
    std::fs::write(claude.directory.join("large"), "x".repeat(2 << 20)).expect("a file can be written");
    for (arguments, input) in [
        ("hook Stop --client claude", "{"),
        ("hook Stop --client claude", "[1]"),
        ("hook", ""),
        ("hook Unknown", "{}"),
        ("hook --client emacs Stop", "{}"),
        ("hook --no-such-flag", "{}"),
        ("hook Stop Stop", "{}"),
        ("--url nonsense hook Stop", "{}"),
        ("--token-file no-such-file hook Stop", "{}"),
        ("--token-file latin hook Stop", "{}"),
        ("--token-file large hook Stop", "{}"),
        ("hook", "{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{\"command\":\"secret\"}}"),
    ] {
        let ran = home.shell(&claude.directory, &format!("{program} {arguments}"), input).await;
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{arguments} {input}: {ran:?}");
    }
    let said = journal(&home);
    assert!(said.contains("Unknown: ") && said.contains("is not the JSON of a hook"), "{said}");
    assert!(said.contains("no-such-file cannot be read") && said.contains("latin is not UTF-8"), "{said}");
    assert!(said.contains("large is larger than 1 MiB"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}

#[tokio::test]
async fn where_nobody_is_connected_a_hook_has_nothing_to_say() {
    let server = server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let elsewhere = home.dir().join("b");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let input = json!({"session_id": "s", "cwd": elsewhere, "hook_event_name": "SessionStart"}).to_string();
    let ran = home.shell(&elsewhere, &claude.line("SessionStart"), &input).await;
    assert_eq!((ran.code, ran.out.as_str(), journal(&home).as_str()), (0, "", ""), "{ran:?}");
}

#[tokio::test]
async fn a_session_stays_the_agent_of_the_directory_it_was_begun_in() {
    let server = server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let other = Coding::begin(&home, "claude", "b").await;
    assert_ne!(claude.handle, other.handle);
    let input =
        json!({"session_id": "s", "cwd": other.directory, "hook_event_name": "SessionStart"}).to_string();
    let begun = format!("CLAUDE_PROJECT_DIR={} {}", claude.directory.display(), claude.line("SessionStart"));
    let ran = home.shell(&other.directory, &begun, &input).await;
    assert!(ran.out.contains(&format!("the agent {} ", claude.handle)), "{ran:?}");
    let below = claude.directory.join("src/parser");
    std::fs::create_dir_all(&below).expect("a directory");
    let input = json!({"session_id": "s", "cwd": below, "hook_event_name": "SessionStart"}).to_string();
    let ran = home.shell(&below, &claude.line("SessionStart"), &input).await;
    assert!(ran.out.contains(&format!("the agent {} ", claude.handle)), "{ran:?}");
}
