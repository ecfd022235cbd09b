//! What a client may do to its socket (ASP-63, ASP-85; A20; section 2.2: "anything else ignored, never closes the socket").

use std::time::Duration;

use blackbox::wsframe::{BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT};
use blackbox::{Agent, Connection, Frame, Server, Socket, encode, kinds, pair, render};

async fn ready(server: &Server) -> (Agent, Agent, String, Socket) {
    let (alice, bob, id) = pair(server).await;
    let mut socket = bob.connect().await;
    socket.until_kind("session.joined").await;
    (alice, bob, id, socket)
}

async fn works(alice: &Agent, id: &str, socket: &mut Socket, text: &str) {
    alice.say(id, text).await;
    assert_eq!(kinds(&socket.until_text(text).await), ["message"]);
}

/// The size of an event that docs/limits.md states.
#[tokio::test]
async fn the_largest_message_is_an_event_of_two_mebibytes() {
    let server = Server::start().await;
    let (alice, _bob, id, mut socket) = ready(&server).await;
    let text = "x".repeat((1 << 20) - r#"{"content":""}"#.len());
    alice.say(&id, text.as_str()).await;
    let event = socket.until_kind("session.message").await.pop().expect("the message");
    let bytes = event.to_string().len();
    assert!(bytes > (2 << 20) - 1024 && bytes < (2 << 20) + 4096, "{bytes}");
}

/// Text of any kind but the application's ping is ignored.
#[tokio::test]
async fn odd_texts_are_ignored() {
    let server = Server::start().await;
    let (alice, _bob, id, mut socket) = ready(&server).await;
    for text in [
        "",
        "hello",
        "{",
        "[]",
        "null",
        r#"{"type":"pong"}"#,
        r#"{"type":"subscribe","session_id":"x"}"#,
        r#"{"type":"ping"#,
        r#"{"type":7}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"type":"session.message","content":"x"}"#,
        "\u{0}",
    ] {
        socket.text(text).await;
    }
    let deep = "[".repeat(10_000);
    socket.text(&deep).await;
    works(&alice, &id, &mut socket, "after texts").await;
    socket.round_trip().await;
}

/// Binary messages, empty ones and fragments are ignored too; protocol pings are answered with their payload.
#[tokio::test]
async fn odd_frames_are_ignored() {
    let server = Server::start().await;
    let (alice, _bob, id, mut socket) = ready(&server).await;
    socket.raw(&encode(true, BINARY, b"\0\x01\x02", true)).await.expect("sent");
    socket.raw(&encode(true, BINARY, b"", true)).await.expect("sent");
    socket.raw(&encode(true, PONG, b"unasked", true)).await.expect("sent");
    socket.raw(&encode(false, TEXT, br#"{"type":"#, true)).await.expect("sent");
    socket.raw(&encode(true, PING, b"between", true)).await.expect("sent");
    socket.raw(&encode(false, CONTINUATION, b"", true)).await.expect("sent");
    socket.raw(&encode(true, CONTINUATION, br#""ping"}"#, true)).await.expect("sent");
    let (mut pong, mut app_pong) = (false, false);
    while !(pong && app_pong) {
        match socket.frame().await {
            Frame::Pong(payload) => pong = payload == b"between",
            Frame::AppPong => app_pong = true,
            Frame::Ping => {}
            other @ (Frame::Event(_) | Frame::Other(_) | Frame::Close(_) | Frame::Gone(_)) => {
                panic!("not expected: {other:?}")
            }
        }
    }
    works(&alice, &id, &mut socket, "after frames").await;
}

/// A20: frames and messages past the limit end the connection, not the server.
#[tokio::test]
async fn oversized_messages_end_the_connection() {
    let server = Server::start().await;
    let (alice, bob, id, _socket) = ready(&server).await;
    let big = vec![b'x'; 2 * 1_048_576];
    let whole = encode(true, TEXT, &big, true);
    let mut fragments = encode(false, TEXT, &big[..65_000], true);
    for _ in 0..40 {
        fragments.extend_from_slice(&encode(false, CONTINUATION, &big[..65_000], true));
    }
    // A head that promises eight exabytes.
    let mut promise = vec![0x80 | TEXT, 0x80 | 127];
    promise.extend_from_slice(&0x7fff_ffff_ffff_ffff_u64.to_be_bytes());
    promise.extend_from_slice(&[0; 64]);
    for bytes in [whole, fragments, promise] {
        let mut socket = bob.connect().await;
        // The server may close before all is written.
        let written = socket.raw(&bytes).await;
        drop(written);
        let (_, code) = socket.ending().await;
        assert!(code.is_none_or(|code| code == 1009 || code == 1002), "{code:?}");
    }
    let mut socket = bob.connect().await;
    socket.raw(&encode(true, TEXT, &big[..262_145], true)).await.expect("sent");
    assert_eq!(socket.ending().await.1, Some(1009), "one byte too long");
    alice.say(&id, "the server lives").await;
    bob.connect().await.until_text("the server lives").await;
}

/// RFC 6455: what breaks the protocol ends the connection.
#[tokio::test]
async fn broken_frames_end_the_connection() {
    let server = Server::start().await;
    let (alice, bob, id, mut stays) = ready(&server).await;
    let broken: [(&str, u16, Vec<u8>); 8] = [
        ("unmasked", 1002, encode(true, TEXT, b"x", false)),
        ("a reserved bit", 1002, vec![0x80 | 0x40 | TEXT, 0x81, 0, 0, 0, 0, b'x']),
        ("a reserved opcode", 1002, encode(true, 0x3, b"x", true)),
        ("a long control frame", 1002, encode(true, PING, &[0; 200], true)),
        ("a fragmented control frame", 1002, encode(false, PING, b"x", true)),
        ("nothing to continue", 1002, encode(true, CONTINUATION, b"x", true)),
        ("text that is not UTF-8", 1007, encode(true, TEXT, b"\xff\xfe", true)),
        ("not a frame at all", 1002, b"GET / HTTP/1.1\r\n\r\n".to_vec()),
    ];
    for (what, expected, bytes) in broken {
        let mut socket = bob.connect().await;
        socket.raw(&bytes).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        let (_, code) = socket.ending().await;
        assert_eq!(code, Some(expected), "{what}");
    }
    works(&alice, &id, &mut stays, "the others live").await;
}

/// The closing handshake is answered.
#[tokio::test]
async fn a_close_is_answered() {
    let server = Server::start().await;
    let (_alice, _bob, _id, mut socket) = ready(&server).await;
    socket.raw(&encode(true, CLOSE, &1000_u16.to_be_bytes(), true)).await.expect("sent");
    let (events, code) = socket.ending().await;
    assert!(events.is_empty());
    assert_eq!(code, Some(1000));
}

/// A flood of pings is survived: answered or cut off, and nobody else notices.
#[tokio::test]
async fn a_flood_of_pings_is_survived() {
    let server = Server::start().await;
    let (alice, bob, id, mut stays) = ready(&server).await;
    let flood: Vec<u8> = (0..20_000).flat_map(|_| encode(true, PING, b"x", true)).collect();
    let flooder = bob.connect().await;
    let written = tokio::time::timeout(Duration::from_secs(20), flooder.raw(&flood)).await;
    drop(written);
    works(&alice, &id, &mut stays, "the others live").await;
    flooder.cut().await;
}

/// Not a WebSocket request: refused in HTTP.
#[tokio::test]
async fn half_an_upgrade_is_refused() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let bearer = format!("Bearer {}", alice.token());
    for headers in [
        vec![],
        vec![("Connection", "Upgrade"), ("Upgrade", "h2c")],
        vec![("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")],
        vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "8"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ],
        vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "AQIDBAUGBw=="),
        ],
    ] {
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        let mut connection = Connection::open(server.address().get()).await.expect("a connection");
        let response =
            connection.round_trip(&render("GET", "/connect", &all, None)).await.expect("an answer");
        let is_other_version = all.contains(&("Sec-WebSocket-Version", "8"));
        for (name, value) in
            [("sec-websocket-version", "13"), ("upgrade", "websocket"), ("connection", "upgrade")]
        {
            assert_eq!(response.header(name), is_other_version.then_some(value), "{name}: {response}");
        }
        response.assert_refused(if is_other_version { 426 } else { 400 }, "websocket_required");
    }
}
