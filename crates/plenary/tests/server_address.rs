//! The commands find the server of this machine by what it says in its data directory, wherever it listens.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

mod stage;

use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use stage::{Home, Ran, Server, TestServer};

const ANYWHERE: &str = "127.0.0.1:0";

fn url_file(directory: &Path) -> PathBuf {
    directory.join("server-url")
}

fn default_data(home: &Home) -> PathBuf {
    home.0.join(".local/share/plenary")
}

/// A command without `PLENARY_URL`, told of another data directory.
fn with_data(home: &Home, data: &Path, args: &[&str]) -> Ran {
    Ran::new(home.plenary("").env("PLENARY_DATA", data).args(args).output().unwrap())
}

#[test]
fn a_server_at_another_address_is_found() {
    let home = Home::new("found");
    let server = TestServer::start(&home, ANYWHERE);
    let file = url_file(&default_data(&home));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{}\n", server.url));
    home.output_of("", &["agent", "add", "@nick.a"]);
    home.output_of("", &["use", "@nick.a"]);
    let status = home.output_of("", &["status"]);
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
    let file = url_file(&default_data(&home));
    let missed = home.run("", &["session", "list", "--token", "pla_x"]);
    assert_eq!(missed.code, 3, "{missed:?}");
    for expected in [file.to_str().unwrap(), "no longer running", "plenary serve --data"] {
        assert!(missed.err.contains(expected), "{missed:?}");
    }
    let server = TestServer::start(&home, ANYWHERE);
    let status = home.run("", &["status"]);
    assert!(status.out.contains(&server.url) && status.out.contains("up"), "{status:?}");
    server.stop();
}

#[test]
fn a_command_for_a_stopped_server_of_named_data_goes_to_no_other() {
    let home = Home::new("stopped");
    let data = home.0.join("data");
    let server = TestServer::start_with(&home, ANYWHERE, &["--data", data.to_str().unwrap()]);
    server.stop();
    for args in [&["status"][..], &["inbox", "--as", "@nick.a"], &["agent", "list"], &["doctor"]] {
        let missed = with_data(&home, &data, args);
        let output = format!("{}{}", missed.out, missed.err);
        assert!(output.contains(&format!("no server runs on {}", data.display())), "{missed:?}");
        assert!(output.contains(&format!("plenary serve --data {}", data.display())), "{missed:?}");
        assert!(!output.contains("7420"), "{missed:?}");
    }
    assert_eq!(with_data(&home, &data, &["status"]).code, 3);
    let named = with_data(&home, &data, &["status", "--url", &Server::absent()]);
    assert!(named.err.contains("nothing listens"), "{named:?}");
}

#[test]
fn named_data_that_cannot_be_read_lead_nowhere_else() {
    let home = Home::new("unread");
    let file = home.0.join("file");
    std::fs::write(&file, "").unwrap();
    let missed = with_data(&home, &file, &["status"]);
    assert_eq!(missed.code, 1, "{missed:?}");
    assert!(missed.err.contains("file/server-url cannot be read: not a directory"), "{missed:?}");
    assert!(!missed.err.contains("7420"), "{missed:?}");
}

#[test]
fn the_tools_of_a_coding_agent_are_listed_while_the_server_of_named_data_is_stopped() {
    let home = Home::new("tools");
    let data = home.0.join("data");
    let mut command = home.plenary("");
    command.env("PLENARY_DATA", &data).args(["mcp", "--as", "@nick.a"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    child.stdin.take().unwrap().write_all(format!("{hello}\n").as_bytes()).unwrap();
    let ran = Ran::new(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(r#""id":1"#) && ran.out.contains("serverInfo"), "{ran:?}");
    assert!(ran.err.contains("no server runs on"), "{ran:?}");
}

#[test]
fn what_is_no_url_is_said_and_never_guessed() {
    let home = Home::new("no-url");
    std::fs::create_dir_all(default_data(&home)).unwrap();
    std::fs::write(url_file(&default_data(&home)), "gopher://x\n").unwrap();
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
