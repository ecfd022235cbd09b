//! Coding agents connected and disconnected, in a home of their own with settings of a person in it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use blackbox::{Cli, Ran, Server};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

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

fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.out
}

#[tokio::test]
async fn what_a_person_has_stays_to_the_octet_and_a_second_time_changes_nothing() {
    let server = server().await;
    let home = home(&server);
    for (coding, project, user) in ALL {
        for (flag, names) in [("--project-scope", project), ("--user", user)] {
            let directory = home.dir().join(format!("work/{coding}{flag}"));
            let base = if flag == "--user" { home.dir() } else { directory.clone() };
            let mut copies = 0;
            // A module is a file of ours alone.
            for name in names.iter().filter(|name| !name.ends_with(".js") && !name.ends_with(".ts")) {
                let path = base.join(name);
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
                let text = if name.ends_with(".toml") {
                    "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\"\n"
                } else {
                    "{\n\t// mine\n\t\"z\": 1,\n\t\"mcpServers\": { },\n\t\"hooks\": {\"Stop\": []}\n}\n"
                };
                // Claude Code's, Codex's and Cursor's own take no comments.
                let text = if name.contains(".gemini") || name.contains("mcp") {
                    text.to_owned()
                } else {
                    text.replace("\t// mine\n", "")
                };
                std::fs::write(&path, text).expect("a file");
                copies += 1;
            }
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::create_dir_all(home.dir().join(".config")).expect("a directory");
            std::fs::create_dir_all(home.dir().join(".local/state")).expect("a directory");
            let before = files(&base);
            let shown = home.run_in(&directory, &["connect", coding, flag, "--dry-run"]).await;
            assert!(done(&shown).contains("+ "), "{shown:?}");
            assert_eq!(files(&base), before, "a dry run changes nothing");
            let first = home.run_in(&directory, &["connect", coding, flag]).await;
            assert!(done(&first).contains("is connected here as @nick."), "{first:?}");
            assert_eq!(first.err.matches("the earlier file is saved in").count(), copies, "{first:?}");
            let there = files(&base);
            let again = home.run_in(&directory, &["connect", coding, flag]).await;
            assert!(done(&again).contains("is already connected as @nick."), "{again:?}");
            assert_eq!(files(&base), there);
            let gone = home.run_in(&directory, &["disconnect", coding]).await;
            assert!(done(&gone).ends_with("is no longer connected\n"), "{gone:?}");
            assert_eq!(files(&base), before, "{coding} {flag}");
        }
    }
}

#[tokio::test]
async fn from_nothing_everything_is_made_and_goes_again() {
    let server = server().await;
    let home = home(&server);
    for (coding, names, _) in ALL {
        let directory = home.dir().join(format!("My {coding}!"));
        let handle = connected(&home, &directory, coding).await;
        assert_eq!(handle, format!("@nick.{coding}-my-{coding}"));
        for name in names {
            assert!(directory.join(name).exists(), "{name}");
        }
        let ran = home.run_in(&directory, &["disconnect", coding, "--json"]).await;
        assert_eq!(json_of(done(&ran))["agent"], json!(handle));
        assert_eq!(files(&directory), BTreeMap::new(), "{coding}");
        let none = home.run_in(&directory, &["disconnect", coding]).await;
        assert!(none.code == 0 && none.err.contains("is not connected"), "{none:?}");
    }
}

