//! Coding agents connected and disconnected, in a home of their own with settings of a person in it.
//! Must not know: how settings are written.

mod agents;
mod network;
mod path;
mod serving;
mod settings;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use blackbox::{Cli, CommandOutput, Server};
use serde_json::Value;

/// Every coding agent, its files in a directory, and those in a home.
const ALL: [(&str, &[&str], &[&str]); 17] = [
    ("claude", &[".mcp.json", ".claude/settings.local.json"], &[".claude.json", ".claude/settings.json"]),
    ("codex", &[".codex/config.toml", ".codex/hooks.json"], &[".codex/config.toml", ".codex/hooks.json"]),
    ("gemini", &[".gemini/settings.json"], &[".gemini/settings.json"]),
    ("cursor", &[".cursor/mcp.json", ".cursor/hooks.json"], &[".cursor/mcp.json", ".cursor/hooks.json"]),
    ("vscode", &[".vscode/mcp.json"], &[".config/Code/User/mcp.json"]),
    (
        "opencode",
        &["opencode.json", ".plenary/opencode.js"],
        &[".config/opencode/opencode.json", ".config/opencode/plenary.js"],
    ),
    ("qwen", &[".qwen/settings.json"], &[".qwen/settings.json"]),
    ("kimi", &[".kimi-code/mcp.json"], &[".kimi-code/mcp.json", ".kimi-code/config.toml"]),
    (
        "copilot",
        &[".github/mcp.json", ".github/hooks/plenary.json"],
        &[".copilot/mcp-config.json", ".copilot/hooks/plenary.json"],
    ),
    ("kilo", &["kilo.json", ".plenary/kilo.js"], &[".config/kilo/kilo.json", ".config/kilo/plenary.js"]),
    ("qoder", &[".qoder/settings.local.json"], &[".qoder/settings.json"]),
    ("droid", &[".factory/mcp.json", ".factory/hooks.json"], &[".factory/mcp.json", ".factory/hooks.json"]),
    (
        "antigravity",
        &[".agents/mcp_config.json", ".agents/hooks.json"],
        &[".gemini/antigravity-cli/mcp_config.json", ".gemini/antigravity-cli/hooks.json"],
    ),
    (
        "pi",
        &[".pi/mcp.json", ".pi/extensions/plenary.js"],
        &[".pi/agent/mcp.json", ".pi/agent/extensions/plenary.js"],
    ),
    (
        "amp",
        &[".amp/settings.json", ".amp/plugins/plenary.ts"],
        &[".config/amp/settings.json", ".config/amp/plugins/plenary.ts"],
    ),
    ("crush", &["crush.json"], &[".config/crush/crush.json"]),
    ("auggie", &[".augment/settings.local.json"], &[".augment/settings.json"]),
];

/// A server whose operator is this machine's user.
pub(crate) async fn server() -> Server {
    Server::builder().own_operator_token().start().await
}

/// A home with nothing in it; the server is found by its data directory.
pub(crate) fn home(server: &Server) -> Cli {
    let data = server.data().display().to_string();
    Cli::new(&[
        ("PLENARY_DATA", &data),
        ("USER", "Nick"),
        ("PATH", "/usr/bin:/bin"),
        ("PLENARY_HOOK_DEADLINE_MS", "15000"),
    ])
}

/// The agent that a coding agent became.
pub(crate) async fn connected(home: &Cli, directory: &Path, coding: &str) -> String {
    let ran = home.run_in(directory, &["connect", coding, "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    json_of(&ran.out)["agent"].as_str().expect("an agent").to_owned()
}

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Every file below a directory but what is kept of this program's own: tokens, and copies.
fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.ends_with(".config/plenary") || path.ends_with(".local/state/plenary") {
                continue;
            }
            if path.is_dir() {
                found.insert(path.clone(), String::new());
                left.push(path);
            } else {
                found.insert(path.clone(), std::fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    found
}

fn done(ran: &CommandOutput) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.out
}
