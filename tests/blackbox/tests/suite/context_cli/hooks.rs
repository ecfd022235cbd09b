//! Hooks that deposit by themselves.

use std::os::unix::fs::PermissionsExt as _;

use blackbox::{Cli, Server};
use serde_json::{Value, json};

use super::{
    desk, json_of,
    repository::{commit, git},
};

#[tokio::test]
async fn the_git_hook_is_installed_once_beside_what_is_there_and_deposits_each_commit() {
    let server = Server::start().await;
    let (agent, ann) = desk(&server).await;
    let directory = ann.dir();
    let outside = ann.run(&["context", "hook", "install"]).await;
    assert!(outside.code == 1 && outside.err.contains("not in a Git repository"), "{outside:?}");
    git(&directory, &["init", "-q", "-b", "main"]).await;
    let hook = directory.join(".git/hooks/post-commit");
    std::fs::create_dir_all(hook.parent().expect("it has one")).expect("a directory can be made");
    std::fs::write(&hook, "#!/bin/sh\ntouch was-here\nexit 0\n").expect("a file can be made");
    let installed = ann.run(&["context", "hook", "install"]).await;
    assert!(
        installed.code == 0 && installed.err.contains("PLENARY_TOKEN"),
        "its token is this terminal's: {installed:?}"
    );
    let once = std::fs::read_to_string(&hook).expect("the hook is there");
    assert!(!once.contains(agent.token()), "no token stands in a hook");
    assert!(
        once.contains("--as @nick.ann") && once.contains(&server.url()),
        "what only the terminal says: {once}"
    );
    assert_eq!(std::fs::metadata(&hook).expect("the hook is there").permissions().mode() & 0o100, 0o100);
    assert!(ann.run_ok(&["context", "hook", "install", "git"]).await.ends_with("already has the hook"));
    assert_eq!(std::fs::read_to_string(&hook).expect("the hook is there"), once);

    // As the user would, who has saved the token.
    std::fs::create_dir_all(directory.join(".config/plenary")).expect("a directory can be made");
    ann.run_ok(&["token", "add", "@nick.ann", "--token", agent.token()]).await;
    commit(&directory, "a.rs", "A commit").await;
    assert!(directory.join("was-here").exists(), "the hook that was there runs too");
    let page = json_of(&ann.run_ok(&["context", "pull", "--json"]).await);
    assert_eq!(page["packages"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(
        (&page["packages"][0]["title"], &page["packages"][0]["package_type"]),
        (&json!("A commit"), &json!("auto_deposit"))
    );

    git(&directory, &["branch", "other", "HEAD"]).await;
    commit(&directory, "b.rs", "Another").await;
    git(&directory, &["checkout", "-q", "other"]).await;
    git(&directory, &["commit", "-q", "--allow-empty", "--no-verify", "-m", "Aside"]).await;
    let deposits = async || {
        let page = ann.run_ok(&["context", "pull", "--short", "--limit", "100"]).await;
        page.lines().count()
    };
    let before = deposits().await;
    git(&directory, &["rebase", "-q", "main"]).await;
    assert_eq!(deposits().await, before, "what is made anew is no work of now");

    ann.run_ok(&["context", "hook", "remove"]).await;
    let left = std::fs::read_to_string(&hook).expect("the other hook stays");
    assert_eq!(left, "#!/bin/sh\ntouch was-here\nexit 0\n");
    std::fs::write(&hook, "#!/usr/bin/env python3\n").expect("a file can be made");
    let python = ann.run(&["context", "hook", "install"]).await;
    assert!(python.code == 1 && python.err.contains("not a shell script"), "{python:?}");
    let shared = ann.dir().join("..").canonicalize().expect("it is there").display().to_string();
    git(&directory, &["config", "core.hooksPath", &shared]).await;
    let foreign = ann.run(&["context", "hook", "install"]).await;
    assert!(foreign.code == 1 && foreign.err.contains("core.hooksPath"), "{foreign:?}");
}

/// The hook runs where nothing is left of the terminal, and reaches the same server.
#[tokio::test]
async fn the_git_hook_trusts_the_authority_of_the_terminal() {
    let server = Server::builder().tls().start().await;
    let agent = server.agent("@nick.ann").await;
    let authority = server.certificate().file.to_str().expect("a path of text").to_owned();
    let ann = Cli::of(&server, &agent, "s-1");
    let trusting = async |args: &[&str]| ann.run_ok(&[&["--cacert", &authority], args].concat()).await;
    trusting(&["context", "init", "parser", "--name", "The parser"]).await;
    let directory = ann.dir();
    git(&directory, &["init", "-q", "-b", "main"]).await;
    trusting(&["context", "hook", "install"]).await;
    let hook = directory.join(".git/hooks/post-commit");
    let text = std::fs::read_to_string(&hook).expect("the hook is there");
    assert!(text.contains(&format!("PLENARY_CACERT={authority} ")), "{text}");
    std::fs::create_dir_all(directory.join(".config/plenary")).expect("a directory can be made");
    trusting(&["token", "add", "@nick.ann", "--token", agent.token()]).await;
    commit(&directory, "a.rs", "A commit").await;
    let page = json_of(&trusting(&["context", "pull", "--json"]).await);
    assert_eq!(page["packages"].as_array().map(Vec::len), Some(1), "{page}");
}

#[tokio::test]
async fn the_agents_hook_is_shown_first_and_leaves_other_settings() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let file = ann.dir().join(".claude/settings.json");
    let shown = ann.run(&["context", "hook", "install", "claude"]).await;
    assert!(shown.code == 0 && shown.err.contains("--yes") && !file.exists(), "{shown:?}");
    assert_eq!(json_of(&shown.out)["hooks"]["Stop"][0]["hooks"][0]["type"], "command");
    let mine =
        json!({"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}});
    std::fs::create_dir(ann.dir().join(".claude")).expect("a directory can be made");
    std::fs::write(&file, mine.to_string()).expect("a file can be made");
    let read = || -> Value { json_of(&std::fs::read_to_string(&file).expect("the settings are there")) };
    ann.run_ok(&["context", "hook", "install", "claude", "--yes"]).await;
    let once = read();
    assert_eq!((&once["model"], once["hooks"]["Stop"].as_array().map(Vec::len)), (&json!("x"), Some(2)));
    let again = ann.run_ok(&["context", "hook", "install", "claude", "--yes"]).await;
    assert!(again.ends_with("already has the hook") && read() == once, "{again}");
    let entries = std::fs::read_dir(ann.dir().join(".local/state/plenary/copies")).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").path());
    let kept = names.filter(|path| path.display().to_string().contains("settings.json.")).min();
    let backup = std::fs::read_to_string(kept.expect("what was there is kept"));
    assert_eq!(json_of(&backup.expect("what was there is kept")), mine);
    let removed = json_of(&ann.run_ok(&["context", "hook", "remove", "claude", "--json"]).await);
    assert_eq!((&removed["hook"], read()), (&json!("claude"), mine));
    std::fs::write(&file, "{").expect("a file can be made");
    assert_eq!(ann.run(&["context", "hook", "install", "claude", "--yes"]).await.code, 1);
}
