//! What one owner takes of what all share: its live streams, its unread answers and its unfinished bodies stop at its own share,
//! and every other owner has its own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use blackbox::{Agent, Caller, Connection, Pongs, Response, Server, Stream, eventually, render};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

#[track_caller]
fn full(refused: &Response, code: &str) {
    assert_eq!(refused.status, 429, "{refused}");
    assert_eq!(refused.json()["error"]["code"], code, "{refused}");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused}");
}

async fn stream(agent: &Agent) -> Result<Stream, Response> {
    agent.try_stream("/v1/projects/atlas/events", &[]).await
}

async fn project(agent: &Agent) {
    agent.post("/v1/projects", json!({"project_id": "atlas"})).await.ok(201);
}

/// WebSockets and event streams of all rooms and all agents of an owner count together; others have their own places.
#[tokio::test]
async fn the_live_streams_of_one_owner_leave_places_for_others() {
    let server = Server::builder().config("[quota]\nstreams_per_owner_max = 2\n").start().await;
    let (first, second) = (server.agent("@nick.first").await, server.agent("@nick.second").await);
    project(&first).await;
    let held = stream(&first).await.expect("the first stream");
    let socket = second.connect().await;
    full(&stream(&second).await.expect_err("no third stream"), "too_many_streams");
    full(
        &first.try_socket("/connect", &[], Pongs::Answer).await.expect_err("no third socket"),
        "too_many_streams",
    );
    first.get("/sessions").await.ok(200);
    // Another owner has its own.
    let other = server.agent("@carol.bot").await;
    let to_other = other.connect().await;
    let again = other.connect().await;
    // A place that is given back can be taken again.
    held.cut().await;
    let again_first = eventually("a place is given back", async || stream(&first).await.ok()).await;
    drop((socket, to_other, again, again_first));
}

/// Asks for something large, and reads no more than its status.
async fn unread(agent: &Agent, path: &str) -> (TcpStream, u16) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(agent.address().get()).await.expect("a connection");
    let bearer = format!("Bearer {}", agent.token());
    stream.write_all(&render("GET", path, &[("Authorization", &bearer)], None)).await.expect("sent");
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.expect("an answer");
    (stream, std::str::from_utf8(&line[9..]).expect("text").parse().expect("a status"))
}

fn package(number: usize) -> Value {
    json!({
        "package_id": format!("pkg_{number}"),
        "project_id": "atlas",
        "relay_version": "0.1",
        "title": "Large",
        "status": "complete",
        "package_type": "standard",
        "review_type": "none",
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": {"id": "@nick.bot", "type": "agent"},
        "content_md": "x".repeat(400_000),
    })
}

/// One owner's unread answers fill its own share; it is told so, and others read as ever.
#[tokio::test]
async fn unread_answers_of_one_owner_leave_room_for_others() {
    let config = "[quota]\nanswer_bytes_max = 16777216\nanswer_bytes_per_owner_max = 8388608\n";
    let server = Server::builder().config(config).start().await;
    let (nick, carol) = (server.agent("@nick.bot").await, server.agent("@carol.bot").await);
    project(&nick).await;
    for number in 0..6 {
        nick.post("/v1/projects/atlas/packages", package(number)).await.ok(201);
    }
    let pages = "/v1/projects/atlas/packages?limit=1000";
    let page = nick.get_large(pages).await.ok(200);
    assert!(page["packages"].as_array().is_some_and(|packages| packages.len() < 6), "a page has its size");
    assert!(page["next_cursor"].is_string(), "and says where it goes on");
    let mut held = Vec::new();
    for _ in 0..6 {
        let (stream, status) = unread(&nick, pages).await;
        assert!(matches!(status, 200 | 429), "{status}");
        held.push(stream);
        carol.get("/v1/projects").await.ok(200);
    }
    drop(held);
}

/// The length of a body just below a mebibyte, which is the limit.
const LARGE: usize = (1 << 20) - 8;

/// A request with a large body that is sent without its last bytes; the answer that comes all the same.
async fn unfinished(caller: &Caller, path: &str, missing: usize) -> Response {
    let mut connection = Connection::open(caller.address().place()).await.expect("a connection");
    let request = caller.request("POST", path, &[], Some(&vec![b' '; LARGE]));
    // A refusal may come, and close the connection, before all is sent.
    let _sent = connection.send(&request[..request.len() - missing]).await;
    connection.response().await.expect("an answer")
}

/// Bodies that one owner does not finish fill its own share; its small requests pass, and so do others' large ones.
#[tokio::test]
async fn unfinished_bodies_of_one_owner_leave_room_for_others() {
    let (server, [nick, carol]) = Server::with(["@nick.bot", "@carol.bot"]).await;
    project(&nick).await;
    project(&carol).await;
    let before = server.resident_kib();
    let (mut held, refusals) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for path in ["/v1/projects", "/sessions", "/mcp"].iter().cycle().take(80) {
        let (nick, refusals) = (nick.clone(), refusals.clone());
        held.spawn(async move {
            let answer = unfinished(&nick, path, 1).await;
            assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{path}: {answer}");
            refusals.fetch_add(1, Ordering::SeqCst);
        });
    }
    eventually("48 MiB are under way", async || (refusals.load(Ordering::SeqCst) >= 32).then_some(())).await;
    let grown = server.resident_kib().saturating_sub(before);
    assert!(grown < 120 << 10, "{grown} KiB");
    nick.post("/sessions", json!({"invite": []})).await.ok(201);
    let packages = "/v1/projects/atlas/packages";
    let mut hers = package(1);
    hers["created_by"]["id"] = json!(carol.handle);
    carol.post(packages, hers).await.ok(201);
    held.abort_all();
    while let Some(ended) = held.join_next().await {
        assert!(ended.is_ok() || ended.is_err_and(|error| error.is_cancelled()), "every refusal is the same");
    }
    let made = async || (nick.post(packages, package(1)).await.status == 201).then_some(());
    eventually("the share is free again", made).await;
}

/// A caller without a token is refused before the server reads its body, and a sign-in has a small limit.
#[tokio::test]
async fn the_body_of_a_stranger_is_not_read() {
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let stranger = server.stranger();
    for path in [
        "/v1/responses",
        "/v1/chat/completions",
        "/langgraph/threads",
        "/a2a/plenary.echo",
        "/a2a/plenary.echo/message:send",
    ] {
        let answer = unfinished(&stranger, path, LARGE).await;
        assert_eq!(answer.status, 401, "{path}: {answer}");
    }
    let sign_in = json!({"link": "x".repeat(16 << 10)});
    stranger.post("/console/sessions", sign_in).await.assert_refused(413, "body_too_large");
}
