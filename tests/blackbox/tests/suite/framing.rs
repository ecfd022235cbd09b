//! HTTP/1.1 as bytes: shapes that proxies and servers read differently are refused, slow ones are cut off
//! (ASP-63; A16, A17).

use std::time::Duration;

use blackbox::{Agent, Connection, Server, content_of};
use futures_util::future::join_all;
use tokio::time::timeout;

/// Header deadline 10 s, and patience for a busy machine; bodies have a rate floor.
const CUT_OFF_MAX: Duration = Duration::from_secs(60);

/// Sends bytes and gives the status of the answer, or nothing when the server closes without one. An answer that
/// announces the close must be followed by it, and by no second answer.
async fn exchange(server: &Server, bytes: &[u8]) -> Option<u16> {
    let mut connection = Connection::open(server.address().get()).await.expect("a connection");
    // The server may refuse and close before all is written.
    let written = connection.send(bytes).await;
    drop(written);
    let response =
        timeout(CUT_OFF_MAX, connection.response()).await.expect("an answer or a close in time").ok()?;
    if response.header("connection") == Some("close") {
        let rest = timeout(CUT_OFF_MAX, connection.read_to_end()).await.expect("the announced close comes");
        let rest = rest.unwrap_or_default();
        assert!(rest.is_empty(), "a second answer: {rest:?}");
    }
    Some(response.status)
}

/// 400, or closed without a word: never an answer that shows it was understood.
#[track_caller]
fn assert_refused(what: &str, answer: Option<u16>) {
    assert!(answer.is_none_or(|status| status == 400 || status == 505), "{what}: {answer:?}");
}

/// A few of the shapes (the scanner's own table has all); `{auth}` and `{path}` are filled in, line ends are as written.
const SHAPES: &[(&str, &str)] = &[
    (
        "length and chunks",
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{\"content\":\"s\"}\r\n0\r\n\r\n",
    ),
    (
        "two lengths that differ",
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{auth}Content-Length: 15\r\nContent-Length: 16\r\n\r\n{\"content\":\"s\"}",
    ),
    ("bare line feeds", "POST {path} HTTP/1.1\nHost: a\n{auth-lf}Content-Length: 15\n\n{\"content\":\"s\"}"),
    (
        "a folded header",
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Fold: a\r\n b\r\n{auth}Content-Length: 15\r\n\r\n{\"content\":\"s\"}",
    ),
    (
        "two hosts",
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n{auth}Content-Length: 15\r\n\r\n{\"content\":\"s\"}",
    ),
    (
        "a NUL in a header",
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n{auth}Content-Length: 15\r\n\r\n{\"content\":\"s\"}",
    ),
];

fn fill(shape: &str, agent: &Agent, id: &str) -> Vec<u8> {
    let auth = format!("Authorization: Bearer {}", agent.token());
    let filled = shape
        .replace("{path}", &format!("/sessions/{id}/messages"))
        .replace("{auth}", &format!("{auth}\r\n"))
        .replace("{auth-lf}", &format!("{auth}\n"));
    filled.into_bytes()
}

/// A16: nothing ambiguous is understood, and none of it writes a message.
#[tokio::test]
async fn ambiguous_requests_are_refused() {
    let (server, alice, bob, id) = Server::with_pair().await;
    for (what, shape) in SHAPES {
        assert_refused(what, exchange(&server, &fill(shape, &alice, &id)).await);
    }
    assert!(content_of(&bob.history(&id).await).is_empty(), "nothing was written");
    alice.say(&id, "all is well").await;
}

/// A smuggled second request is not answered.
#[tokio::test]
async fn nothing_is_smuggled() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let inner = String::from_utf8(alice.request("POST", &format!("/sessions/{id}/end"), &[], Some(b"{}")))
        .expect("text");
    let outer = format!(
        "POST /sessions/{id}/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
        alice.token(),
        inner.len() + 5,
    );
    assert_refused("smuggling", exchange(&server, outer.as_bytes()).await);
    assert_eq!(bob.show(&id).await["state"], "active");
}

/// Requests one after the other, and pipelined, on one connection are answered in order.
#[tokio::test]
async fn a_connection_is_kept() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut connection = Connection::open(server.address().get()).await.expect("a connection");
    let mut pipeline = Vec::new();
    for number in 0..10 {
        let body = format!(r#"{{"content":"{number}"}}"#);
        let path = format!("/sessions/{id}/messages");
        pipeline.extend_from_slice(&alice.request("POST", &path, &[], Some(body.as_bytes())));
    }
    connection.send(&pipeline).await.expect("sent");
    for number in 0..10 {
        assert_eq!(connection.response().await.expect("an answer").ok(201)["sequence"], number + 3);
    }
    assert_eq!(content_of(&bob.history(&id).await).len(), 10);
}

/// Oversized heads are refused.
#[tokio::test]
async fn heads_have_limits() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let auth = format!("Authorization: Bearer {}", alice.token());
    let long = "x".repeat(2_000_000);
    let many: String = (0..20_000).map(|number| format!("X-{number}: y\r\n")).collect();
    for (what, request) in [
        ("a long target", format!("GET /sessions?{long} HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n\r\n")),
        (
            "a long header",
            format!("GET /sessions HTTP/1.1\r\nHost: localhost\r\n{auth}\r\nX: {long}\r\n\r\n"),
        ),
        ("many headers", format!("GET /sessions HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n{many}\r\n")),
    ] {
        let answer = exchange(&server, request.as_bytes()).await;
        assert!(answer.is_none_or(|status| [400, 413, 414, 431].contains(&status)), "{what}: {answer:?}");
    }
    alice.get("/sessions").await.ok(200);
}

/// A17: half a head, and half a body, are cut off; everyone else is served meanwhile.
#[tokio::test]
async fn the_slow_are_cut_off() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let head = format!(
        "POST /sessions/{id}/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n",
        alice.token()
    );
    let body =
        format!("{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{\"content\":\"");
    let mut slow = Vec::new();
    for bytes in ["", "POST", head.as_str(), body.as_str()] {
        for _ in 0..10 {
            slow.push(exchange(&server, bytes.as_bytes()));
        }
    }
    let others = async {
        for number in 0..20 {
            alice.say(&id, format!("{number}")).await;
        }
    };
    let (answers, ()) = tokio::join!(join_all(slow), others);
    for answer in answers {
        assert!(answer.is_none_or(|status| [400, 408].contains(&status)), "{answer:?}");
    }
    assert_eq!(content_of(&bob.history(&id).await).len(), 20);
}

/// Unknown paths and methods are refused in JSON, without inner words.
#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for (method, path) in [
        ("GET", "/nothing"),
        ("GET", "/sessions/"),
        ("GET", "/sessions/../_admin/agents"),
        ("GET", "//sessions"),
        ("DELETE", "/sessions"),
        ("PUT", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW"),
        ("GET", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/join"),
        ("TRACE", "/sessions"),
        ("POST", "/connect"),
        ("BREW", "/sessions"),
    ] {
        let response = alice.call(method, path, &[], None).await;
        assert!([404, 405].contains(&response.status), "{response}");
    }
}
