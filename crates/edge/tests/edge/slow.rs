//! Readers that take their time: what their answers may hold, who is cut for whom, and how slow is too slow.

use std::time::Duration;

use plenary_edge::Config;
use tokio::{
    net::{TcpSocket, TcpStream},
    time::interval,
};

use crate::harness::{Client, LARGE, PATIENCE, Server, request, start};

/// Asks for a large answer and reads nothing but its head.
async fn slow(server: &Server, path: &str) -> (Client<TcpStream>, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut client = Client::new(socket.connect(server.address).await.unwrap());
    client.send(&request("GET", path, "", "")).await;
    let line = client.bytes(12).await;
    let status = std::str::from_utf8(&line[9..]).unwrap().parse().unwrap();
    (client, status)
}

#[tokio::test]
async fn the_answers_of_slow_readers_hold_no_more_than_the_budget() {
    let config =
        Config { answer_bytes_max: 3 * LARGE, answer_bytes_per_payer_max: 2 * LARGE, ..Config::default() };
    let server = start(config);
    let (_first, status) = slow(&server, "/large").await;
    assert_eq!(status, 200);
    let (second, status) = slow(&server, "/large").await;
    assert_eq!(status, 200);
    let reply = server.once(&request("GET", "/large", "", "")).await;
    assert_eq!((reply.status, reply.code().as_str()), (429, "overloaded"));
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(server.once(&request("GET", "/ok", "", "")).await.status, 200, "what is small passes");
    // Released budget can be used again, also that of a client that hung up with its answer half read.
    drop(second);
    let mut look = interval(Duration::from_millis(5));
    while server.once(&request("GET", "/large", "Connection: close\r\n", "")).await.status != 200 {
        look.tick().await;
    }
}

#[tokio::test]
async fn the_longest_stalled_connection_makes_room_for_others() {
    let config = Config { answer_bytes_max: LARGE, answer_bytes_per_payer_max: LARGE, ..Config::default() };
    let server = start(config);
    let (mut first, status) = slow(&server, "/large").await;
    assert_eq!(status, 200);
    let mut look = interval(Duration::from_millis(20));
    while server.once(&request("GET", "/large", "Connection: close\r\n", "")).await.status != 200 {
        look.tick().await;
    }
    assert!(first.rest().await < LARGE, "the slow one was cut");
}

#[tokio::test]
async fn a_peer_that_reads_below_the_floor_is_cut() {
    let grace = Duration::from_millis(300);
    let config = Config { write_grace: grace, write_bytes_per_s_min: 64 << 20, ..Config::default() };
    let server = start(config);
    let (mut client, status) = slow(&server, "/large").await;
    assert_eq!(status, 200);
    // It reads all the time, and never stalls for long.
    let mut tick = interval(Duration::from_millis(2));
    let reading = async {
        while client.some().await != 0 {
            tick.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
    server.counts("plenary_http_connections 0").await;
}

#[tokio::test]
async fn of_too_many_that_stall_the_first_are_cut() {
    let answer_bytes = 8 * LARGE;
    let config = Config {
        stalled_max: 2,
        answer_bytes_max: answer_bytes,
        answer_bytes_per_payer_max: answer_bytes,
        ..Config::default()
    };
    let server = start(config);
    let mut stalled = Vec::new();
    for _ in 0..6 {
        stalled.push(slow(&server, "/large").await);
    }
    server.counts("plenary_http_connections 2").await;
    drop(stalled);
    server.counts("plenary_http_connections 0").await;
}

#[tokio::test]
async fn live_streams_have_a_limit_of_their_own_and_give_their_places_back() {
    let server = start(Config { streams_per_payer_max: 2, ..Config::default() });
    let (first, status) = slow(&server, "/events").await;
    assert_eq!(status, 200);
    let handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut socket = server.connect().await;
    socket.send(&request("GET", "/ws", handshake, "")).await;
    assert_eq!(socket.reply().await.status, 101);
    for path in ["/events", "/ws"] {
        let headers = if path == "/ws" { handshake } else { "" };
        let reply = server.once(&request("GET", path, headers, "")).await;
        assert_eq!((reply.status, reply.code().as_str()), (429, "too_many_streams"), "{path}");
    }
    drop(socket);
    let mut look = interval(Duration::from_millis(5));
    let _second = loop {
        match slow(&server, "/events").await {
            (client, 200) => break client,
            _ => look.tick().await,
        };
    };
    drop(first);
    loop {
        let mut socket = server.connect().await;
        socket.send(&request("GET", "/ws", handshake, "")).await;
        if socket.reply().await.status == 101 {
            break;
        }
        look.tick().await;
    }
}
