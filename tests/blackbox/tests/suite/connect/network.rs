//! The server of a connected directory, in terminals that do not name it.
//! Must not know: the form of settings.

use std::path::Path;

use blackbox::{Cli, CommandOutput, Server, binary};

use super::{connected, done, files, json_of, server};

/// A home whose data directory leads to a server.
fn home_at(server: &Server) -> Cli {
    let home =
        Cli::new(&[("USER", "nick"), ("PATH", "/usr/bin:/bin"), ("PLENARY_HOOK_DEADLINE_MS", "15000")]);
    lead(&home, server);
    home
}

/// Makes the home's own data directory that of a server.
fn lead(home: &Cli, server: &Server) {
    let data = home.dir().join(".local/share/plenary");
    std::fs::create_dir_all(&data).expect("a directory");
    std::fs::write(data.join("server-url"), server.url()).expect("a file");
    std::fs::write(data.join("operator-token"), operator(server)).expect("a file");
}

fn operator(server: &Server) -> String {
    let token = std::fs::read_to_string(server.data().join("operator-token")).expect("a token");
    token.trim().to_owned()
}

async fn connected_at(home: &Cli, directory: &Path, server: &Server) -> String {
    let (url, program) = (server.url(), binary().display().to_string());
    let save = format!("{program} --url {url} token add --operator");
    done(&home.shell(&home.dir(), &save, &operator(server)).await);
    let args = ["connect", "claude", "--url", &url, "--json"];
    json_of(done(&home.run_in(directory, &args).await))["agent"].as_str().expect("an agent").to_owned()
}

async fn status(home: &Cli, directory: &Path) -> serde_json::Value {
    json_of(done(&home.run_in(directory, &["status", "--json"]).await))
}

#[tokio::test]
async fn a_directory_keeps_the_server_whose_url_was_given() {
    let (here, there) = (server().await, server().await);
    let home = home_at(&here);
    let (directory, elsewhere) = (home.dir().join("a"), home.dir().join("b"));
    let claude = connected_at(&home, &directory, &there).await;
    let found = status(&home, &directory).await;
    assert_eq!((&found["url"], &found["accepted_as"]), (&there.url().into(), &claude.as_str().into()));
    assert_eq!(status(&home, &directory.join("src")).await["url"], there.url());
    let before = files(&directory);
    assert_eq!(connected(&home, &directory, "claude").await, claude, "in a terminal that names no server");
    assert_eq!(files(&directory), before, "nothing changes");
    done(&home.run_in(&directory, &["doctor"]).await);
    assert!(
        !std::fs::read_to_string(directory.join(".plenary/clients.toml")).expect("a file").contains("http")
    );
    assert_eq!(connected(&home, &elsewhere, "claude").await, "@nick.claude-b");
    assert_eq!(status(&home, &elsewhere).await["url"], here.url(), "another directory has the usual one");
    done(&home.run_in(&directory, &["disconnect", "claude"]).await);
    assert_eq!(status(&home, &directory).await["url"], here.url());
}

fn is_refused(ran: &CommandOutput) -> bool {
    ran.code == 2
        && ran.err.contains("on another server than")
        && ran.err.contains("plenary disconnect claude")
}

#[tokio::test]
async fn another_server_that_nobody_named_gets_no_agent_of_a_connected_directory() {
    let (here, there) = (server().await, server().await);
    let home = home_at(&here);
    let directory = home.dir().join("a");
    connected(&home, &directory, "claude").await;
    let before = files(&directory);
    lead(&home, &there);
    let moved = home.run_in(&directory, &["connect", "claude"]).await;
    assert!(is_refused(&moved), "{moved:?}");
    let deleted = home.run_in(&directory, &["disconnect", "claude", "--delete-agent"]).await;
    assert!(deleted.code == 2 && deleted.err.contains("belongs to another server"), "{deleted:?}");
    assert_eq!(files(&directory), before);
    done(&home.run_in(&directory, &["disconnect", "claude"]).await);
    connected(&home, &directory, "claude").await;
    assert_eq!(status(&home, &directory).await["url"], there.url());
}

#[tokio::test]
async fn settings_for_another_server_are_said_to_be_so() {
    let (here, there) = (server().await, server().await);
    let home = home_at(&here);
    let directory = home.dir().join("a");
    connected_at(&home, &directory, &there).await;
    let url = here.url();
    let ran = home.run_in(&directory, &["doctor", "--url", &url]).await;
    assert!(ran.code == 1 && ran.out.contains(&format!("name the server {}", there.url())), "{ran:?}");
    assert!(!ran.out.contains("another program"), "{ran:?}");
}