#[tokio::test]
async fn a_directory_has_an_agent_for_each_coding_agent_and_they_reach_each_other() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("parser");
    let claude = connected(&home, &directory, "claude").await;
    let codex = connected(&home, &directory, "codex").await;
    assert_eq!((claude.as_str(), codex.as_str()), ("@nick.claude-parser", "@nick.codex-parser"));
    assert_eq!(connected(&home, &directory, "claude").await, claude, "it stays who it is");
    let elsewhere = home.dir().join("other/parser");
    assert_eq!(connected(&home, &elsewhere, "claude").await, "@nick.claude-parser-2");
    let args = ["session", "create", "--as", &claude, "--invite", &codex, "--message", "hello", "--json"];
    let made = home.run_in(&directory, &args).await;
    assert_eq!(made.code, 0, "{made:?}");
    let settings = std::fs::read_to_string(directory.join(".mcp.json")).expect("it is there");
    let arguments = json_of(&settings)["mcpServers"]["plenary"]["args"].clone();
    assert_eq!(arguments, json!(["mcp", "--as", claude]));
    let tokens = std::fs::read_to_string(home.dir().join(".config/plenary/tokens.toml")).expect("saved");
    assert_eq!(tokens.matches("pla_").count(), 3);
    for (path, text) in files(&directory) {
        assert!(!text.contains("pla_") && !text.contains("plo_"), "no token stands in {path:?}");
    }
    let gone = home.run_in(&directory, &["disconnect", "codex", "--delete-agent"]).await;
    assert_eq!(gone.code, 0, "{gone:?}");
    let absent = home.run_in(&directory, &["agent", "show", &codex]).await;
    assert_eq!(absent.code, 1, "{absent:?}");
    assert_eq!(connected(&home, &directory, "codex").await, "@nick.codex-parser-2", "its name stays taken");
}

#[tokio::test]
async fn a_named_agent_is_taken_or_made_and_a_project_is_bound() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let args = ["connect", "claude", "--as", "@acme.bot", "--project", "parser"];
    let ran = home.run_in(&directory, &args).await;
    assert!(done(&ran).contains("Claude Code is connected here as @acme.bot"), "{ran:?}");
    let bound = std::fs::read_to_string(directory.join(".plenary.toml")).expect("it is bound");
    assert_eq!(bound, "project = \"parser\"\n");
    home.done(&["agent", "add", "@acme.other"]).await;
    home.done(&["token", "remove", "@acme.other"]).await;
    let taken = home.run_in(&home.dir().join("b"), &["connect", "claude", "--as", "@acme.other"]).await;
    assert!(taken.code == 4 && taken.err.contains("token add @acme.other"), "{taken:?}");
    assert!(!home.dir().join("b/.mcp.json").exists(), "nothing is written for nobody");
    let moved = home.run_in(&directory, &["connect", "claude", "--user"]).await;
    assert!(moved.code == 2 && moved.err.contains("plenary disconnect claude"), "{moved:?}");
}

