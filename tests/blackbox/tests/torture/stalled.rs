//! Readers that never read: others are not held up, memory stays bounded, the server closes them, nothing is lost
//! (ASP-40, ASP-43, ASP-44; scenario 26).

use std::time::Duration;

use blackbox::{Agent, Server, assert_gapless, content_of, render, room};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

const MESSAGES: usize = 120;
const MESSAGE_BYTES: usize = 64 * 1024;
/// Stalled connections at the same time.
const STALLED: usize = 20;
/// The server's deadline for a stalled reader (30 s), and patience for a busy machine.
const CLOSED_MAX: Duration = Duration::from_secs(90);
/// What the backlog of one stalled reader may cost: far less than the backlog itself.
const GROWTH_KIB_MAX: u64 = 96 * 1024;

/// Upgrades and reads nothing from then on; the kernel's buffer is small, so that the server soon feels it.
async fn stall(agent: &Agent) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(agent.address().get()).await.expect("a connection");
    let bearer = format!("Bearer {}", agent.token());
    let request = render(
        "GET",
        "/connect",
        &[
            ("Authorization", &bearer),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ],
        None,
    );
    stream.write_all(&request).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    stream
}

/// One stalled reader among readers that read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_holds_nobody_up() {
    let server = Server::builder().grace("600s").start().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let carol = server.agent("@carol.bot").await;
    let id = room(&[&alice, &bob, &carol]).await;
    let stalled = stall(&bob).await;
    let mut to_carol = carol.connect().await;
    let filler = "x".repeat(MESSAGE_BYTES);
    let mut texts = Vec::new();
    for number in 0..MESSAGES {
        texts.push(format!("{number} {filler}"));
        alice.say(&id, texts[number].clone()).await;
        to_carol.until_text(&texts[number]).await;
    }
    // The server gives the stalled one up, maybe while the others still talk; they are told that it is gone.
    let gone = blackbox::eventually_within(CLOSED_MAX, "a stalled reader is closed", || async {
        let log = alice.history(&id).await;
        log.into_iter().find(|event| event["type"] == "session.disconnected")
    })
    .await;
    assert_eq!(gone["agent"], "@bob.bot");
    // It comes back, reads this time, and everything is there.
    let mut again = bob.connect().await;
    alice.say(&id, "fence").await;
    let heard = again.until_text("fence").await;
    assert_gapless(&heard, 1);
    let contents = content_of(&heard);
    assert_eq!(contents.len(), MESSAGES + 1);
    assert!(contents.iter().zip(&texts).all(|(heard, said)| heard == said));
    drop(stalled);
}

/// Many stalled readers cost little: an old cursor each, and never a queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_stalled_readers_cost_little() {
    let server = Server::builder().grace("600s").start().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let carol = server.agent("@carol.bot").await;
    let id = room(&[&alice, &bob, &carol]).await;
    let mut to_carol = carol.connect().await;
    alice.say(&id, "warm").await;
    to_carol.until_text("warm").await;
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(stall(&bob).await);
    }
    let before = server.resident_kib();
    let filler = "y".repeat(MESSAGE_BYTES);
    for number in 0..MESSAGES {
        let text = format!("{number} {filler}");
        alice.say(&id, text.clone()).await;
        to_carol.until_text(&text).await;
    }
    let grown = server.resident_kib().saturating_sub(before);
    let backlog = STALLED * MESSAGES * MESSAGE_BYTES / 1024;
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more for a backlog of {backlog} KiB");
    drop(stalled);
}
