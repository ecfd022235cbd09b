//! Standard streams that can't be written: the server serves on, commands end quietly, and a second server says why not.

use std::{fs::File, process::Stdio};

use blackbox::{Cli, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--data", ":memory:"];

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device that is full").into()
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

async fn health(address: &str) -> String {
    answer(address, "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await
}

async fn answer(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("an answer").expect("a text");
    answer
}

#[tokio::test]
async fn a_standard_error_that_cannot_be_written_does_not_end_the_server() {
    for stderr in [full(), closed()] {
        let home = Cli::new(&[("PLENARY_LOG", "trace")]);
        let mut child = home.spawn(&SERVE, Stdio::piped(), stderr);
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let line = timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("a text");
        let line = line.expect("it starts");
        let address = line.strip_prefix("listening on http://").expect("an address").to_owned();
        for _ in 0..20 {
            assert!(health(&address).await.starts_with("HTTP/1.1 200"), "it serves on");
        }
        let id = i32::try_from(child.id().expect("it runs")).expect("ids fit");
        kill_process(Pid::from_raw(id).expect("not zero"), Signal::TERM).expect("it can be told");
        let status = timeout(PATIENCE, child.wait()).await.expect("in time").expect("it ends");
        assert!(status.success(), "it stops in order: {status}");
    }
}

/// A reader that is there and does not read: the pipe is full after 64 KiB.
#[tokio::test]
async fn a_standard_error_that_nobody_reads_holds_no_request_up() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let token = "plo_of_a_test_0123456789";
    let home = Cli::new(&[("PLENARY_LOG", "debug"), ("PLENARY_OPERATOR_TOKEN", token)]);
    let mut child = home.spawn(&SERVE, Stdio::piped(), writer.into());
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let line = timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("a text");
    let line = line.expect("it starts");
    let address = line.strip_prefix("listening on http://").expect("an address").to_owned();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    // It says a line to the log about each of these.
    let of_no_session = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nmcp-session-id: none\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{ping}",
        ping.len()
    );
    for _ in 0..600 {
        assert!(answer(&address, &of_no_session).await.starts_with("HTTP/1.1 404"), "it serves on");
    }
    assert!(health(&address).await.starts_with("HTTP/1.1 200"));
    let id = i32::try_from(child.id().expect("it runs")).expect("ids fit");
    kill_process(Pid::from_raw(id).expect("not zero"), Signal::TERM).expect("it can be told");
    let status = timeout(PATIENCE, child.wait()).await.expect("in time").expect("it ends");
    assert!(status.success(), "it stops in order: {status}");
    let mut logged = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut logged).expect("what was written");
    // Its last page need not be full.
    assert!(logged.len() >= 60 << 10, "the pipe was full: {} bytes", logged.len());
}

#[tokio::test]
async fn a_standard_output_that_cannot_be_written_does_not_end_the_server() {
    for stdout in [full(), closed()] {
        let home = Cli::new(&[("PLENARY_LOG", "info")]);
        let mut child = home.spawn(&SERVE, stdout, Stdio::piped());
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let address = loop {
            let line = timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("a text");
            let line = line.expect("it goes on");
            if let Some((_, rest)) = line.split_once("\"address\":\"") {
                break rest.split('"').next().unwrap_or_default().to_owned();
            }
        };
        assert!(health(&address).await.starts_with("HTTP/1.1 200"));
        assert!(child.try_wait().expect("it can be asked").is_none(), "it goes on");
    }
}

#[tokio::test]
async fn a_command_whose_reader_has_gone_ends_quietly() {
    let home = Cli::new(&[]);
    for command in [&["--help"][..], &["teach"], &["completions", "bash"]] {
        let mut child = home.spawn(command, closed(), Stdio::piped());
        let mut said = String::new();
        child.stderr.take().expect("stderr is piped").read_to_string(&mut said).await.expect("a text");
        let status = child.wait().await.expect("it ends");
        assert!(status.success() && said.is_empty(), "{command:?}: {status} {said}");
    }
}

#[tokio::test]
async fn a_second_server_is_told_where_the_first_one_is() {
    let home = Cli::new(&[]);
    let mut first = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let line = first.line().await;
    let url = line.strip_prefix("listening on ").expect("an address");
    let second = home.run(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert!(second.code == 1 && second.err.contains(&format!("data directory, at {url}")), "{second:?}");
    let address = url.strip_prefix("http://").expect("HTTP");
    let taken = home.run(&["serve", "--listen", address, "--data", ":memory:"]).await;
    assert!(taken.code == 1 && taken.err.contains("choose another with --listen"), "{taken:?}");
    assert_eq!(taken.err.to_lowercase().matches("in use").count(), 1, "{taken:?}");
    assert!(taken.err.contains("e.g. --listen 127.0.0.1:"), "at the same address: {taken:?}");
}

#[tokio::test]
async fn wrong_usage_is_said_as_it_was_asked_for() {
    let home = Cli::new(&[]);
    let json = home.run(&["--json", "session", "shwo"]).await;
    let said: serde_json::Value = serde_json::from_str(json.err.trim()).expect("JSON");
    assert!(
        json.code == 2 && said["error"]["message"].as_str().is_some_and(|text| text.contains("shwo")),
        "{json:?}"
    );
    let upper = home.run(&["agent", "add", "@Nora.Claude"]).await;
    assert!(upper.code == 2 && upper.err.contains("lower case"), "{upper:?}");
}

#[tokio::test]
async fn a_token_of_somebody_else_is_named_and_nothing_is_to_be_destroyed_for_it() {
    let server = blackbox::Server::start().await;
    let (ann, _bob) = (server.agent("@nick.ann").await, server.agent("@nick.bob").await);
    let url = server.url();
    let cli = Cli::new(&[("PLENARY_URL", &url), ("PLENARY_AS", "@nick.bob"), ("PLENARY_TOKEN", ann.token())]);
    let ran = cli.run(&["session", "list"]).await;
    assert!(ran.code == 4 && ran.err.contains("PLENARY_AS names @nick.bob"), "{ran:?}");
    assert!(ran.err.contains("token from PLENARY_TOKEN") && !ran.err.contains("rotate-token"), "{ran:?}");
}
