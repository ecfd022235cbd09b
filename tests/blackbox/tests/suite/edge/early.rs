//! Answers that are given before the body has come: the next request of the connection is answered all the same, or the
//! answer says that the connection ends.

use blackbox::{Connection, PATIENCE, Response, Server};
use tokio::time::timeout;

/// Sends a head, and its body when the head has been seen to; the answer, and the connection.
async fn early(server: &Server, head: &str, body: &str) -> (Response, Connection) {
    let mut connection = Connection::open(server.address().place()).await.expect("a connection");
    connection.send(format!("{head}\r\n\r\n").as_bytes()).await.expect("sent");
    // Whoever comes later is answered meanwhile.
    for _ in 0..5 {
        server.stranger().get("/healthz").await.ok(200);
    }
    // The server may have ended the connection already, if it has said so.
    let sent = connection.send(body.as_bytes()).await;
    drop(sent);
    let answer = timeout(PATIENCE, connection.response()).await.expect("in time").expect("an answer");
    (answer, connection)
}

/// P1: the connection goes on behind an answer that no body was needed for.
#[tokio::test]
async fn an_early_answer_loses_no_request() {
    let server = Server::start().await;
    for (line, status) in [
        ("POST /nothing", 404),
        ("POST /sessions", 401),
        ("PUT /healthz", 405),
        ("GET /healthz", 200),
        ("DELETE /healthz", 405),
        ("GET /nothing", 404),
    ] {
        for (framing, body) in
            [("Content-Length: 2", "{}"), ("Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n")]
        {
            let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\n{framing}");
            let (answer, mut connection) = early(&server, &head, body).await;
            assert_eq!(answer.status, status, "{head}: {answer}");
            if answer.header("connection") == Some("close") {
                let rest = connection.read_to_end().await.unwrap_or_default();
                assert!(rest.is_empty(), "{head}: {rest:?}");
                continue;
            }
            let next = connection.round_trip(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let next = timeout(PATIENCE, next).await.expect("the next request is answered");
            assert_eq!(next.expect("an answer").status, 200, "behind {head}");
        }
    }
}

/// P7: a body that is too large to be read to its end ends the connection, and the answer says so.
#[tokio::test]
async fn a_413_says_that_the_connection_ends() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let length = 2 << 20;
    let head = format!(
        "POST /sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: {length}",
        agent.token()
    );
    let (answer, mut connection) = early(&server, &head, &"x".repeat(length)).await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")), "{answer}");
    let rest = connection.read_to_end().await.unwrap_or_default();
    assert!(rest.is_empty(), "{rest:?}");
}
