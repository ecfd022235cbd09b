//! HTTP/2: by its preface or by TLS, beside HTTP/1.1, and what its clients owe.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Empty, Full, combinators::BoxBody};
use hyper::{
    body::{Body, Frame, Incoming},
    client::conn::http2::{Builder, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use plenary_edge::{Config, StopReport, config::HTTP2_ABANDONED_MAX, tls_config};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    harness::{LARGE, PATIENCE, Server, request, start},
    tls::{connector, pair},
};

type Sender = SendRequest<BoxBody<Bytes, std::convert::Infallible>>;

/// A connection, and the task that ends with it.
async fn speak<IO>(io: IO) -> (Sender, JoinHandle<hyper::Result<()>>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    speak_with_room(io, 64 << 10).await
}

/// With this budget for each answer.
async fn speak_with_room<IO>(io: IO, bytes: u32) -> (Sender, JoinHandle<hyper::Result<()>>)
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(bytes).initial_connection_window_size(1 << 20);
    let (sender, connection) = builder.handshake(TokioIo::new(io)).await.unwrap();
    (sender, tokio::spawn(connection))
}

async fn connect(server: &Server) -> (Sender, JoinHandle<hyper::Result<()>>) {
    speak(TcpStream::connect(server.address).await.unwrap()).await
}

async fn send(
    sender: &mut Sender,
    request: Request<BoxBody<Bytes, std::convert::Infallible>>,
) -> Response<Incoming> {
    timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap()
}

fn get(path: &str) -> Request<BoxBody<Bytes, std::convert::Infallible>> {
    Request::get(format!("http://a{path}")).body(Empty::new().boxed()).unwrap()
}

fn post(path: &str, body: &'static str) -> Request<BoxBody<Bytes, std::convert::Infallible>> {
    Request::post(format!("http://a{path}")).body(Full::from(body).boxed()).unwrap()
}

