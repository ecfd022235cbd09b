//! A backup is made and restored with the commands of docs/operations.md.

use std::{fs, path::Path, process::Command};

use blackbox::{Caller, Cli, Server, TempDir, content_of};
use serde_json::{Value, json};

/// Runs a command of the system that must succeed.
fn system(words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).status().expect("the command starts");
    assert!(status.success(), "{words:?}");
}

async fn messages(agent: &Caller, id: &str) -> Vec<String> {
    let page = agent.get(&format!("/sessions/{id}/events?after_sequence=0")).await.ok(200);
    let events: &Vec<Value> = page["events"].as_array().expect("a list");
    content_of(events).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_backup_is_restored_as_the_page_says() {
    let place = TempDir::new();
    let path = |name: &str| place.path().join(name).display().to_string();
    let (data, backup, old) = (path("data"), path("backup"), path("data.old"));
    let mut server = Server::builder().data(Path::new(&data)).own_operator_token().start().await;
    let operator = Cli::new(&[("PLENARY_DATA", &data)]);
    let token = operator.run_ok(&["agent", "add", "@ida.a", "--show-token"]).await;
    let ida = server.bearer(&token);
    let id = ida.post("/sessions", json!({})).await.ok(201)["session_id"].as_str().expect("an id").to_owned();
    let say = |text: &'static str| {
        let path = format!("/sessions/{id}/messages");
        let ida = &ida;
        async move { ida.post(&path, json!({"content": text})).await.ok(201) }
    };
    say("before the backup").await;
    let file = ida.upload(("a.txt", "text/plain"), b"the file", &[]).await.ok(201);
    let file = format!("/files/{}", file["id"].as_str().expect("an id"));

    operator.run_ok(&["log", "copy", "--from", &data, "--to", &backup]).await;
    system(&["cp", "-r", &format!("{data}/blobs"), &backup]);
    system(&["cp", "-p", &format!("{data}/operator-token"), &backup]);
    say("after the backup").await;
    server.stop().await;

    system(&["mv", &data, &old]);
    system(&["cp", "-rp", &backup, &data]);
    operator.run_ok(&["fsck", "--data", &data]).await;
    server.restart().await;
    assert_eq!(messages(&ida, &id).await, ["before the backup"]);
    assert_eq!(ida.get(&file).await.text(), "the file");
    assert!(operator.run_ok(&["agent", "list"]).await.contains("@ida.a"));
    assert!(operator.run_ok(&["fsck", "--data", &data]).await.contains("no damage"));
    say("after the restore").await;

    // Without its file, the operator gets a new token, which the log reports.
    let before = fs::read_to_string(format!("{data}/operator-token")).expect("a token");
    server.stop().await;
    system(&["rm", &format!("{data}/operator-token")]);
    server.restart().await;
    let after = fs::read_to_string(format!("{data}/operator-token")).expect("a token");
    assert_ne!(before, after);
    server.wait_for_log("a new token of the operator is made").await;
    assert_eq!(messages(&ida, &id).await, ["before the backup", "after the restore"]);
}

#[tokio::test]
async fn a_copy_is_not_made_inside_its_source() {
    let server = Server::start().await;
    let data = server.data().display().to_string();
    let inside = format!("{data}/copies/today");
    let ran = Cli::new(&[]).run(&["log", "copy", "--from", &data, "--to", &inside]).await;
    assert!(ran.code == 2 && ran.err.contains("is inside"), "{ran:?}");
    assert!(!Path::new(&inside).exists());
}
