//! Answers that precede the body: the connection continues, or announces that it closes.

use plenary_kernel::limits::BODY_BYTES_MAX;

use crate::harness::{Server, request, start};
use plenary_edge::Config;

/// Sends a head, its body once the head has been handled, and then another request, which must be answered.
async fn check_next_request(server: &Server, head: &str, body: &str, status: u16) {
    let mut client = server.connect().await;
    client.send(head.as_bytes()).await;
    // Others are answered meanwhile, so that the head is handled before the body comes.
    for _ in 0..3 {
        assert_eq!(server.once(&request("GET", "/ok", "Connection: close\r\n", "")).await.status, 200);
    }
    client.send(body.as_bytes()).await;
    let reply = client.reply().await;
    assert_eq!(reply.status, status, "{head}");
    assert_eq!(reply.header("connection"), None, "{head}");
    client.send(&request("GET", "/ok", "", "")).await;
    let reply = client.reply().await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok"), "behind {head}");
}

#[tokio::test]
async fn an_unread_body_does_not_close_the_connection() {
    let server = start(Config::default());
    for (line, status) in [
        ("POST /nothing", 404),
        ("POST /ok", 405),
        ("POST /unread", 200),
        ("GET /ok", 200),
        ("DELETE /ok", 405),
        ("GET /nothing", 404),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
        check_next_request(&server, &head, "{}", status).await;
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        check_next_request(&server, &head, "2\r\n{}\r\n0\r\n\r\n", status).await;
    }
}

#[tokio::test]
async fn a_body_that_is_refused_for_its_coding_costs_the_connection_nothing() {
    let server = start(Config::default());
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n";
    check_next_request(&server, head, "{}", 415).await;
}

#[tokio::test]
async fn an_answer_before_a_large_rest_announces_the_close() {
    let server = start(Config::default());
    let too_large = format!("Content-Length: {}\r\n", BODY_BYTES_MAX + 1);
    for (line, headers, status) in [
        ("POST /echo", too_large.as_str(), 413),
        ("POST /nothing", too_large.as_str(), 404),
        ("POST /nothing", "Expect: 100-continue\r\nContent-Length: 2\r\n", 404),
        ("POST /nothing", "Content-Length: 2\r\n", 404),
    ] {
        let mut client = server.connect().await;
        client.send(format!("{line} HTTP/1.1\r\nHost: a\r\n{headers}\r\n").as_bytes()).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")), "{line} {headers}");
        client.closed().await;
    }
}

#[tokio::test]
async fn a_chunked_body_without_end_is_answered_and_the_connection_ends() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    let piece = "x".repeat(64 << 10);
    let head = "POST /nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{head}{:x}\r\n{piece}\r\n1\r\nx\r\n", piece.len()).as_bytes()).await;
    let reply = client.reply().await;
    assert_eq!((reply.status, reply.header("connection")), (404, Some("close")));
    client.closed().await;
}