async fn text(answer: Response<Incoming>) -> String {
    let bytes = timeout(PATIENCE, answer.into_body().collect()).await.unwrap().unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn requests_of_one_connection_do_not_wait_for_each_other() {
    let server = start(Config::default());
    let (mut sender, _connection) = connect(&server).await;
    let mut other = sender.clone();
    let waits = tokio::spawn(async move { text(send(&mut other, get("/gate")).await).await });
    server.arrival().await;
    let answer = send(&mut sender, post("/echo", "[1]")).await;
    assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(text(answer).await, "[1]");
    assert_eq!(text(send(&mut sender, get("/peer")).await).await, "127.0.0.1");
    assert_eq!(send(&mut sender, get("/nowhere")).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(send(&mut sender, get("/panic")).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(text(send(&mut sender, get("/large")).await).await.len(), LARGE);
    server.gate.add_permits(1);
    assert_eq!(waits.await.unwrap(), "through");
}

/// A client that supports HTTP/1.1 gets it: nothing changes for browsers.
#[tokio::test]
async fn over_tls_http2_is_for_those_that_speak_nothing_else() {
    let pair = pair("http2");
    let tls = Some(tls_config(&pair.certificate, &pair.key).unwrap());
    let server = start(Config { tls, ..Config::default() });
    for (offered, expected) in [(&[b"h2".as_slice()][..], &b"h2"[..]), (&[b"h2", b"http/1.1"], b"http/1.1")] {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = connector(pair.der.clone(), offered).connect(name, stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(expected));
        if expected == b"h2" {
            let (mut sender, _connection) = speak(stream).await;
            assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
        }
    }
}

/// The first bytes of a head may be those of the preface, and may come one by one.
#[tokio::test]
async fn what_begins_like_http2_and_is_not_is_http1() {
    let server = start(Config::default());
    let mut client = server.connect().await;
    for byte in request("POST", "/echo", "", "[1]") {
        client.send(&[byte]).await;
    }
    assert_eq!(client.reply().await.body, "[1]");
    let reply = server.once(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n").await;
    assert_eq!(reply.status, 400, "{reply:?}");
    let slow = start(Config { head_deadline: Duration::from_millis(50), ..Config::default() });
    let mut client = slow.connect().await;
    client.send(b"PRI * HT").await;
    assert_eq!(client.reply().await.status, 408);
    client.closed().await;
}

#[tokio::test]
async fn a_head_has_the_limits_of_http1() {
    let server = start(Config::default());
    let (mut sender, _connection) = connect(&server).await;
    let mut many = get("/ok");
    for n in 0..101 {
        many.headers_mut().insert(
            http::HeaderName::from_bytes(format!("x-{n}").as_bytes()).unwrap(),
            http::HeaderValue::from_static("1"),
        );
    }
    assert_eq!(send(&mut sender, many).await.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    let mut large = get("/ok");
    large.headers_mut().insert("x", "x".repeat(20 << 10).parse().unwrap());
    let refused = timeout(PATIENCE, sender.send_request(large)).await.unwrap();
    let refused =
        refused.map_or(true, |answer| answer.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    assert!(refused);
    let (mut sender, _connection) = connect(&server).await;
    assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
}

/// A body without any data or end.
struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_missing_body_is_408_and_other_requests_continue() {
    let grace = Duration::from_millis(50);
    let server = start(Config { body_grace: grace, ..Config::default() });
    let (mut sender, _connection) = connect(&server).await;
    let slow = Request::post("http://a/echo").body(BoxBody::new(Silent)).unwrap();
    assert_eq!(send(&mut sender, slow).await.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    let short = Duration::from_millis(50);
    let server = start(Config {
        write_deadline: short,
        write_grace: short,
        write_bytes_per_s_min: u32::MAX,
        ..Config::default()
    });
    let (mut sender, connection) = connect(&server).await;
    let unread = send(&mut sender, get("/large")).await;
    let end = timeout(PATIENCE, connection).await.expect("the connection ends").unwrap();
    assert!(end.is_err() || unread.into_body().collect().await.is_err(), "and not well");
}

#[tokio::test]
async fn a_client_without_room_for_a_small_answer_is_cut() {
    let short = Duration::from_millis(50);
    let server = start(Config { write_deadline: short, write_grace: short, ..Config::default() });
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) = speak_with_room(stream, 0).await;
    let unread = send(&mut sender, get("/ok")).await;
    assert_eq!(unread.status(), StatusCode::OK);
    drop(timeout(PATIENCE, connection).await.expect("the connection ends"));
}

#[tokio::test]
async fn a_client_that_cancels_requests_is_refused_and_cut() {
    let server = start(Config::default());
    let (sender, connection) = connect(&server).await;
    let mut started = 0;
    let flood = async {
        while !sender.is_closed() {
            let mut sender = sender.clone();
            let mut request = tokio::spawn(async move { sender.send_request(get("/gate")).await });
            tokio::select! {
                () = server.arrival() => started += 1,
                _ = &mut request => {}
            }
            request.abort();
        }
    };
    timeout(PATIENCE, flood).await.expect("the connection ends");
    drop(connection.await);
    assert!((1..=2 * HTTP2_ABANDONED_MAX).contains(&started), "{started} were begun");
    let (mut sender, _connection) = connect(&server).await;
    assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
}

/// What a client cancels before the server has accepted it counts towards the same limit, which is the only one.
#[tokio::test]
async fn requests_cancelled_in_one_write_do_not_end_the_connection() {
    let server = start(Config::default());
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags][..], &stream.to_be_bytes(), payload].concat()
    };
    let (headers, reset, settings, ping, goaway) = (1, 3, 4, 6, 7);
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(settings, 0, 0, &[]));
    for nth in 0..HTTP2_ABANDONED_MAX / 2 {
        let stream = 2 * nth + 1;
        // GET http://a/, from the static table.
        bytes.extend(frame(headers, 5, stream, &[0x82, 0x86, 0x84, 0x41, 1, b'a']));
        bytes.extend(frame(reset, 0, stream, &8_u32.to_be_bytes()));
    }
    bytes.extend(frame(ping, 0, 0, &[7; 8]));
    socket.write_all(&bytes).await.unwrap();
    let answered = async {
        loop {
            let mut head = [0; 9];
            socket.read_exact(&mut head).await.expect("the connection stays open");
            let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            socket.read_exact(&mut payload).await.unwrap();
            assert_ne!(head[3], goaway, "{payload:?}");
            if (head[3], head[4], &payload[..]) == (ping, 1, &[7; 8][..]) {
                return;
            }
        }
    };
    timeout(PATIENCE, answered).await.expect("the ping is answered");
}

#[tokio::test]
async fn concurrent_requests_count_as_connections() {
    let server = start(Config { connections_max: 3, ..Config::default() });
    let (mut sender, _connection) = connect(&server).await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut sender = sender.clone();
        waiting.push(tokio::spawn(async move { text(send(&mut sender, get("/gate")).await).await }));
        server.arrival().await;
    }
    assert_eq!(send(&mut sender, get("/ok")).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    server.gate.add_permits(3);
    for waits in waiting {
        assert_eq!(waits.await.unwrap(), "through");
    }
    assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_stop_lets_requests_finish() {
    let idle = start(Config { idle_deadline: Duration::from_millis(50), ..Config::default() });
    let (mut sender, connection) = connect(&idle).await;
    assert_eq!(text(send(&mut sender, get("/ok")).await).await, "ok");
    timeout(PATIENCE, connection).await.expect("the connection ends").unwrap().unwrap();

    let server = start(Config::default());
    let (mut sender, connection) = connect(&server).await;
    let busy = tokio::spawn(async move { text(send(&mut sender, get("/gate")).await).await });
    server.arrival().await;
    let (mut fresh, unused) = connect(&server).await;
    assert_eq!(text(send(&mut fresh, get("/ok")).await).await, "ok");
    server.stop.cancel();
    timeout(PATIENCE, unused).await.expect("the idle one ends").unwrap().unwrap();
    server.gate.add_permits(1);
    assert_eq!(busy.await.unwrap(), "through");
    timeout(PATIENCE, connection).await.expect("the connection ends").unwrap().unwrap();
    assert_eq!(timeout(PATIENCE, server.served).await.unwrap().unwrap(), StopReport { cut: 0 });
}

/// Each live stream of one connection counts separately.
#[tokio::test]
async fn live_streams_have_their_share() {
    let server = start(Config { streams_max: 2, streams_per_payer_max: 2, ..Config::default() });
    let (mut sender, _connection) = connect(&server).await;
    let first = send(&mut sender, get("/events")).await;
    let second = send(&mut sender, get("/events")).await;
    assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK));
    let refused = send(&mut sender, get("/events")).await.status();
    assert!([StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&refused), "{refused}");
    drop(first);
    timeout(PATIENCE, async { while send(&mut sender, get("/events")).await.status() != StatusCode::OK {} })
        .await
        .expect("a place is free again");
    drop(second);
}
