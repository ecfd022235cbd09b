//! A directory that came from somebody else: its configuration, its word on who speaks, its settings, its `git`.

use std::{
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use blackbox::{Cli, Server};
use serde_json::json;

use crate::connect::{connected, home, server};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

/// A program that leaves a mark when it is run.
fn program(path: &Path, mark: &Path) {
    write(path, &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", mark.display()));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

#[tokio::test]
async fn a_configuration_that_lies_in_the_working_directory_is_not_read() {
    let home = Cli::new(&[("PATH", "/usr/bin:/bin")]);
    write(&home.dir().join("plenary.toml"), "listen = \"0.0.0.0:0\"\nnobody_knows_this = 1\n");
    let mut serve = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let said = serve.note_with("is not read").await;
    assert!(said.contains("--config plenary.toml") && said.contains("PLENARY_CONFIG"), "{said}");
    assert!(serve.line().await.starts_with("listening on http://127.0.0.1:"));
    let named = home.run(&["serve", "--config", "plenary.toml"]).await;
    assert!(named.code == 1 && named.err.contains("nobody_knows_this"), "a named file is read: {named:?}");
}

#[tokio::test]
async fn the_users_own_configuration_is_read_and_an_address_may_be_short() {
    let home = Cli::new(&[("PATH", "/usr/bin:/bin")]);
    write(&home.dir().join(".config/plenary/plenary.toml"), "listen = \"localhost:0\"\ndata = \"kept\"\n");
    let mut serve = home.start(&["serve"]);
    assert!(serve.line().await.starts_with("listening on http://127.0.0.1:"));
    assert!(home.dir().join(".config/plenary/kept/plenary.db").exists(), "paths are meant from the file");
    let port = home.run(&["serve", "--data", "other", "--listen", "65536"]).await;
    assert!(port.code == 2 && port.err.contains("localhost:7420"), "{port:?}");
}

#[tokio::test]
async fn a_server_that_connect_starts_reads_nothing_here_and_stays_on_this_machine() {
    let env = [("USER", "nick"), ("PATH", "/usr/bin:/bin"), ("PLENARY_LISTEN", "0.0.0.0:0")];
    let home = Cli::new(&env);
    let directory = home.dir().join("clone");
    write(&directory.join("plenary.toml"), "listen = \"0.0.0.0:0\"\nnobody_knows_this = 1\n");
    let refused = home.run_in(&directory, &["connect", "claude", "--serve"]).await;
    assert!(refused.code == 2 && refused.err.contains("from PLENARY_LISTEN"), "{refused:?}");
    assert!(refused.err.contains("--listen 0.0.0.0:0"), "it says how to mean it: {refused:?}");
    assert!(!directory.join(".plenary").exists(), "nothing was written");
}

#[tokio::test]
async fn a_directory_says_who_speaks_only_when_its_user_wrote_or_trusts_it() {
    let server = server().await;
    let home = home(&server);
    home.run_ok(&["agent", "add", "@nick.a", "--policy", "open"]).await;
    let clone = home.dir().join("clone");
    write(&clone.join(".plenary.toml"), "agent = \"@nick.a\"\nproject = \"theirs\"\n");
    for command in [&["session", "list"][..], &["context", "deposit", "--title", "x", "--as", "@nick.a"]] {
        let refused = home.run_in(&clone, command).await;
        assert!(refused.code == 4 && refused.err.contains("plenary trust"), "{command:?}: {refused:?}");
    }
    let into = home.run_in(&clone, &["use", "@nick.a"]).await;
    assert!(into.code == 4 && into.err.contains("plenary trust"), "{into:?}");
    let told = json!({"hook_event_name": "SessionStart", "session_id": "s", "cwd": clone}).to_string();
    let binary = blackbox::binary().display().to_string();
    let hook = home.shell(&clone, &format!("{binary} hook SessionStart --client claude"), &told).await;
    assert_eq!((hook.code, hook.out.as_str()), (0, ""), "{hook:?}");
    home.run_in(&clone, &["session", "list", "--as", "@nick.a"]).await;

    let trusted = home.run_in(&clone, &["trust"]).await;
    assert!(trusted.code == 0 && trusted.err.contains("theirs"), "{trusted:?}");
    let now = home.run_in(&clone.join("below"), &["session", "list"]).await;
    assert_eq!(now.code, 0, "{now:?}");
    write(&clone.join(".plenary.toml"), "agent = \"@nick.a\"\nproject = \"others\"\n");
    let changed = home.run_in(&clone, &["session", "list"]).await;
    assert!(changed.code == 4, "it was changed: {changed:?}");

    let own = home.dir().join("own");
    let used = home.run_in(&own, &["use", "@nick.a"]).await;
    assert_eq!(used.code, 0, "{used:?}");
    let listed = home.run_in(&own, &["session", "list"]).await;
    assert_eq!(listed.code, 0, "what the user writes is trusted: {listed:?}");
}

#[tokio::test]
async fn connect_takes_no_word_of_a_clients_file_that_came_with_the_directory() {
    let server = server().await;
    let home = home(&server);
    home.run_ok(&["agent", "add", "@nick.main"]).await;
    let clone = home.dir().join("clone");
    let file = "[claude]\nagent = \"@nick.main\"\nscope = \"project\"\nmade = [\"../keep\"]\n";
    write(&clone.join(".plenary/clients.toml"), file);
    write(&home.dir().join("keep"), "");
    for command in [["connect", "claude"], ["disconnect", "claude"], ["doctor", "--json"]] {
        let ran = home.run_in(&clone, &command).await;
        assert!(ran.code != 0 && format!("{}{}", ran.out, ran.err).contains("plenary trust"), "{ran:?}");
    }
    assert!(home.dir().join("keep").exists());
    let link = home.dir().join("linked");
    std::fs::create_dir_all(&link).expect("a directory");
    write(&home.dir().join(".claude.json"), "{}");
    symlink("../.claude.json", link.join(".mcp.json")).expect("a link");
    let ran = home.run_in(&link, &["connect", "claude"]).await;
    assert!(ran.code == 2 && ran.err.contains("leads out of this directory"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(home.dir().join(".claude.json")).expect("a file"), "{}");
}

/// Programs that write a new file beside the old one and rename it give that file a name. A repository may bring a link of
/// such a name.
#[tokio::test]
async fn no_file_beside_the_settings_leads_out_of_the_directory() {
    let server = server().await;
    let home = home(&server);
    let clone = home.dir().join("clone");
    write(&home.dir().join(".bashrc"), "keep");
    write(&clone.join(".mcp.json"), "{}");
    write(&clone.join(".claude/settings.local.json"), "{}");
    write(&clone.join(".plenary/readme"), "");
    for (link, to) in [
        ("..mcp.json.plenary-new", "../.bashrc"),
        (".mcp.json.plenary-new", "../.bashrc"),
        (".claude/.settings.local.json.plenary-new", "../../.bashrc"),
        (".plenary/.clients.toml.plenary-new", "../../.bashrc"),
        (".plenary/.gitignore", "../../.made"),
    ] {
        symlink(to, clone.join(link)).expect("a link");
    }
    let ran = home.run_in(&clone, &["connect", "claude"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(std::fs::read_to_string(home.dir().join(".bashrc")).expect("a file"), "keep");
    assert!(!home.dir().join(".made").exists());
    assert!(clone.join(".mcp.json").symlink_metadata().expect("a file").is_file());
}

#[tokio::test]
async fn doctor_runs_nothing_but_this_program() {
    let server = server().await;
    let home = home(&server);
    let directory = home.dir().join("a");
    connected(&home, &directory, "claude").await;
    let mark = home.dir().join("mark");
    program(&directory.join("evil"), &mark);
    let evil = directory.join("evil").display().to_string();
    let binary = blackbox::binary().canonicalize().expect("a binary").display().to_string();
    for name in [".mcp.json", ".claude/settings.local.json"] {
        let path = directory.join(name);
        let kept = std::fs::read_to_string(&path).expect("a file");
        assert!(kept.contains(&binary), "{kept}");
        write(&path, &kept.replace(&binary, &evil));
        let ran = home.run_in(&directory, &["doctor"]).await;
        assert!(ran.code == 1 && ran.out.contains("another program"), "{name}: {ran:?}");
        assert!(!mark.exists(), "{name}: it was run");
        write(&path, &kept);
    }
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[tokio::test]
async fn a_repository_runs_nothing_when_its_commits_are_read() {
    let (server, [ann]) = Server::with(["@nick.ann"]).await;
    let cli = Cli::new(&[
        ("PLENARY_URL", &server.url()),
        ("PLENARY_AS", &ann.handle),
        ("PLENARY_TOKEN", ann.token()),
        ("PLENARY_SESSION", "s-1"),
        ("PATH", ".:/usr/bin:/bin"),
    ]);
    let (clone, mark) = (cli.dir().join("clone"), cli.dir().join("mark"));
    std::fs::create_dir_all(&clone).expect("a directory");
    let evil = cli.dir().join("evil");
    program(&evil, &mark);
    let made = format!(
        "set -e; export PATH=/usr/bin:/bin GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
         git init -q; echo x >f; git add f; git commit -qm one
         signed=$(git cat-file commit HEAD | sed 's/^committer .*/&\\ngpgsig x/' | git hash-object -t commit -w --stdin)
         git update-ref HEAD $signed
         git config log.showSignature true; git config gpg.program '{0}'; git config core.fsmonitor '{0}'
         git config diff.external '{0}'; git config core.pager '{0}'",
        evil.display()
    );
    let ran = cli.shell(&clone, &made, "").await;
    assert_eq!(ran.code, 0, "{ran:?}");
    program(&clone.join("git"), &mark);
    cli.run_ok(&["context", "init", "parser"]).await;
    let ran = cli.run_in(&clone, &["context", "deposit", "--git", "--project", "parser"]).await;
    assert!(ran.code == 0, "{ran:?}");
    assert!(!mark.exists(), "the repository had a program run");
}
