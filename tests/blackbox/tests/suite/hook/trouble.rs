//! Servers that are slow, broken, or lost at the worst moment.

use std::{
    ffi::OsStr,
    net::SocketAddr,
    os::unix::ffi::OsStrExt as _,
    time::{Duration, Instant},
};

use blackbox::{Cli, TempDir};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{Coding, delivery, journal};
use crate::connect::home;

/// What a server does with a connection.
#[derive(Clone, Copy)]
enum Mood {
    /// It takes the request and says nothing.
    Silent,
    /// It says something that is no answer.
    Garbage,
    /// It passes everything on to this server, but never that something was shown.
    Forgetful(SocketAddr),
    /// It passes on what reads; its disk is full.
    Full(SocketAddr),
}

/// A listener in this mood.
async fn listening(mood: Mood) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, mood));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, mood: Mood) {
    let mut bytes = vec![0; 64 << 10];
    match mood {
        Mood::Silent => while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {},
        Mood::Garbage => {
            let _read = stream.read(&mut bytes).await;
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"items").await;
        }
        Mood::Forgetful(server) => {
            pass_on(stream, server, |request| request.starts_with(b"POST /inbox/shown").then(Vec::new)).await;
        }
        Mood::Full(server) => pass_on(stream, server, refused_when_full).await,
    }
}

/// Passes everything on, up to a request that has an answer of its own.
async fn pass_on(mut stream: TcpStream, server: SocketAddr, own: impl Fn(&[u8]) -> Option<Vec<u8>>) {
    let (mut bytes, mut answer) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut beyond = TcpStream::connect(server).await.expect("the server listens");
    loop {
        tokio::select! {
            read = stream.read(&mut bytes) => {
                let count = read.unwrap_or(0);
                if let Some(own) = own(&bytes[..count]) {
                    let _sent = stream.write_all(&own).await;
                    break;
                }
                if count == 0 {
                    break;
                }
                beyond.write_all(&bytes[..count]).await.expect("the server reads");
            }
            read = beyond.read(&mut answer) => {
                let count = read.unwrap_or(0);
                if count == 0 || stream.write_all(&answer[..count]).await.is_err() {
                    break;
                }
            }
        }
    }
}

