//! `plenary doctor`: the path of a message to a coding agent, link by link.
//! Must not know: how settings are written.

use std::path::Path;

use blackbox::Cli;
use serde_json::{Value, json};

use super::{ALL, connected, done, home, json_of, server};

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

    home.run_ok(&["token", "remove", &codex]).await;
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

/// A hook that fails does so silently; `doctor` says why.
#[tokio::test]
async fn the_cause_of_a_silent_hook_is_named() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "claude").await;
    done(&home.run_in(&directory, &["doctor"]).await);
    let late = format!("PLENARY_HOOK_DEADLINE_MS=1 '{}' doctor", blackbox::binary().display());
    let ran = home.shell(&directory, &late, "").await;
    assert!(ran.code == 1 && ran.out.contains("it has 1 ms; PLENARY_HOOK_DEADLINE_MS"), "{ran:?}");
    let hooks = home.dir().join(".local/state/plenary/hooks");
    std::fs::remove_dir_all(&hooks).expect("the state goes");
    std::fs::write(&hooks, "in the way").expect("a file");
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(ran.code == 1 && ran.out.contains("did not show a waiting message"), "{ran:?}");
    assert!(ran.out.contains("plenary/hooks"), "{ran:?}");
    let by_hand = home.run_in(&directory, &["hook", "Stop", "--client", "claude", "--peek"]).await;
    assert!(by_hand.code == 0 && by_hand.err.contains("plenary/hooks"), "{by_hand:?}");
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

/// As Gemini CLI notes that its person trusts a folder.
fn gemini_trusts(home: &Cli, directory: &Path) {
    let own = home.dir().join(".gemini");
    std::fs::create_dir_all(&own).expect("a directory");
    let noted = json!({directory.display().to_string(): "TRUST_FOLDER"});
    std::fs::write(own.join("trustedFolders.json"), noted.to_string()).expect("a file");
}

#[tokio::test]
async fn what_nobody_said_is_not_called_allowed() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "gemini").await;
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(ran.code == 1 && ran.out.contains("does not trust"), "{ran:?}");
    gemini_trusts(&home, &directory);
    done(&home.run_in(&directory, &["doctor"]).await);
    connected(&home, &directory, "copilot").await;
    let ran = home.run_in(&directory, &["doctor", "--client", "copilot"]).await;
    assert!(done(&ran).contains("?     allowed (copilot): whether"), "{ran:?}");
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
        (".claude/settings.json", r#"{"permissions": {"deny": ["mcp__plenary__send"]}}"#, "denies tools"),
        (
            ".claude/settings.json",
            r#"{"deniedMcpServers": [{"serverName": "plenary"}]}"#,
            "denies the server",
        ),
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
    let state = home.dir().join(".claude.json");
    for (here, words) in [
        (json!({"mcpServers": {"plenary": {"command": "/bin/true"}}}), "another server `plenary`"),
        (json!({"hasTrustDialogAccepted": false}), "does not trust"),
    ] {
        let noted = json!({"projects": {directory.display().to_string(): here}});
        std::fs::write(&state, noted.to_string()).expect("a file");
        let ran = home.run_in(&directory, &["doctor"]).await;
        assert!(ran.code == 1 && ran.out.contains(words), "{ran:?}");
    }
    std::fs::remove_file(&state).expect("it is there");
    // Whoever speaks by the tools is the agent that is connected here.
    home.run_ok(&["agent", "add", "@nick.other"]).await;
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
            "gemini" => gemini_trusts(&home, &directory),
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
async fn a_probe_leaves_no_session_and_nothing_unread() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    home.run_ok(&["agent", "add", "@nick.other", "--allow", "@nick.*"]).await;
    home.run_ok(&["session", "create", "--invite", &claude, "--message", "Hello", "--as", "@nick.other"])
        .await;
    let sibling = "@nick.plenary-doctor";
    let probed = home.run_in(&directory, &["doctor"]).await;
    assert!(!done(&probed).contains(sibling) && !probed.err.contains(sibling), "{probed:?}");
    let reached = home.run_in(&directory, &["agents", "--as", &claude]).await;
    assert!(done(&reached).contains("same owner") && !reached.out.contains(sibling), "{reached:?}");
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
    let who = done(&home.run_in(&directory, &["who", "--as", &claude]).await).to_owned();
    assert!(who.contains("@nick.other") && !who.contains("plenary-doctor"), "it answers nobody: {who}");
}

#[tokio::test]
async fn what_holds_messages_back_is_named() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    let claude = connected(&home, &directory, "claude").await;
    let open = done(&home.run_in(&directory, &["doctor"]).await).to_owned();
    assert!(!open.contains("attention") && open.contains("hooks, the others print nothing"), "{open}");
    done(&home.run_in(&directory, &["attention", "dnd", "--as", &claude]).await);
    let held = done(&home.run_in(&directory, &["doctor"]).await).to_owned();
    assert!(held.contains("attention") && held.contains("`plenary attention open"), "{held}");
    done(&home.run_in(&directory, &["attention", "open", "--as", &claude]).await);
    assert!(!done(&home.run_in(&directory, &["doctor"]).await).contains("attention"));
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

#[tokio::test]
async fn settings_name_the_link_that_an_upgrade_moves() {
    let server = server().await;
    let home = home(&server);
    let (directory, bin) = (home.dir().join("a"), home.dir().join("bin"));
    for directory in [&directory, &bin, &home.dir().join("v1"), &home.dir().join("v2")] {
        std::fs::create_dir_all(directory).expect("a directory");
    }
    let (link, own) = (bin.join("plenary"), home.dir().join("v1/plenary"));
    let lead = |from: &Path, to: &Path| std::os::unix::fs::symlink(to, from).expect("a link");
    lead(&own, &blackbox::binary());
    lead(&link, &own);
    let by_link = async |arguments: &str| {
        let line = format!("PATH={}:$PATH plenary {arguments}", bin.display());
        done(&home.shell(&directory, &line, "").await).to_owned()
    };
    let command = || {
        let text = std::fs::read_to_string(directory.join(".mcp.json")).expect("settings");
        json_of(&text)["mcpServers"]["plenary"]["command"].clone()
    };
    // As an earlier version wrote them.
    connected(&home, &directory, "claude").await;
    assert_eq!(command(), json!(blackbox::binary()));
    by_link("doctor").await;
    by_link("connect claude").await;
    assert_eq!(command(), json!(link));
    std::fs::remove_file(&link).expect("a link");
    std::fs::remove_file(&own).expect("a link");
    let next = home.dir().join("v2/plenary");
    lead(&next, &blackbox::binary());
    lead(&link, &next);
    by_link("doctor").await;
    done(&home.run_in(&directory, &["doctor"]).await);
}
