//! Each limit on size and number, and what happens past it.

use plenary_edge::{Config, config::HEAD_BYTES_MAX};
use plenary_kernel::limits::BODY_BYTES_MAX;

use crate::harness::{request, start};

#[tokio::test]
async fn a_head_over_its_size_is_431() {
    let server = start(Config::default());
    let headers = |bytes: usize| format!("X: {}\r\n", "y".repeat(bytes));
    let fits = request("GET", "/ok", &headers(HEAD_BYTES_MAX - 64), "");
    assert_eq!(server.once(&fits).await.status, 200);
    for headers in [headers(HEAD_BYTES_MAX), "X: y\r\n".repeat(100)] {
        let mut client = server.connect().await;
        client.send(&request("GET", "/ok", &headers, "")).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.code().as_str()), (431, "headers_too_large"));
        client.closed().await;
    }
}

#[tokio::test]
async fn a_body_over_its_size_is_413_before_it_is_sent() {
    let server = start(Config::default());
    let body = format!("\"{}\"", "x".repeat(BODY_BYTES_MAX - 2));
    assert_eq!(server.once(&request("POST", "/echo", "", &body)).await.status, 200);
    let announced = format!("Content-Length: {}\r\n", BODY_BYTES_MAX + 1);
    let reply = server.once(&request("POST", "/echo", &announced, "")).await;
    assert_eq!((reply.status, reply.code().as_str()), (413, "body_too_large"));
}

#[tokio::test]
async fn a_client_that_sends_a_body_over_its_size_still_reads_the_413() {
    let server = start(Config::default());
    let body = "x".repeat(3 * BODY_BYTES_MAX);
    let mut client = server.connect().await;
    client.send(&request("POST", "/echo", "", &body)).await;
    assert_eq!(client.reply().await.status, 413);
    client.closed().await;
    let mut client = server.connect().await;
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes()).await;
    assert_eq!(client.reply().await.status, 413);
    client.closed().await;
}

#[tokio::test]
async fn json_that_readers_disagree_about_is_400() {
    let server = start(Config::default());
    let deep = "[".repeat(65);
    for body in ["{\"a\":1,\"a\":2}", "\"\\u0000\"", "9007199254740993", deep.as_str(), "{\"a\":1}x"] {
        let reply = server.once(&request("POST", "/echo", "", body)).await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "invalid_json"), "{body}");
    }
    assert_eq!(server.once(&request("POST", "/echo", "", "")).await.body, "");
}

#[tokio::test]
async fn past_the_connection_limit_a_client_gets_a_refusal_and_is_closed() {
    let server = start(Config { connections_max: 2, ..Config::default() });
    let mut busy = server.connect().await;
    busy.send(&request("GET", "/gate", "", "")).await;
    server.arrival().await;
    let mut second = server.connect().await;
    second.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(second.reply().await.status, 200);
    let mut third = server.connect().await;
    third.send(&request("GET", "/ok", "", "")).await;
    let reply = third.reply().await;
    assert_eq!((reply.status, reply.code().as_str()), (503, "too_many_connections"));
    third.closed().await;
    assert!(server.metrics.render().contains("plenary_http_connections_refused_total 1"));
    // A released place can be used again.
    drop(second);
    loop {
        if server.once(&request("GET", "/ok", "Connection: close\r\n", "")).await.status == 200 {
            break;
        }
    }
    server.gate.add_permits(1);
    assert_eq!(busy.reply().await.body, "through");
}

#[tokio::test]
async fn past_the_limit_of_one_address_it_is_refused() {
    let server = start(Config { connections_per_address_max: 1, count_loopback: true, ..Config::default() });
    let mut first = server.connect().await;
    first.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(first.reply().await.status, 200);
    assert_eq!(server.once(&request("GET", "/ok", "", "")).await.status, 503);
    let server = start(Config { connections_per_address_max: 1, ..Config::default() });
    let mut first = server.connect().await;
    first.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(first.reply().await.status, 200);
    assert_eq!(server.once(&request("GET", "/ok", "", "")).await.status, 200, "loopback does not count");
}
