//! Request smuggling (RFC 9112): what could be read in two ways is answered with 400 and a close.
//! The full table of shapes stands beside the scanner; here is what the wire shows of it.

use plenary_edge::Config;

use crate::harness::{request, start};

const NEXT: &str = "GET /ok HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn each_bad_framing_is_answered_with_400_and_nothing_after_it_is_served() {
    let server = start(Config::default());
    let shapes = [
        ("bare LF", "GET /ok HTTP/1.1\nHost: a\n\n"),
        ("bare LF in one header", "GET /ok HTTP/1.1\r\nHost: a\r\nX: y\n\r\n"),
        ("folded header", "GET /ok HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"),
        ("space before colon", "GET /ok HTTP/1.1\r\nHost : a\r\n\r\n"),
        ("no Host", "GET /ok HTTP/1.1\r\n\r\n"),
        ("two Hosts", "GET /ok HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (
            "Content-Length and Transfer-Encoding",
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (
            "Transfer-Encoding and Content-Length",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        ),
        (
            "two Content-Lengths",
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        ),
        ("list of Content-Lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n"),
        ("signed Content-Length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n"),
        ("unknown coding", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        (
            "coding twice",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        ),
        ("coding in HTTP/1.0", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("NUL in a value", "GET /ok HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
        ("CR in a value", "GET /ok HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"),
        ("no header name", "GET /ok HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"),
        ("half an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
        ("CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("our own method", "PLENARY-FAULT / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ];
    for (name, shape) in shapes {
        let mut client = server.connect().await;
        client.send(format!("{shape}{NEXT}").as_bytes()).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.header("connection")), (400, Some("close")), "{name}");
        assert_eq!(reply.code(), "malformed_request", "{name}");
        client.closed().await;
    }
    let counted =
        format!(r#"plenary_http_requests_total{{operation="malformed",status="4xx"}} {}"#, shapes.len());
    server.counts(&counted).await;
}

#[tokio::test]
async fn a_bad_request_is_answered_in_its_turn() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    client.send(format!("{NEXT}{NEXT}GET /ok HTTP/1.1\nHost: a\n\n{NEXT}").as_bytes()).await;
    for _ in 0..2 {
        assert_eq!(client.reply().await.body, "ok");
    }
    assert_eq!(client.reply().await.status, 400);
    client.closed().await;
}

#[tokio::test]
async fn a_bad_request_after_one_that_is_still_served_does_not_end_it() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    client.send(&request("GET", "/gate", "", "")).await;
    server.arrival().await;
    client.send(b"GET /ok HTTP/1.1\r\n\r\n").await;
    server.gate.add_permits(1);
    assert_eq!(client.reply().await.body, "through");
    assert_eq!(client.reply().await.status, 400);
    client.closed().await;
}

#[tokio::test]
async fn a_broken_body_does_not_end_the_requests_before_it() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    let broken = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\n[1]";
    client.send(format!("{NEXT}{broken}").as_bytes()).await;
    assert_eq!(client.reply().await.body, "ok");
    assert_eq!(client.reply().await.status, 400);
    client.closed().await;
}

#[tokio::test]
async fn broken_chunks_are_400_and_a_close() {
    let server = start(Config::default());
    for chunks in ["3\nabc\r\n0\r\n\r\n", "3\r\n[1]0\r\n\r\n", "x\r\n", "3;a\n\r\n[1]\r\n0\r\n\r\n"] {
        let mut client = server.connect().await;
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{head}{chunks}{NEXT}").as_bytes()).await;
        let reply = client.reply().await;
        assert_eq!((reply.status, reply.header("connection")), (400, Some("close")), "{chunks}");
        client.closed().await;
    }
}

#[tokio::test]
async fn well_framed_requests_share_a_connection() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut all = request("POST", "/echo", "", "[1,2]");
    all.extend_from_slice(format!("{chunked}2;x=y\r\n[3\r\n3\r\n,4]\r\n0\r\nT: v\r\n\r\n").as_bytes());
    all.extend_from_slice(&request("GET", "/ok", "", ""));
    all.extend_from_slice(b"\r\n");
    all.extend_from_slice(&request("POST", "/echo", "", "{}"));
    client.send(&all).await;
    for expected in ["[1,2]", "[3,4]", "ok", "{}"] {
        assert_eq!(client.reply().await.body, expected);
    }
    for byte in &all {
        client.send(&[*byte]).await;
    }
    for expected in ["[1,2]", "[3,4]", "ok", "{}"] {
        assert_eq!(client.reply().await.body, expected);
    }
}

#[tokio::test]
async fn expect_continue_is_answered_before_the_body_comes() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").await;
    assert_eq!(client.reply().await.status, 100);
    client.send(b"{}").await;
    assert_eq!(client.reply().await.body, "{}");
}

#[tokio::test]
async fn an_old_client_is_served_and_closed() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    client.send(b"GET /ok HTTP/1.0\r\n\r\n").await;
    assert_eq!(client.reply().await.body, "ok");
    client.closed().await;
}