#[tokio::test]
async fn settings_that_cannot_be_changed_are_named_and_left() {
    let server = server().await;
    let home = home(&server);
    for (name, text, words) in [
        (".mcp.json", "{\"mcpServers\": {\"plenary\": {\"command\": \"mine\"}}}", "mcpServers/plenary"),
        (".mcp.json", "{\"mcpServers\": [", "it is not JSON"),
        (".mcp.json", "{\"mcpServers\": []}", "is not an object"),
        (".claude/settings.local.json", "{\"hooks\": {\"Stop\": {}}}", "is not a list"),
    ] {
        let directory = home.dir().join(format!("{}-{}", words.replace(['/', ' '], "-"), text.len()));
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        let ran = home.run_in(&directory, &["connect", "claude"]).await;
        assert!(ran.code == 1 && ran.err.contains(words) && ran.err.contains(name), "{ran:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
        assert_eq!(files(&directory).values().filter(|text| !text.is_empty()).count(), 1, "all or nothing");
    }
}

#[tokio::test]
async fn without_a_server_the_one_command_that_starts_it_is_said() {
    let home = Cli::new(&[("PLENARY_URL", "http://127.0.0.1:9"), ("USER", "nick")]);
    let ran = home.run_in(&home.dir().join("a"), &["connect", "claude"]).await;
    assert!(ran.code == 3 && ran.err.contains("plenary serve"), "{ran:?}");
    assert_eq!(files(&home.dir().join("a")), BTreeMap::new());
}

#[tokio::test]
async fn the_path_is_proven_link_by_link_and_a_broken_one_is_named() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let none = home.run_in(&directory, &["doctor"]).await;
    assert!(none.code == 1 && none.out.contains("plenary connect claude"), "{none:?}");
    let codex = connected(&home, &directory, "codex").await;
    connected(&home, &directory, "claude").await;
    let ran = home.run_in(&directory, &["doctor", "--client", "codex"]).await;
    assert!(ran.code == 1 && ran.out.contains("does not trust"), "{ran:?}");
    codex_trusts(&home, &directory);
    let below = directory.join("src/parser");
    let ran = home.run_in(&below, &["doctor", "--json"]).await;
    let report = json_of(done(&ran));
    let links: Vec<(&str, &str, bool)> = report["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| {
            let text = |name: &str| check[name].as_str().expect("a text");
            (text("link"), text("client"), check["ok"] == true)
        })
        .collect();
    let mut expected = vec![("server", "", true)];
    for client in ["claude", "codex"] {
        expected.extend(
            ["settings", "allowed", "token", "tools", "hook", "reach"].map(|link| (link, client, true)),
        );
    }
    assert_eq!(links, expected, "{report}");
    let inbox = home.run_in(&directory, &["inbox", "--as", &codex, "--json"]).await;
    assert_eq!(json_of(done(&inbox))["unread"], 0, "the probe leaves nothing behind");

    home.done(&["token", "remove", &codex]).await;
    let ran = home.run_in(&directory, &["doctor", "--client", "codex"]).await;
    assert!(ran.code == 1 && ran.out.contains("`plenary connect codex`"), "{ran:?}");
    assert_eq!(connected(&home, &directory, "codex").await, codex, "it stays who it is");
    let hooks = directory.join(".codex/hooks.json");
    let text = std::fs::read_to_string(&hooks).expect("it is there");
    std::fs::write(&hooks, text.replace(" hook UserPromptSubmit", " hook Nothing")).expect("a file");
    let ran = home.run_in(&directory, &["doctor", "--client", "codex"]).await;
    assert!(ran.code == 1 && ran.out.contains("another program"), "{ran:?}");
    let text = std::fs::read_to_string(&hooks).expect("it is there");
    std::fs::write(&hooks, text.replace("--client codex", "--client other")).expect("a file");
    let ran = home.run_in(&directory, &["doctor", "--client", "codex"]).await;
    assert!(ran.code == 0 || ran.out.contains("has no hook") || ran.out.contains("no hook at"), "{ran:?}");
}

/// As Codex notes that its person trusts a directory and the hooks in it.
fn codex_trusts(home: &Cli, directory: &Path) {
    let path = directory.display();
    let text = format!(
        "[projects.\"{path}\"]\ntrust_level = \"trusted\"\n\n[hooks.state.\"{path}/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"x\"\n"
    );
    let own = home.dir().join(".codex");
    std::fs::create_dir_all(&own).expect("a directory");
    std::fs::write(own.join("config.toml"), text).expect("a file");
}

/// As Qwen Code notes that its person approved the server of a directory.
fn qwen_approves(home: &Cli, directory: &Path) {
    let own = home.dir().join(".qwen");
    std::fs::create_dir_all(&own).expect("a directory");
    let noted = json!({directory.display().to_string(): {"plenary": {"hash": "x", "status": "approved"}}});
    std::fs::write(own.join("mcpApprovals.json"), noted.to_string()).expect("a file");
}

