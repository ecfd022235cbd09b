//! Files of messages: uploaded as RobotNet's clients do it, named by messages, read by those who may read these.

mod lasting;
mod limits;
mod sharing;

use std::path::{Path, PathBuf};

use blackbox::{Agent, Cli, Connection, Response, Server};
use serde_json::{Value, json};

use crate::context::canonical::sha256;

/// Bytes that do not repeat within a part.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|n| u8::try_from((n ^ (n >> 8) ^ (n >> 16)) & 255).expect("a byte")).collect()
}

fn message(file: &str) -> Value {
    json!({"content": [
        {"type": "text", "text": "The report."},
        {"type": "file", "file_id": file, "name": "q3.pdf", "mime_type": "application/pdf", "size": 7},
    ]})
}

async fn send(who: &Agent, session: &str, file: &str) -> Response {
    who.post(&format!("/sessions/{session}/messages"), message(file)).await
}

async fn get(who: &blackbox::Caller, file: &str) -> Response {
    who.get(&format!("/files/{file}")).await
}

/// The files that a server in a data directory keeps, those included that are being written.
fn kept(server: &Server) -> Vec<PathBuf> {
    fn below(path: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
    }
    below(&server.data().join("blobs"))
}

/// What is uploaded comes back byte for byte, under its name, after a crash too; the answer has what clients read of it.
#[tokio::test]
async fn a_file_comes_back_as_it_was() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    for size in [0, 1, 1 << 20, 5_000_000] {
        let content = content(size);
        let made = alice.upload(("q3.pdf", "application/pdf"), &content, &[]).await.ok(201);
        let id = made["id"].as_str().expect("an id").to_owned();
        assert!(id.starts_with("file_"), "{made}");
        let (created, expires) = (made["created_at"].as_i64(), made["expires_at"].as_i64());
        assert_eq!(expires, created.map(|at| at + 30 * 24 * 3_600 * 1_000), "30 days: {made}");
        assert!(created.is_some_and(|at| (at - blackbox::epoch_ms()).abs() < 600_000), "{made}");
        for (member, value) in [
            ("status", json!("pending")),
            ("filename", json!("q3.pdf")),
            ("content_type", json!("application/pdf")),
            ("size_bytes", json!(size)),
        ] {
            assert_eq!(made[member], value, "{made}");
        }
        server.crash().await;
        let found = get(&alice, &id).await;
        assert_eq!(found.status, 200, "{found}");
        assert!(found.body == content, "the bytes of {size}");
        for (header, value) in [
            ("content-type", "application/octet-stream"),
            ("x-content-type-options", "nosniff"),
            ("content-disposition", "attachment; filename=\"q3.pdf\"; filename*=UTF-8''q3%2Epdf"),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("etag", &format!("\"sha256:{}\"", sha256(&content))),
            ("content-length", &size.to_string()),
        ] {
            assert_eq!(found.header(header), Some(value), "{header}");
        }
    }
}

/// `HEAD`, ranges and conditions as HTTP has them.
#[tokio::test]
async fn parts_sizes_and_conditions() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for size in [1_000, (1 << 20) + 1_000] {
        let content = content(size);
        let id = alice.upload_file("a", &content).await;
        let path = format!("/files/{id}");
        let mut connection = Connection::open(alice.address().place()).await.expect("a connection");
        connection.send(&alice.request("HEAD", &path, &[], None)).await.expect("it is sent");
        let head = connection.response_head().await.expect("an answer");
        assert_eq!((head.status, head.header("content-length")), (200, Some(size.to_string().as_str())));
        let ask = async |name: &str, value: &str| alice.call("GET", &path, &[(name, value)], None).await;
        for (range, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=100-199", 100..200),
            ("bytes=990-", 990..size),
            ("bytes=-7", size - 7..size),
        ] {
            let found = ask("Range", range).await;
            assert_eq!(found.status, 206, "{range}: {found}");
            let said = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            assert_eq!(found.header("content-range"), Some(said.as_str()));
            assert!(found.body == content[part], "{range}");
        }
        let beyond = ask("Range", &format!("bytes={size}-")).await;
        beyond.assert_refused(416, "invalid_range");
        assert_eq!(beyond.header("content-range"), Some(format!("bytes */{size}").as_str()));
        let etag = format!("\"sha256:{}\"", sha256(&content));
        let known = ask("If-None-Match", &etag).await;
        assert_eq!((known.status, known.body.len()), (304, 0));
        assert_eq!(ask("If-None-Match", "\"x\"").await.status, 200);
    }
}

