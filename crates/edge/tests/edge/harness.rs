//! A server on a free port and a client that writes and reads raw bytes.
//! Must not know: what is tested with it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::ws::WebSocketUpgrade,
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use plenary_edge::{Config, JsonBody, Listener, Metrics, Peer, StopReport, refusal_response, with_fallbacks};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    task::JoinHandle,
    time::{interval, timeout},
};
use tokio_util::sync::CancellationToken;

/// The time limit of each step.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of the answer at `/large`.
pub(crate) const LARGE: usize = 8 << 20;

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    pub(crate) stop: CancellationToken,
    pub(crate) served: JoinHandle<StopReport>,
    /// `GET /gate` answers once for each permit.
    pub(crate) gate: Arc<Semaphore>,
    /// One permit for each request that has arrived at the gate.
    pub(crate) arrived: Arc<Semaphore>,
}

async fn echo(JsonBody(body): JsonBody) -> Response {
    match body {
        Ok(json) => json.bytes().clone().into_response(),
        Err(refusal) => refusal_response(&refusal),
    }
}

async fn panics() -> Response {
    panic!("on purpose")
}

/// A stream without events.
async fn events() -> Response {
    let silence = futures_util::stream::pending::<Result<&str, std::convert::Infallible>>();
    let beginning = futures_util::stream::iter([Ok(": begins\n\n")]);
    let body = axum::body::Body::from_stream(futures_util::StreamExt::chain(beginning, silence));
    ([("content-type", "text/event-stream")], body).into_response()
}

async fn websocket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                break;
            }
        }
    })
}

fn router(gate: Arc<Semaphore>, arrived: Arc<Semaphore>) -> Router {
    let at_gate = move || {
        let (gate, arrived) = (gate.clone(), arrived.clone());
        async move {
            arrived.add_permits(1);
            gate.acquire().await.expect("the gate is never closed").forget();
            "through"
        }
    };
    Router::new()
        .route("/ok", get(|| async { "ok" }))
        .route("/echo", post(echo))
        .route("/unread", post(|| async { "unread" }))
        .route("/gate", get(at_gate.clone()).post(at_gate))
        .route("/panic", get(panics))
        .route("/large", get(|| async { "x".repeat(LARGE) }))
        .route("/events", get(events))
        .route("/peer", get(|Peer(peer): Peer| async move { peer.ip().to_string() }))
        .route("/ws", any(websocket))
}

/// Serves the routes above with these limits.
pub(crate) fn start(config: Config) -> Server {
    let (gate, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (metrics, stop) = (Metrics::new(), CancellationToken::new());
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), config).unwrap();
    let address = listener.address();
    let router = with_fallbacks(router(gate.clone(), arrived.clone()), &metrics);
    let served = tokio::spawn({
        let (metrics, stop) = (metrics.clone(), stop.clone());
        async move { listener.serve(router, &metrics, stop).await }
    });
    Server { address, metrics, stop, served, gate, arrived }
}

impl Server {
    pub(crate) async fn connect(&self) -> Client<TcpStream> {
        Client::new(TcpStream::connect(self.address).await.unwrap())
    }

    /// Waits until a request is at the gate.
    pub(crate) async fn arrival(&self) {
        timeout(PATIENCE, self.arrived.acquire()).await.unwrap().unwrap().forget();
    }

    /// Waits until the metrics contain the line.
    pub(crate) async fn counts(&self, line: &str) {
        let mut look = interval(Duration::from_millis(5));
        let seen = async {
            while !self.metrics.render().lines().any(|l| l == line) {
                look.tick().await;
            }
        };
        timeout(PATIENCE, seen).await.expect(line);
    }

    /// The answer to one request on a separate connection, and whether the server closed it afterwards.
    pub(crate) async fn once(&self, request: &[u8]) -> Reply {
        let mut client = self.connect().await;
        client.send(request).await;
        client.reply().await
    }
}

/// A raw client.
pub(crate) struct Client<IO> {
    pub(crate) io: IO,
    buffer: Vec<u8>,
}

/// A reply as received.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Client<IO> {
    pub(crate) fn new(io: IO) -> Self {
        Self { io, buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        timeout(PATIENCE, self.io.write_all(bytes)).await.unwrap().unwrap();
        self.io.flush().await.unwrap();
    }

    async fn more(&mut self) -> usize {
        timeout(PATIENCE, self.io.read_buf(&mut self.buffer)).await.unwrap().unwrap_or(0)
    }

    /// The next reply; its body must have a length.
    pub(crate) async fn reply(&mut self) -> Reply {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break end + 4;
            }
            assert_ne!(self.more().await, 0, "closed after {:?}", String::from_utf8_lossy(&self.buffer));
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            assert_ne!(self.more().await, 0, "closed within the body of {head}");
        }
        let body = String::from_utf8(self.buffer.drain(..length).collect()).unwrap();
        Reply { status: head[9..12].parse().unwrap(), head, body }
    }

    /// The next bytes, whatever they are.
    pub(crate) async fn bytes(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert_ne!(self.more().await, 0, "closed after {:?}", self.buffer);
        }
        self.buffer.drain(..length).collect()
    }

    /// Reads and drops some bytes; returns their number, 0 at the end.
    pub(crate) async fn some(&mut self) -> usize {
        self.buffer.clear();
        self.more().await
    }

    /// The number of bytes until the end.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut rest = 0;
        loop {
            match self.some().await {
                0 => return rest,
                some => rest += some,
            }
        }
    }

    /// Checks that only the end follows.
    pub(crate) async fn closed(&mut self) {
        while self.more().await != 0 {}
        assert_eq!(String::from_utf8_lossy(&self.buffer), "");
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// The code of a refusal in the house form.
    pub(crate) fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect(&self.body);
        body["error"]["code"].as_str().unwrap().to_owned()
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// A complete request.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{headers}{length}\r\n{body}").into_bytes()
}
