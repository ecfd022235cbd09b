//! The commands find the server of this machine by what it says in its data directory, wherever it listens.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod stage;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use stage::{Home, Ran, Server, TestServer};

const ANYWHERE: &str = "127.0.0.1:0";

fn said(directory: &Path) -> PathBuf {
    directory.join("server-url")
}

fn default_data(home: &Home) -> PathBuf {
    home.0.join(".local/share/plenary")
}

/// A command without `PLENARY_URL`, told of another data directory.
fn with_data(home: &Home, data: &Path, args: &[&str]) -> Ran {
    Ran::of(home.plenary("").env("PLENARY_DATA", data).args(args).output().unwrap())
}

#[test]
fn a_server_at_another_address_is_found() {
    let home = Home::new("found");
    let server = TestServer::start(&home, ANYWHERE);
    let file = said(&default_data(&home));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{}\n", server.url));
    home.done("", &["agent", "add", "@nick.a"]);
    home.done("", &["use", "@nick.a"]);
    let status = home.done("", &["status"]);
    assert!(status.contains(&server.url) && status.contains("server-url"), "{status}");
    assert!(status.contains("accepted as @nick.a"), "{status}");
    // What is said wins over what is found.
    assert_eq!(home.run(&Server::absent(), &["status"]).code, 3);
    assert_eq!(home.run("", &["status", "--url", &Server::absent()]).code, 3);
    server.stop();
    assert!(!file.exists(), "a server that stops in order takes it away");
}

#[test]
fn a_server_on_other_data_is_found_by_them() {
    let home = Home::new("other-data");
    let (one, two) = (home.0.join("one"), home.0.join("two"));
    let data = |path: &Path| path.to_str().unwrap().to_owned();
    let first = TestServer::start_with(&home, ANYWHERE, &["--data", &data(&one)]);
    let second = TestServer::start_with(&home, ANYWHERE, &["--data", &data(&two)]);
    assert!(!default_data(&home).exists());
    for (directory, server, name) in [(&one, &first, "@nick.one"), (&two, &second, "@nick.two")] {
        let added = with_data(&home, directory, &["agent", "add", name]);
        assert_eq!((added.code, added.out.trim()), (0, name), "{added:?}");
        let status = with_data(&home, directory, &["status"]);
        assert!(status.out.contains(&server.url), "{status:?}");
    }
    let listed = with_data(&home, &two, &["agent", "list"]);
    assert!(listed.out.contains("@nick.two") && !listed.out.contains("@nick.one"), "{listed:?}");
}

#[test]
fn a_server_that_was_killed_is_missed_by_name() {
    let home = Home::new("killed");
    drop(TestServer::start(&home, ANYWHERE));
    let file = said(&default_data(&home));
    let missed = home.run("", &["session", "list", "--token", "pla_x"]);
    assert_eq!(missed.code, 3, "{missed:?}");
    for words in [file.to_str().unwrap(), "no longer running", "plenary serve --data"] {
        assert!(missed.err.contains(words), "{missed:?}");
    }
    let server = TestServer::start(&home, ANYWHERE);
    let status = home.run("", &["status"]);
    assert!(status.out.contains(&server.url) && status.out.contains("up"), "{status:?}");
    server.stop();
}

#[test]
fn what_is_no_url_is_said_and_never_guessed() {
    let home = Home::new("no-url");
    std::fs::create_dir_all(default_data(&home)).unwrap();
    std::fs::write(said(&default_data(&home)), "gopher://x\n").unwrap();
    let wrong = home.run("", &["session", "list", "--token", "pla_x"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.err.contains("server-url") && wrong.err.contains("remove it"), "{wrong:?}");
}

#[test]
fn a_server_that_keeps_nothing_says_nothing() {
    let home = Home::new("memory");
    let server = TestServer::start_with(&home, ANYWHERE, &["--data", ":memory:"]);
    assert!(!default_data(&home).exists());
    server.stop();
}
