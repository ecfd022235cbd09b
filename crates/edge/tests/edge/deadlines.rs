//! Each deadline, and what happens past it. Deadlines are short here, and nothing but them ends a wait.

use std::time::Duration;

use plenary_edge::Config;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, split},
    net::TcpStream,
    time::{interval, timeout},
};

use crate::harness::{PATIENCE, Server, request, start};

/// Long enough for a client on a busy machine to send its request.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_head_that_does_not_end_is_408() {
    let server = start(Config { head_deadline: SHORT, ..Config::default() });
    let mut client = server.connect().await;
    client.send(b"GET /ok HTTP/1.1\r\nHost: a\r\nX: y").await;
    let reply = client.reply().await;
    assert_eq!((reply.status, reply.code().as_str()), (408, "request_timeout"));
    client.closed().await;
}

#[tokio::test]
async fn a_head_that_drips_is_408_all_the_same() {
    let server = start(Config { head_deadline: SHORT, ..Config::default() });
    assert_eq!(timeout(PATIENCE, dripping(&server)).await.unwrap(), 408);
}

/// The status for a client that sends a byte of a header every few milliseconds.
async fn dripping(server: &Server) -> u16 {
    let mut client = TcpStream::connect(server.address).await.unwrap();
    client.write_all(b"GET /ok HTTP/1.1\r\nHost: a\r\nX: ").await.unwrap();
    let (mut read, mut write) = client.split();
    let drip = async {
        let mut tick = interval(SHORT / 8);
        loop {
            tick.tick().await;
            if write.write_all(b"y").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut head = [0; 12];
    tokio::select! {
        read = read.read_exact(&mut head) => { read.unwrap(); }
        () = drip => {}
    }
    std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_silent_connection_is_closed_without_an_answer() {
    let server = start(Config { head_deadline: SHORT, ..Config::default() });
    server.connect().await.closed().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_an_answer() {
    let server = start(Config { idle_deadline: SHORT, ..Config::default() });
    let mut client = server.connect().await;
    client.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(client.reply().await.status, 200);
    client.closed().await;
}

#[tokio::test]
async fn a_request_that_is_being_served_is_not_idle() {
    let server = start(Config { idle_deadline: SHORT, ..Config::default() });
    let mut client = server.connect().await;
    client.send(&request("GET", "/gate", "", "")).await;
    server.arrival().await;
    // Another connection idles meanwhile, so the deadline has passed when that one is closed.
    let mut idle = server.connect().await;
    idle.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(idle.reply().await.status, 200);
    idle.closed().await;
    server.gate.add_permits(1);
    assert_eq!(client.reply().await.body, "through");
    client.closed().await;
}

#[tokio::test]
async fn a_body_that_stops_is_408() {
    let server = start(Config { body_grace: SHORT, ..Config::default() });
    for framing in ["Content-Length: 9\r\n\r\n[1", "Transfer-Encoding: chunked\r\n\r\n9\r\n[1"] {
        let mut client = server.connect().await;
        client.send(format!("POST /echo HTTP/1.1\r\nHost: a\r\n{framing}").as_bytes()).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.code().as_str()), (408, "request_timeout"));
        assert_eq!(reply.header("connection"), Some("close"));
        client.closed().await;
    }
}

#[tokio::test]
async fn a_body_below_the_floor_is_408_and_one_above_it_is_read() {
    let config = Config { body_grace: 3 * SHORT, body_bytes_per_s_min: 10_000, ..Config::default() };
    let server = start(config);
    const PIECES: usize = 200;
    for (piece, status) in [(20, 408), (4_000, 200)] {
        let mut client = server.connect().await;
        let length = piece * PIECES + 2;
        client
            .send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n\"").as_bytes())
            .await;
        let mut tick = interval(Duration::from_millis(10));
        let (mut read, mut write) = split(client.io);
        let sending = tokio::spawn(async move {
            for _ in 0..PIECES {
                tick.tick().await;
                if write.write_all("x".repeat(piece).as_bytes()).await.is_err() {
                    break;
                }
            }
            let _ = write.write_all(b"\"").await;
            write
        });
        let mut head = [0; 12];
        read.read_exact(&mut head).await.unwrap();
        assert_eq!(std::str::from_utf8(&head[9..]).unwrap(), status.to_string());
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn a_body_has_a_last_moment_at_any_speed() {
    let config =
        Config { body_grace: SHORT, body_deadline: SHORT, body_bytes_per_s_min: 1, ..Config::default() };
    let server = start(config);
    let mut client = server.connect().await;
    client
        .send(
            format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n{}", "x".repeat(50_000))
                .as_bytes(),
        )
        .await;
    assert_eq!(client.reply().await.status, 408);
    client.closed().await;
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_cut() {
    let server = start(Config { write_deadline: SHORT, ..Config::default() });
    let mut client = server.connect().await;
    client.send(&request("GET", "/large", "", "")).await;
    server.counts("plenary_http_connections 0").await;
    drop(client);
}
