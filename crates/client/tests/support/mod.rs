//! A server that answers what a test tells it to, byte for byte, and keeps what it was asked.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

use std::{
    future::Future,
    sync::{Arc, Mutex},
};

use plenary_client::Client;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// One request as it came.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub head: String,
    pub body: String,
}

pub struct CannedServer {
    pub client: Client,
    pub seen: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl CannedServer {
    pub fn seen(&self) -> Vec<RecordedRequest> {
        self.seen.lock().unwrap().clone()
    }
}

pub fn client_at(port: u16) -> Client {
    Client::new(format!("http://127.0.0.1:{port}").parse().unwrap()).unwrap()
}

/// Answers the `n`th request with `answer(n)`; an empty answer hangs up.
pub async fn canned(answer: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> CannedServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client_at(listener.local_addr().unwrap().port());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (mut tcp, _) = listener.accept().await.unwrap();
            while let Some(request) = read_request(&mut tcp).await {
                let n = {
                    let mut log = log.lock().unwrap();
                    log.push(request);
                    log.len() - 1
                };
                let bytes = answer(n);
                if bytes.is_empty() || tcp.write_all(&bytes).await.is_err() {
                    break;
                }
            }
        }
    });
    CannedServer { client, seen }
}

/// A status line and a JSON body.
pub fn json(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into()
}

async fn read_request(tcp: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
                })
                .unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
                return Some(RecordedRequest { head, body });
            }
        }
        if tcp.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Runs a raw server, one connection after another.
pub async fn raw<F, Fut>(serve: F) -> Client
where
    F: Fn(usize, TcpStream) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client_at(listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        for n in 0.. {
            let (tcp, _) = listener.accept().await.unwrap();
            serve(n, tcp).await;
        }
    });
    client
}