/// A browser shows images that hold no script, and takes everything else as an attachment; what a file begins with says
/// nothing.
#[tokio::test]
async fn only_safe_images_are_shown() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for (said, shown) in [
        ("image/png", true),
        ("Image/JPEG; a=b", true),
        ("image/svg+xml", false),
        ("text/html", false),
        ("application/octet-stream", false),
        ("x", false),
    ] {
        let made = alice.upload(("é \"b\".png", said), b"<svg onload=alert(1)>", &[]).await;
        // A name with a quote in it ends there, as in every such head.
        let made = made.ok(201);
        let found = get(&alice, made["id"].as_str().expect("an id")).await;
        let how = found.header("content-disposition").unwrap_or_default().to_owned();
        let kind = found.header("content-type").unwrap_or_default().to_owned();
        assert_eq!(how.starts_with("inline; "), shown, "{said}: {how}");
        assert_eq!(kind != "application/octet-stream", shown, "{said}: {kind}");
        assert_eq!(found.header("x-content-type-options"), Some("nosniff"));
        assert!(how.is_ascii() && how.contains("filename*=UTF-8''%C3%A9"), "{how}");
    }
}

/// The command line sends a file along and gets it again; it says so of a message.
#[tokio::test]
async fn the_command_line_sends_and_gets_files() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let cli = Cli::of(&server, &alice, &id);
    let content = content(3_000_000);
    std::fs::write(cli.dir().join("q3 final.pdf"), &content).expect("a file");
    std::fs::write(cli.dir().join("a.png"), b"png").expect("a file");
    std::fs::write(cli.dir().join("note.txt"), "From a file.\n").expect("a file");
    cli.run_ok(&["session", "send", &id, "See this.", "--attach", "q3 final.pdf", "--attach", "a.png"]).await;
    cli.run_ok(&["session", "send", &id, "--file", "note.txt"]).await;
    let log = bob.history(&id).await;
    let sent = &log[log.len() - 2]["payload"]["content"];
    assert_eq!(log[log.len() - 1]["payload"]["content"], "From a file.");
    let kinds: Vec<_> = sent.as_array().expect("parts").iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, ["text", "file", "image"], "{sent}");
    assert_eq!((&sent[1]["name"], &sent[1]["size"]), (&json!("q3 final.pdf"), &json!(content.len())));
    assert_eq!(sent[1]["mime_type"], "application/pdf");
    let file = sent[1]["file_id"].as_str().expect("an id");
    let other = Cli::of(&server, &bob, &id);
    let shown = other.run_ok(&["session", "events", &id]).await;
    assert!(
        shown.contains(&format!("[file q3 final.pdf, 3000000 bytes, plenary session file {file} -o PATH]")),
        "{shown}"
    );
    other.run_ok(&["session", "file", file, "-o", "got.pdf"]).await;
    assert!(std::fs::read(other.dir().join("got.pdf")).expect("it is there") == content);
    let image = sent[2]["file_id"].as_str().expect("an id");
    assert_eq!(other.run_ok(&["session", "file", image]).await, "png");
    let none = other.run(&["session", "file", "file_01HW7AB12CDEFGHJKMNPQRSTVW", "-o", "none"]).await;
    assert!(none.code != 0 && !other.dir().join("none").exists(), "{none:?}");
    let missing = cli.run(&["session", "send", &id, "x", "--attach", "nowhere"]).await;
    assert!(missing.code == 1 && missing.err.contains("nowhere"), "{missing:?}");
}