/// What a server answers whose disk is full; the report of an event may change nothing, and then needs no room.
fn refused_when_full(request: &[u8]) -> Option<Vec<u8>> {
    let (status, body) = if request.starts_with(b"GET /readyz") {
        ("503 Service Unavailable", r#"{"ok":false,"status":"store_full"}"#)
    } else if request.starts_with(b"POST ") && !request.starts_with(b"POST /inbox/session") {
        ("507 Insufficient Storage", r#"{"error":{"code":"storage_full","message":"Full."}}"#)
    } else {
        return None;
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}");
    Some(format!("{head}\r\nconnection: close\r\n\r\n{body}").into_bytes())
}

/// Runs a hook of an agent by another server than its own.
async fn by(home: &Cli, coding: &Coding, address: SocketAddr, more: &str) -> String {
    let token = coding.token(home);
    let hook = coding.line("UserPromptSubmit");
    let line = format!("PLENARY_URL=http://{address} PLENARY_TOKEN={token} {hook} {more}");
    let input = json!({"cwd": coding.directory, "session_id": "s", "hook_event_name": "UserPromptSubmit"});
    let ran = home.shell(&coding.directory, &line, &input.to_string()).await;
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    ran.out
}

#[tokio::test]
async fn a_server_that_is_slow_or_broken_costs_its_time_and_no_more() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let silent = listening(Mood::Silent).await;
    assert_eq!(by(&home, &claude, silent, "--deadline-ms 3000").await, "");
    assert!(journal(&home).contains("did not answer in time"), "{}", journal(&home));
    let garbage = listening(Mood::Garbage).await;
    assert_eq!(by(&home, &claude, garbage, "").await, "");
    assert_eq!(journal(&home).lines().count(), 2, "{}", journal(&home));
}

#[tokio::test]
async fn a_permission_request_to_a_silent_server_leaves_the_question_to_the_window() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let silent = listening(Mood::Silent).await;
    let (token, program) =
        (claude.token(&home), claude.line("Stop").replace("hook Stop", "hook PermissionRequest"));
    let line = format!("PLENARY_URL=http://{silent} PLENARY_TOKEN={token} {program} --wait-seconds 60");
    let input = json!({"cwd": claude.directory, "session_id": "s", "hook_event_name": "PermissionRequest",
        "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let began = Instant::now();
    let ran = home.shell(&claude.directory, &line, &input.to_string()).await;
    assert!(ran.code == 0 && ran.out.is_empty(), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(journal(&home).contains("did not answer in time"), "{}", journal(&home));
}

#[tokio::test]
async fn a_server_that_is_away_is_told_to_the_person_once() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = nobody.local_addr().expect("it has an address");
    drop(nobody);
    let told = crate::connect::json_of(&by(&home, &claude, address, "").await);
    let words = told["systemMessage"].as_str().expect("a text");
    assert!(
        words.contains("plenary serve") && told.as_object().is_some_and(|told| told.len() == 1),
        "{told}"
    );
    assert_eq!(by(&home, &claude, address, "").await, "", "once a session");
}

#[tokio::test]
async fn claude_code_takes_messages_at_the_end_of_a_turn_as_context() {
    let (_server, home, claude, codex) = delivery::two().await;
    delivery::said(&home, &codex, &claude, "At the end").await;
    let input = json!({"cwd": claude.directory, "session_id": "s", "hook_event_name": "Stop"}).to_string();
    let line = claude.line("Stop");
    let new = format!("AI_AGENT=claude-code_2-1-330_harness {line} --peek");
    let ran = home.shell(&claude.directory, &new, &input).await;
    let answer = crate::connect::json_of(&ran.out);
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "Stop", "{answer}");
    assert!(answer["decision"].is_null() && ran.out.contains("At the end"), "{answer}");
    let ran = home.shell(&claude.directory, &line, &input).await;
    let answer = crate::connect::json_of(&ran.out);
    assert_eq!(answer["decision"], "block", "an older one: {answer}");
}

#[tokio::test]
async fn what_was_printed_and_not_marked_comes_again() {
    let (server, home, claude, codex) = delivery::two().await;
    delivery::said(&home, &claude, &codex, "Not lost.").await;
    let forgetful = listening(Mood::Forgetful(server.address().get())).await;
    for _ in 0..2 {
        assert!(by(&home, &codex, forgetful, "").await.contains("Not lost."));
    }
    let itself = server.address().get();
    assert!(by(&home, &codex, itself, "").await.contains("Not lost."));
    assert_eq!(by(&home, &codex, itself, "").await, "");
}

/// Where shown items cannot be marked, hooks show neither the invitation nor the message, and notify the person once.
#[tokio::test]
async fn a_server_whose_disk_is_full_is_told_to_the_person_once_and_shows_nothing() {
    let (server, home, claude, codex) = delivery::two().await;
    delivery::said(&home, &claude, &codex, "Not lost.").await;
    let itself = server.address().get();
    let full = listening(Mood::Full(itself)).await;
    let told = crate::connect::json_of(&by(&home, &codex, full, "").await);
    let words = told["systemMessage"].as_str().expect("a text");
    assert!(words.contains("is full") && told.as_object().is_some_and(|told| told.len() == 1), "{told}");
    assert_eq!(by(&home, &codex, full, "").await, "", "once a session");
    assert!(journal(&home).contains("store_full"), "{}", journal(&home));
    assert!(by(&home, &codex, itself, "").await.contains("Not lost."));
}

/// A home that is read-only or full: nothing of the hooks can be written.
#[tokio::test]
async fn a_home_that_cannot_be_written_is_told_to_the_person_once() {
    let (_server, home, claude, codex) = delivery::two().await;
    claude.at(&home, "SessionStart", json!({"source": "startup"})).await;
    delivery::said(&home, &codex, &claude, "Not lost.").await;
    let state = home.dir().join(".local/state/plenary");
    let (hooks, away) = (state.join("hooks"), state.join("hooks-away"));
    std::fs::rename(&hooks, &away).expect("hooks have run");
    std::fs::write(&hooks, "").expect("a file is in the way");
    let temporary = TempDir::new();
    let at = async |event: &str, session: &str| {
        let input = json!({"session_id": session, "cwd": claude.directory, "hook_event_name": event, "source": "startup"});
        let line = format!("TMPDIR={} {}", temporary.path().display(), claude.line(event));
        let ran = home.shell(&claude.directory, &line, &input.to_string()).await;
        assert!(ran.code == 0 && ran.err.is_empty(), "{event}: {ran:?}");
        ran.out
    };
    for session in ["s-1", "s-2"] {
        let told = crate::connect::json_of(&at("PostToolUse", session).await);
        let words = told["systemMessage"].as_str().expect("a text");
        assert!(words.contains("plenary/hooks") && !words.contains("os error"), "{words}");
        assert!(told.as_object().is_some_and(|told| told.len() == 1), "{told}");
        for event in ["UserPromptSubmit", "Stop"] {
            assert_eq!(at(event, session).await, "", "once a session");
        }
    }
    std::fs::remove_file(&hooks).expect("the file goes");
    std::fs::rename(&away, &hooks).expect("the state is back");
    // A full disk: the state is read, and cannot be replaced.
    let file = hooks.join(format!("{}.json", claude.handle.trim_start_matches('@')));
    let _none_yet = std::fs::remove_file(&file);
    std::fs::create_dir(&file).expect("a directory is in the way");
    assert!(at("Stop", "s-3").await.contains("systemMessage"), "a turn that is not counted is not continued");
    assert_eq!(at("Stop", "s-3").await, "", "once a session");
    std::fs::remove_dir(&file).expect("the directory goes");
    assert!(at("Stop", "s-3").await.contains("Not lost."));
}

/// The message to the person at a session, if an event has one.
async fn told(home: &Cli, coding: &Coding, session: &str, event: &str) -> Option<String> {
    let ran = coding.at(home, event, json!({"session_id": session, "source": "startup"})).await;
    let answer = (!ran.out.is_empty()).then(|| crate::connect::json_of(&ran.out))?;
    answer["systemMessage"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_token_that_is_no_longer_taken_is_told_to_the_person_once() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    assert_eq!(told(&home, &claude, "s-1", "SessionStart").await, None);
    let operator = std::fs::read_to_string(server.data().join("operator-token")).expect("a token");
    let path = format!("/_admin/agents/{}/rotate-token", claude.handle);
    server.bearer(operator.trim()).post_empty(&path).await.ok(200);
    let words = told(&home, &claude, "s-1", "UserPromptSubmit").await.expect("a text");
    assert!(words.contains("`plenary connect claude`"), "{words}");
    assert_eq!(told(&home, &claude, "s-1", "PostToolUse").await, None, "once a session");
    assert!(told(&home, &claude, "s-2", "SessionStart").await.is_some(), "each session");
    // The named command mends it.
    let ran = home.run_in(&claude.directory, &["connect", "claude"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(told(&home, &claude, "s-3", "SessionStart").await, None);
}

#[tokio::test]
async fn an_agent_without_a_saved_token_is_told_to_the_person() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    std::fs::remove_file(home.dir().join(".config/plenary/tokens.toml")).expect("tokens are saved");
    let words = told(&home, &claude, "s-1", "SessionStart").await.expect("a text");
    assert!(words.contains("no saved token") && words.contains("`plenary connect claude`"), "{words}");
    assert_eq!(told(&home, &claude, "s-1", "Stop").await, None, "once a session");
}

/// A damaged file of the program's own stops all messages until somebody mends it.
#[tokio::test]
async fn a_damaged_file_is_told_to_the_person_with_its_name() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let claude = Coding::begin(&home, "claude", "a").await;
    let own = home.dir().join(".config/plenary");
    for (nth, path) in [
        own.join("tokens.toml"),
        own.join("directories.toml"),
        claude.directory.join(".plenary/clients.toml"),
    ]
    .into_iter()
    .enumerate()
    {
        let whole = std::fs::read_to_string(&path).expect("it is there");
        let name = path.file_name().and_then(OsStr::to_str).expect("a name");
        std::fs::write(&path, format!("{whole}[[[")).expect("a file");
        if name == "clients.toml" {
            // As by hand: a file that cannot be read is not trusted, and one that is trusted may be damaged.
            let ran = home.run_in(&claude.directory, &["trust"]).await;
            assert!(ran.code == 2 && ran.err.contains("cannot be used"), "{ran:?}");
        }
        let session = format!("s-{nth}");
        let words = told(&home, &claude, &session, "SessionStart").await.expect("a text");
        assert!(words.contains(name) && words.contains("Next: "), "{words}");
        assert_eq!(told(&home, &claude, &session, "PostToolUse").await, None, "once a session");
        std::fs::write(&path, whole).expect("a file");
        assert_eq!(told(&home, &claude, &session, "UserPromptSubmit").await, None, "it is mended");
    }
}

#[tokio::test]
async fn a_directory_that_was_renamed_is_told_to_the_person_at_the_start() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let mut claude = Coding::begin(&home, "claude", "a").await;
    let renamed = home.dir().join("renamed");
    std::fs::rename(&claude.directory, &renamed).expect("a directory can be renamed");
    claude.directory = renamed.clone();
    let words = told(&home, &claude, "s-1", "SessionStart").await.expect("a text");
    assert!(words.contains("`plenary trust ") && words.contains("renamed"), "{words}");
    assert_eq!(told(&home, &claude, "s-1", "UserPromptSubmit").await, None, "once a session");
    assert_eq!(home.run_in(&renamed, &["trust", "."]).await.code, 0);
    assert_eq!(told(&home, &claude, "s-2", "SessionStart").await, None);
}

#[tokio::test]
async fn a_directory_whose_name_is_not_utf_8_ends_no_hook() {
    let server = crate::connect::server().await;
    let home = home(&server);
    let ran = home.run_in(&home.dir().join("a"), &["connect", "claude", "--user"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let directory = home.dir().join(OsStr::from_bytes(b"bad\xff"));
    let refused = home.run_in(&directory, &["connect", "codex"]).await;
    assert!(refused.code == 2 && refused.err.contains("is not UTF-8"), "{refused:?}");
    let program = blackbox::binary();
    let line = format!("{} hook --client claude", program.display());
    for event in ["SessionStart", "PostToolUse", "Stop", "SessionEnd"] {
        let input = json!({"session_id": "s", "hook_event_name": event}).to_string();
        let ran = home.shell(&directory, &line, &input).await;
        assert!(ran.code == 0 && ran.err.is_empty(), "{event}: {ran:?}");
    }
    assert!(!journal(&home).contains("a bug"), "{}", journal(&home));
    let ran = home.run_in(&directory, &["doctor"]).await;
    assert!(ran.code < 2, "{ran:?}");
}
