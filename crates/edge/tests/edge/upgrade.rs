//! WebSockets through the guard: accepted, declined, and how they count.

use futures_util::{SinkExt, StreamExt};
use plenary_edge::{Config, StopReport};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{PATIENCE, request, start};

const HANDSHAKE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn a_websocket_passes_frames_of_any_bytes() {
    let server = start(Config::default());
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/ws", server.address)).await.unwrap();
    for bytes in [0, 1, 125, 70_000] {
        let sent = Message::binary((0..bytes).map(|n| (n % 251) as u8).collect::<Vec<_>>());
        socket.send(sent.clone()).await.unwrap();
        assert_eq!(timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap(), sent);
    }
    socket.send(Message::text("GET / HTTP/1.1\n\n")).await.unwrap();
    assert_eq!(
        timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap(),
        Message::text("GET / HTTP/1.1\n\n")
    );
}

#[tokio::test]
async fn frames_sent_with_the_handshake_are_not_lost() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    let mut early = request("GET", "/ws", HANDSHAKE, "");
    early.extend_from_slice(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']);
    client.send(&early).await;
    assert_eq!(client.reply().await.status, 101);
    assert_eq!(client.bytes(4).await, b"\x81\x02hi");
}

#[tokio::test]
async fn after_a_declined_handshake_the_guard_still_checks() {
    let server = start(Config::default());
    for path in ["/none", "/gate"] {
        let mut client = server.connect().await;
        // What follows is sent before the answer and after it.
        let mut both = request("GET", path, HANDSHAKE, "");
        both.extend_from_slice(&request("GET", "/ok", "", ""));
        client.send(&both).await;
        server.gate.add_permits(1);
        assert_ne!(client.reply().await.status, 101);
        assert_eq!(client.reply().await.body, "ok");
        client.send(&request("POST", "/echo", "", "[1]")).await;
        assert_eq!(client.reply().await.body, "[1]");
        client.send(b"GET /ok HTTP/1.1\nHost: a\n\n").await;
        assert_eq!(client.reply().await.status, 400);
        client.closed().await;
    }
}

#[tokio::test]
async fn a_websocket_counts_as_a_connection_and_holds_the_shutdown() {
    let server = start(Config { connections_max: 1, ..Config::default() });
    let (mut socket, _) =
        tokio_tungstenite::connect_async(format!("ws://{}/ws", server.address)).await.unwrap();
    assert_eq!(server.once(&request("GET", "/ok", "", "")).await.status, 503);
    server.stop.cancel();
    socket.send(Message::text("still here")).await.unwrap();
    assert_eq!(
        timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap(),
        Message::text("still here")
    );
    socket.close(None).await.unwrap();
    while socket.next().await.is_some() {}
    assert_eq!(timeout(PATIENCE, server.served).await.unwrap().unwrap(), StopReport { cut: 0 });
}