#[tokio::test]
async fn what_other_settings_disable_is_named() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    done(&home.run_in(&directory, &["doctor"]).await);
    for (path, text, words) in [
        (".claude/settings.json", r#"{"disableAllHooks": true}"#, "disables all hooks"),
        (".claude/settings.json", r#"{"disabledMcpjsonServers": ["plenary"]}"#, "disables the server"),
    ] {
        for base in [&directory, &home.dir()] {
            let path = base.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(&path, text).expect("a file");
            let ran = home.run_in(&directory, &["doctor"]).await;
            assert!(ran.code == 1 && ran.out.contains(words), "{}: {ran:?}", path.display());
            std::fs::remove_file(&path).expect("it is there");
        }
    }
    // Whoever speaks by the tools is the agent that is connected here.
    home.done(&["agent", "add", "@nick.other"]).await;
    let path = directory.join(".mcp.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, text.replace(&claude, "@nick.other")).expect("a file");
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(ran.code == 1 && !ran.out.contains("as @nick.other"), "{ran:?}");
}

#[tokio::test]
async fn the_path_of_every_coding_agent_is_proven_and_nothing_is_left() {
    let server = server().await;
    let home = home(&server);
    for (coding, _, _) in ALL {
        let directory = home.dir().join(format!("path/{coding}"));
        match coding {
            "codex" => codex_trusts(&home, &directory),
            "qwen" => qwen_approves(&home, &directory),
            _ => {}
        }
        let handle = connected(&home, &directory, coding).await;
        let ran = home.run_in(&directory, &["doctor", "--client", coding, "--json"]).await;
        let report = json_of(done(&ran));
        let found = |link: &str| {
            let checks = report["checks"].as_array().expect("checks").iter();
            checks.clone().find(|check| check["link"] == link).map(|check| check["detail"].to_string())
        };
        assert!(found("tools").is_some_and(|said| said.contains(&handle)), "{coding}: {report}");
        let through = found("message").or_else(|| found("hook")).unwrap_or_default();
        assert!(through.contains("a message reaches"), "{coding}: {report}");
        let inbox = home.run_in(&directory, &["inbox", "--as", &handle, "--json"]).await;
        assert_eq!(json_of(done(&inbox))["unread"], 0, "{coding}: the probe leaves nothing behind");
    }
}

#[tokio::test]
async fn what_other_settings_of_the_table_disable_is_named() {
    let server = server().await;
    let home = home(&server);
    for (coding, file, text, words) in [
        ("qwen", "home/.qwen/settings.json", r#"{"disableAllHooks": true}"#, "disables all hooks"),
        ("qwen", "home/.qwen/settings.json", r#"{"mcp": {"excluded": ["plenary"]}}"#, "disables the server"),
        ("qwen", "home/.qwen/settings.json", r#"{"mcp": {"allowed": ["other"]}}"#, "disables the server"),
        (
            "qwen",
            "home/.qwen/settings.json",
            r#"{"security": {"folderTrust": {"enabled": true}}}"#,
            "does not trust",
        ),
        (
            "opencode",
            "home/.config/opencode/opencode.json",
            r#"{"mcp": {"plenary": {"enabled": false}}}"#,
            "disables the server",
        ),
        (
            "kimi",
            "home/.kimi-code/mcp.json",
            r#"{"mcpServers": {"plenary": {"enabled": false}}}"#,
            "disables the server",
        ),
        ("droid", "here/.factory/settings.json", r#"{"hooksDisabled": true}"#, "disables all hooks"),
        (
            "crush",
            "home/.config/crush/crush.json",
            r#"{"mcp": {"plenary": {"disabled": true}}}"#,
            "disables the server",
        ),
        ("qoder", "home/.qoder/settings.json", r#"{"disableAllHooks": true}"#, "disables all hooks"),
    ] {
        let directory = home.dir().join(format!("off/{coding}"));
        connected(&home, &directory, coding).await;
        if coding == "qwen" {
            let ran = home.run_in(&directory, &["doctor", "--client", coding]).await;
            let is_named = ran.code == 1 && ran.out.contains("`qwen mcp approve plenary`");
            assert!(is_named || home.dir().join(".qwen/mcpApprovals.json").exists(), "{ran:?}");
            qwen_approves(&home, &directory);
        }
        let path = match file.split_once('/') {
            Some(("home", file)) => home.dir().join(file),
            Some((_, file)) => directory.join(file),
            None => unreachable!("each names one"),
        };
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, text).expect("a file");
        let ran = home.run_in(&directory, &["doctor", "--client", coding]).await;
        assert!(ran.code == 1 && ran.out.contains(words), "{coding} {text}: {ran:?}");
        std::fs::remove_file(&path).expect("it is there");
        done(&home.run_in(&directory, &["doctor", "--client", coding]).await);
    }
    // A module that somebody changed runs something else.
    let directory = home.dir().join("off/opencode");
    let path = directory.join(".plenary/opencode.js");
    let text = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, text.replace(" hook Stop", " hook Other")).expect("a file");
    let ran = home.run_in(&directory, &["doctor", "--client", "opencode"]).await;
    assert!(ran.code == 1 && ran.out.contains("plenary connect opencode"), "{ran:?}");
}

#[tokio::test]
async fn core_tools_are_called_unasked_unless_their_person_wants_to_be_asked() {
    let server = server().await;
    let home = home(&server);
    let (directory, asking) = (home.dir().join("a"), home.dir().join("b"));
    let ran = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(ran.code == 0 && ran.err.contains("without asking you; connect with --ask"), "{ran:?}");
    let read = |directory: &Path, name: &str| std::fs::read_to_string(directory.join(name)).expect("a file");
    let settings = json_of(&read(&directory, ".claude/settings.local.json"));
    let allowed = settings["permissions"]["allow"].as_array().expect("a list");
    assert!(allowed.len() == 12 && allowed.contains(&json!("mcp__plenary__send")), "{settings}");
    connected(&home, &directory, "codex").await;
    assert_eq!(read(&directory, ".codex/config.toml").matches("approval_mode = \"approve\"").count(), 12);
    connected(&home, &directory, "gemini").await;
    let settings = json_of(&read(&directory, ".gemini/settings.json"));
    assert_eq!(settings["mcpServers"]["plenary"]["trust"], true);
    for coding in ["claude", "codex", "gemini"] {
        for flags in [&["--ask"][..], &[]] {
            let ran = home.run_in(&asking, &[&["connect", coding], flags].concat()).await;
            assert!(ran.code == 0 && !ran.err.contains("without asking"), "what was chosen stays: {ran:?}");
        }
    }
    assert!(!read(&asking, ".claude/settings.local.json").contains("permissions"));
    assert!(!read(&asking, ".codex/config.toml").contains("approve"));
    assert!(!read(&asking, ".gemini/settings.json").contains("trust"));
    // A rule that was there is not ours to take.
    let own = home.dir().join("c");
    let path = own.join(".claude/settings.local.json");
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    let text = "{\"permissions\": {\"allow\": [\"mcp__plenary__send\", \"Bash(ls)\"]}}\n";
    std::fs::write(&path, text).expect("a file");
    connected(&home, &own, "claude").await;
    done(&home.run_in(&own, &["disconnect", "claude"]).await);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
}

#[tokio::test]
async fn what_codex_writes_into_the_block_stays() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "codex").await;
    let path = directory.join(".codex/config.toml");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let (head, end) = text.split_once("# <<<").expect("a block");
    let theirs = "\n[mcp_servers.plenary.tools.agent_send]\napproval_mode = \"approve\"\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n";
    let head = head.replacen("approval_mode = \"approve\"", "approval_mode = \"prompt\"", 1);
    std::fs::write(&path, format!("{head}{theirs}# <<<{end}")).expect("a file");
    connected(&home, &directory, "codex").await;
    let text = std::fs::read_to_string(&path).expect("it is there");
    for piece in ["agent_send", "projects.\"/x\"", "\"prompt\""] {
        assert_eq!(text.matches(piece).count(), 1, "{piece}: {text}");
    }
    done(&home.run_in(&directory, &["disconnect", "codex"]).await);
    let left = std::fs::read_to_string(&path).expect("what is not ours stays");
    assert_eq!(left.trim(), "[projects.\"/x\"]\ntrust_level = \"trusted\"");
}

#[tokio::test]
async fn a_probe_leaves_no_session_and_nothing_unread() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    home.done(&["agent", "add", "@nick.other", "--allow", "@nick.*"]).await;
    home.done(&["session", "create", "--invite", &claude, "--message", "Hello", "--as", "@nick.other"]).await;
    let sibling = "@nick.plenary-doctor";
    done(&home.run_in(&directory, &["doctor"]).await);
    let left = async || {
        let mut left = Vec::new();
        for (agent, command) in [
            (claude.as_str(), &["session", "list"][..]),
            (sibling, &["session", "list"]),
            (claude.as_str(), &["inbox"]),
            (sibling, &["inbox"]),
        ] {
            let ran = home.run_in(&directory, &[command, &["--as", agent, "--json"]].concat()).await;
            let mut answer = json_of(done(&ran));
            let items = answer["items"].as_array_mut();
            items.into_iter().flatten().for_each(|item| item["age_s"] = Value::Null);
            answer.as_object_mut().expect("an object").remove("cursor");
            left.push(answer);
        }
        left
    };
    let first = left().await;
    assert_eq!(first[0]["sessions"].as_array().map(Vec::len), Some(1), "{first:?}");
    assert_eq!(first[1]["sessions"], json!([]), "{first:?}");
    assert_eq!((&first[2]["unread"], &first[2]["items"][0]["from"]), (&json!(1), &json!("@nick.other")));
    for _ in 0..2 {
        done(&home.run_in(&directory, &["doctor"]).await);
        assert_eq!(left().await, first);
    }
}

#[tokio::test]
async fn an_agent_stays_who_it_is_whatever_became_of_its_token_and_of_the_servers_address() {
    let mut server = server().await;
    let home = home(&server);
    let (directory, elsewhere) = (home.dir().join("a"), home.dir().join("b"));
    let claude = connected(&home, &directory, "claude").await;
    let codex = connected(&home, &elsewhere, "codex").await;
    done(&home.run_in(&directory, &["doctor"]).await);
    let tokens = home.dir().join(".config/plenary/tokens.toml");
    let text = std::fs::read_to_string(&tokens).expect("saved");
    std::fs::write(&tokens, text.replace("= \"pla_", "= \"pla_0")).expect("a file");
    assert_eq!(connected(&home, &directory, "claude").await, claude, "with a token that does not hold");
    done(&home.run_in(&directory, &["doctor"]).await);
    let before = server.url();
    server.crash().await;
    assert_ne!(server.url(), before, "it listens elsewhere");
    let broken = home.run_in(&directory, &["doctor"]).await;
    assert!(broken.code == 1 && broken.out.contains("`plenary connect claude`"), "{broken:?}");
    assert_eq!(connected(&home, &directory, "claude").await, claude, "at another address");
    assert_eq!(connected(&home, &elsewhere, "codex").await, codex);
    done(&home.run_in(&directory, &["doctor"]).await);
    let list = home.done(&["agent", "list"]).await;
    assert!(!list.contains("-2"), "no agent is made beside it: {list}");
}

#[tokio::test]
async fn an_agent_of_the_same_name_on_another_server_is_left_alone() {
    let (here, there) = (server().await, server().await);
    let home = home(&here);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    let url = there.url();
    let operator = std::fs::read_to_string(there.data().join("operator-token")).expect("a token");
    let made = there
        .bearer(operator.trim())
        .post("/_admin/agents", json!({"handle": claude, "policy": "open"}))
        .await
        .ok(201);
    let theirs = there.bearer(made["token"].as_str().expect("a token"));
    let args = ["connect", "claude", "--url", &url, "--token", operator.trim(), "--json"];
    let ran = home.run_in(&directory, &args).await;
    assert_eq!(json_of(done(&ran))["agent"], json!(format!("{claude}-2")), "{ran:?}");
    theirs.get("/agents/me").await.ok(200);
}

#[tokio::test]
async fn who_is_connected_by_the_plugin_has_a_path_too() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let connect = home.run_in(&directory, &["connect", "claude", "--identity-only"]).await;
    assert_eq!(done(&connect), "Claude Code is connected here as @nick.claude-a\n");
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(done(&ran).contains("the server accepts it as @nick.claude-a"), "{ran:?}");
}

#[tokio::test]
async fn broken_settings_are_named_with_what_mends_them() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "claude").await;
    for (name, text, words) in [
        (".mcp.json", "{", "correct it or move it away"),
        (".mcp.json", "{\"mcpServers\": {}}", "`plenary connect claude`"),
        (".claude/settings.local.json", "{}", "`plenary connect claude`"),
        (".plenary/clients.toml", "[", "plenary trust"),
    ] {
        let path = directory.join(name);
        let kept = std::fs::read_to_string(&path).expect("it is there");
        std::fs::write(&path, text).expect("a file");
        let ran = home.run_in(&directory, &["doctor"]).await;
        assert!(ran.code != 0 && format!("{}{}", ran.out, ran.err).contains(words), "{name}: {ran:?}");
        std::fs::write(&path, kept).expect("a file");
    }
    done(&home.run_in(&directory, &["doctor"]).await);
}

