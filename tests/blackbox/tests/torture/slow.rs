//! Readers of large answers who read a little and then no more: hundreds of them cost the server a bounded amount of
//! memory, and others are answered meanwhile.

use blackbox::{Agent, PATIENCE, Server, eventually, render, rounds};
use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// What all slow readers together may cost.
const GROWTH_KIB_MAX: u64 = 256 * 1024;
/// Large things that a page is made of, and how large each is.
const THINGS: usize = 24;
const THING_BYTES: usize = 700_000;

/// Asks for something and reads nothing; the kernel's buffer is small, so that the server soon feels it.
async fn slow(agent: &Agent, path: &str, has_token: bool) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4_096)?;
    let mut stream = socket.connect(agent.address().get()).await?;
    let bearer = format!("Bearer {}", agent.token());
    let headers: &[_] = if has_token { &[("Authorization", bearer.as_str())] } else { &[] };
    stream.write_all(&render("GET", path, headers, None)).await?;
    Ok(stream)
}

/// So many at once; each has an answer under way, or was refused one, when this returns.
async fn many(count: usize, agent: &Agent, path: &str, has_token: bool) -> Vec<TcpStream> {
    let readers = join_all((0..count).map(|_| slow(agent, path, has_token))).await;
    let mut readers: Vec<_> = readers.into_iter().map(|reader| reader.expect("a connection")).collect();
    for reader in &mut readers {
        let mut line = [0; 12];
        // One that made room for others is closed without a word.
        let read = timeout(PATIENCE, reader.read_exact(&mut line)).await.expect("an answer or a close");
        assert!(read.is_err() || line.starts_with(b"HTTP/1.1 "), "{line:?}");
    }
    readers
}

async fn fill(agent: &Agent, other: &Agent) -> String {
    agent.post("/v1/projects", json!({"project_id": "atlas"})).await.ok(201);
    let id = agent.create(&[other]).await;
    let filler = "x".repeat(THING_BYTES);
    for number in 0..THINGS {
        let package = json!({
            "package_id": format!("pkg_{number}"),
            "project_id": "atlas",
            "relay_version": "0.1",
            "title": "Large",
            "status": "complete",
            "package_type": "standard",
            "review_type": "none",
            "created_at": "2026-01-01T00:00:00Z",
            "created_by": {"id": "@nick.bot", "type": "agent"},
            "content_md": filler,
        });
        agent.post("/v1/projects/atlas/packages", package).await.ok(201);
        agent.say(&id, filler.as_str()).await;
    }
    id
}

/// However many read slowly and whatever they read, the server's memory has a limit, and others are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_cost_a_bounded_amount() {
    let (server, [nick, carol]) = Server::with(["@nick.bot", "@carol.bot"]).await;
    let id = fill(&nick, &carol).await;
    carol.post("/v1/projects", json!({"project_id": "small"})).await.ok(201);
    // What is kept once is no cost of the readers.
    nick.get_large("/v1/projects/atlas/packages?limit=1000").await.ok(200);
    nick.get_large(&format!("/sessions/{id}/events")).await.ok(200);
    let before = server.resident_kib();
    let count = rounds(200, 100);
    let mut held = Vec::new();
    for (path, has_token) in [
        ("/v1/projects/atlas/packages?limit=1000", true),
        (&*format!("/sessions/{id}/events"), true),
        ("/v1/packages/pkg_0", true),
        ("/v1/projects/atlas/export", true),
        ("/openapi.json", false),
    ] {
        held.extend(many(count, &nick, path, has_token).await);
        let grown = server.peak_kib().saturating_sub(before);
        assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more for {} slow readers up to {path}", held.len());
        // Another owner's pages are made meanwhile.
        carol.get("/v1/projects/small/packages?limit=1000").await.ok(200);
        carol.get("/sessions").await.ok(200);
    }
    drop(held);
    // What they held comes back, and their own owner reads as before.
    eventually("the room comes back", async || {
        let page = nick.get("/v1/projects/atlas/packages?limit=1").await;
        (page.status == 200).then_some(())
    })
    .await;
}

/// The same over TLS, where bytes are copied on their way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_over_tls_cost_a_bounded_amount() {
    let server = Server::builder().tls().start().await;
    let (nick, carol) = (server.agent("@nick.bot").await, server.agent("@carol.bot").await);
    fill(&nick, &carol).await;
    let page = nick.request("GET", "/v1/projects/atlas/packages?limit=1000", &[], None);
    nick.get_large("/v1/projects/atlas/packages?limit=1000").await.ok(200);
    let before = server.resident_kib();
    let mut held = Vec::new();
    for _ in 0..rounds(200, 60) {
        let mut connection = blackbox::Connection::open(server.address().place()).await.expect("a handshake");
        connection.send(&page).await.expect("sent");
        held.push(connection);
    }
    // Each has its answer under way, or was refused one, or made room for others.
    for connection in &mut held {
        let head = timeout(PATIENCE, connection.response_head()).await.expect("an answer or a close");
        assert!(head.is_err() || head.is_ok_and(|head| matches!(head.status, 200 | 429 | 503)));
    }
    let grown = server.peak_kib().saturating_sub(before);
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more for slow readers over TLS");
}
