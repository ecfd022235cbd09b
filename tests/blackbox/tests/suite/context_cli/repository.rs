//! Packages from the commits of a git repository.

use std::path::Path;

use blackbox::{Cli, Server};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{desk, json_of, package};

/// Runs git in a directory; what it prints.
pub(super) async fn git(directory: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@nick.example", "-c", "commit.gpgsign=false"]);
    command.args(args).current_dir(directory).env_clear();
    command.envs([("HOME", directory.as_os_str()), ("PATH", "/usr/bin:/bin".as_ref())]);
    let output = command.output().await.expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(super) async fn commit(directory: &Path, file: &str, message: &str) -> String {
    std::fs::write(directory.join(file), message).expect("a file can be made");
    git(directory, &["add", file]).await;
    git(directory, &["commit", "-q", "-m", message]).await;
    git(directory, &["rev-parse", "HEAD"]).await
}

async fn latest(cli: &Cli) -> Value {
    json_of(&cli.run_ok(&["context", "pull", "--limit", "1", "--json"]).await)["packages"][0].clone()
}

#[tokio::test]
async fn the_commits_since_the_last_deposit_become_a_package() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    let directory = ann.dir();
    let nowhere = ann.run(&["context", "deposit", "--git"]).await;
    assert!(nowhere.code == 1 && nowhere.err.contains("not in a Git repository"), "{nowhere:?}");
    git(&directory, &["init", "-q", "-b", "main"]).await;
    let empty = ann.run(&["context", "deposit", "--git"]).await;
    assert!(empty.code == 1 && empty.err.contains("no commit yet"), "{empty:?}");

    commit(&directory, "a.rs", "First\n\nDecision: keep it small\nQuestion: how small?\nHandoff: go on")
        .await;
    let head = commit(&directory, "b ü.md", "Second").await;
    let id = ann.run_ok(&["context", "deposit", "--git"]).await;
    let stored = package(&ann, &id).await;
    assert_eq!(stored["title"], "Second, and 1 more commit");
    assert_eq!(
        (&stored["decisions_made"], &stored["open_questions"]),
        (&json!(["keep it small"]), &json!(["how small?"]))
    );
    assert_eq!(
        (&stored["handoff_note"], &stored["created_by"]["git_commit"]),
        (&json!("go on"), &json!(head))
    );
    let files = stored["deliverables"].as_array().expect("deliverables");
    let named: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(named, ["a.rs", "b ü.md"]);
    let sum = Command::new("sha256sum").arg(directory.join("a.rs")).output().await.expect("sha256sum runs");
    let sum = format!("sha256:{}", String::from_utf8_lossy(&sum.stdout[..64]));
    assert_eq!((&files[0]["hash"], &files[0]["size_bytes"]), (&json!(sum), &json!(66)), "AP-34");

    let nothing = ann.run(&["context", "deposit", "--git"]).await;
    assert!(
        nothing.code == 0 && nothing.out.is_empty() && nothing.err.contains("nothing new"),
        "{nothing:?}"
    );
    commit(&directory, "c", "Third").await;
    ann.run_ok(&["context", "deposit", "--title", "Something else"]).await;
    ann.run_ok(&["context", "deposit", "--git", "--auto"]).await;
    let third = latest(&ann).await;
    assert_eq!((&third["title"], &third["package_type"]), (&json!("Third"), &json!("auto_deposit")));
    assert_eq!(third["deliverables"].as_array().map(Vec::len), Some(1));
    git(&directory, &["rm", "-q", "c"]).await;
    git(&directory, &["commit", "-q", "-m", "Without c"]).await;
    let dry = json_of(&ann.run_ok(&["context", "deposit", "--git", "--dry-run"]).await);
    assert_eq!(
        (&dry["title"], dry.get("deliverables")),
        (&json!("Without c"), None),
        "what is gone is not delivered"
    );
    let since = json_of(&ann.run_ok(&["context", "deposit", "--git", "--since", &head, "--dry-run"]).await);
    assert_eq!(since["title"], "Without c, and 1 more commit");
    let unknown = ann.run(&["context", "deposit", "--git", "--since", "--output=x"]).await;
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[tokio::test]
async fn an_automatic_deposit_never_fails_its_caller() {
    let server = Server::start().await;
    let (_, ann) = desk(&server).await;
    for args in [
        ["context", "deposit", "--git", "--auto"].as_slice(),
        &["context", "deposit", "--auto"],
        &["context", "deposit", "--git", "--auto", "--project", "absent"],
        &["--url", "http://127.0.0.1:1", "context", "deposit", "--auto", "--title", "x"],
    ] {
        let ran = ann.run(args).await;
        assert!(ran.code == 0 && ran.out.is_empty(), "{args:?}: {ran:?}");
    }
}