/// Servers that were started with that home.
fn servers_of(home: &Path) -> Vec<Pid> {
    let home = format!("HOME={}", home.display());
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let is_one = |process: &std::fs::DirEntry| {
        let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
        let has = |octets: Vec<u8>, word: &str| {
            octets.split(|octet| *octet == 0).any(|part| part == word.as_bytes())
        };
        has(read("cmdline"), "serve") && has(read("environ"), &home)
    };
    let pids = processes.filter(is_one).filter_map(|process| process.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

/// Ends the servers of a home that nobody else would end.
struct Ending(PathBuf);

impl Drop for Ending {
    fn drop(&mut self) {
        for server in servers_of(&self.0) {
            // One that has ended by itself is no matter.
            let _ended = kill_process(server, Signal::KILL);
        }
    }
}

#[tokio::test]
async fn a_server_is_started_where_none_answers_and_goes_on() {
    let home = Cli::new(&[("USER", "nick"), ("PATH", "/usr/bin:/bin"), ("PLENARY_LISTEN", "127.0.0.1:0")]);
    let (directory, _ending) = (home.dir().join("a"), Ending(home.dir()));
    let elsewhere = ["connect", "claude", "--serve", "--url", "http://127.0.0.1:9"];
    let refused = home.run_in(&directory, &elsewhere).await;
    assert!(refused.code == 2 && refused.err.contains("leave out the URL"), "{refused:?}");
    assert_eq!(servers_of(&home.dir()).len(), 0);
    let ran = home.run_in(&directory, &["connect", "claude", "--serve"]).await;
    assert!(done(&ran).contains("is connected here as @nick.claude-a"), "{ran:?}");
    assert!(ran.err.contains("a server now runs at http://127.0.0.1:"), "{ran:?}");
    home.done(&["status"]).await;
    let again = home.run_in(&directory, &["connect", "codex", "--serve"]).await;
    assert!(done(&again).contains("@nick.codex-a") && !again.err.contains("a server now runs"), "{again:?}");
    assert_eq!(servers_of(&home.dir()).len(), 1, "one is enough");
    let ended = home.run_in(&home.dir(), &["stop"]).await;
    assert_eq!(done(&ended), "the server has stopped\n");
    assert_eq!(servers_of(&home.dir()).len(), 0);
    let none = home.run_in(&directory, &["stop"]).await;
    assert!(
        none.code != 0 && none.err.contains("no server that `plenary connect --serve` started"),
        "{none:?}"
    );
}

#[tokio::test]
async fn what_an_agent_is_told_is_served_and_printed() {
    let server = server().await;
    let home = home(&server);
    let served = server.stranger().get("/llms.txt").await;
    let text = String::from_utf8(served.body.to_vec()).expect("a text");
    assert!(text.starts_with("# Plenary\n\n> "), "{text}");
    assert_eq!(home.done(&["teach"]).await, text.trim_end());
    assert!(home.done(&["teach", "skill"]).await.starts_with("---\nname: plenary\n"));
    assert!(home.done(&["teach", "agents-md"]).await.starts_with("<!-- plenary: begin -->\n## Plenary\n"));
}
